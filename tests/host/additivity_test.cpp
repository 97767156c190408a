// The additivity experiment on a fake machine with given times.
#include "host/additivity.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"
#include "measured/csv.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using analytical::TileConfig;

constexpr double kMicrosecond = 1e-6;

hwdesc::Device cpu() {
  return hwdesc::load_device(support::source_dir().string() + "/configs/devices/cpu_generic.yaml");
}

// Two equal kernels and another one.
ProgramVariant three_kernels(const std::string& name) {
  ir::Module module = ir::parse_hlo(base::SourceText(name, R"(HloModule m
ENTRY e {
  p = f32[64]{0} parameter(0)
  a = f32[64]{0} negate(p)
  b = f32[64]{0} negate(a)
  ROOT c = f32[64]{0} exponential(b)
})"));
  return {name, std::move(module), 3};
}

constexpr double kColdFactor = 3;

// A kernel takes alone_us of its opcode, and kColdFactor times as long if cold; the program takes
// `whole_us`, and every other time half as much more.
struct FakeMachine {
  std::map<std::string, double> alone_us{{"negate", 10}, {"exponential", 5}};
  double whole_us = 20;
  std::string not_generated, crashes;  // opcodes
  int runs_of_whole = 0;
  std::vector<CacheState> states;
  fs::path library;

  Bench bench() {
    return {.machine = "a test's processor",
            .compiler = "no compiler",
            .generate = [this](const ir::Kernel& kernel, const TileConfig&,
                               const std::string& function) -> Bench::Generated {
              const std::string opcode(ir::name(kernel.opcode()));
              if (opcode == not_generated) return Unsupported{opcode + " is not generated"};
              opcode_of[function] = opcode;
              return CKernel{.function = function, .source = "// " + function + " " + opcode};
            },
            .compile =
                [this](std::span<const std::string> sources, int) {
                  std::vector<Compilation> made;
                  for (std::size_t i = 0; i < sources.size(); ++i) {
                    made.push_back({CompiledLibrary(library.string()), ""});
                  }
                  return made;
                },
            .run =
                [this](const std::string&, std::span<const RunJob> jobs,
                       const TimingOptions& options, const Bench::Done& done) {
                  states.push_back(options.state);
                  for (std::size_t i = 0; i < jobs.size(); ++i) {
                    if (!done(i, run(jobs[i].function))) return;
                  }
                },
            .now = [] { return Seconds{0}; }};
  }

 private:
  RunOutcome run(const std::string& function) {
    RunOutcome outcome;
    const auto known = opcode_of.find(function);
    if (known == opcode_of.end()) {
      const double drifted = runs_of_whole++ % 2 == 0 ? 1.5 : 1;
      outcome.timing.minimum = Seconds{whole_us * drifted * kMicrosecond};
    } else {
      const double factor = states.back() == CacheState::kCold ? kColdFactor : 1;
      outcome.timing.minimum = Seconds{factor * alone_us.at(known->second) * kMicrosecond};
      if (known->second == crashes) outcome = {RunStatus::kCrashed, {}, "killed by SIGSEGV"};
    }
    return outcome;
  }

  std::map<std::string, std::string> opcode_of;  // by function name
};

std::vector<ProgramTimes> measured(FakeMachine& machine,
                                   const std::vector<ProgramVariant>& programs) {
  std::vector<ProgramTimes> rows;
  measure_additivity(programs, cpu(), machine.bench(), {}, [&](const ProgramTimes& row) {
    rows.push_back(row);
    return true;
  });
  return rows;
}

class Additivity : public testing::Test, protected support::Folder {
 protected:
  Additivity() { machine_.library = folder() / "library" / "none.so"; }

  FakeMachine machine_;
};

TEST_F(Additivity, TheSumCountsEqualKernelsAsOftenAsTheyRun) {
  const std::vector<ProgramTimes> rows = measured(machine_, {three_kernels("p")});
  EXPECT_EQ(machine_.states, (std::vector<CacheState>{CacheState::kCold, CacheState::kWarm}));
  ASSERT_EQ(rows.size(), 1U);
  const ProgramTimes& row = rows[0];
  EXPECT_EQ(row.skipped, "");
  EXPECT_EQ(row.kernels, 3U);
  EXPECT_EQ(row.distinct, 2U);
  // The program is timed before and after its kernels; the faster time counts.
  EXPECT_DOUBLE_EQ(row.cold.whole.minimum.value, 20 * kMicrosecond);
  EXPECT_DOUBLE_EQ(row.cold.alone.value, kColdFactor * (2 * 10 + 5) * kMicrosecond);
  EXPECT_DOUBLE_EQ(row.warm.alone.value, (2 * 10 + 5) * kMicrosecond);
  EXPECT_DOUBLE_EQ(error(row, CacheState::kWarm, Sum::kAlone), 25.0 / 20 - 1);
}

TEST_F(Additivity, APlacedKernelIsAsColdAsItsArraysAre) {
  const ProgramTimes row = measured(machine_, {three_kernels("p")}).at(0);
  // 256 bytes each: everything fits the cache. If cold, half of the arrays of `a` (p) and half of
  // those of `c` (the result) come from main memory; `b` only uses the heap.
  const double more = kColdFactor - 1;
  EXPECT_DOUBLE_EQ(row.warm.placed.value, row.warm.alone.value);
  EXPECT_DOUBLE_EQ(row.cold.placed.value,
                   (10 * (1 + more / 2) + 10 + 5 * (1 + more / 2)) * kMicrosecond);
}

TEST_F(Additivity, WhatCannotRunIsNamed) {
  machine_.not_generated = "exponential";
  EXPECT_EQ(measured(machine_, {three_kernels("p")}).at(0).skipped,
            "unsupported: c: exponential is not generated");
  machine_.not_generated.clear();
  machine_.crashes = "negate";
  const ProgramTimes row = measured(machine_, {three_kernels("p")}).at(0);
  EXPECT_EQ(row.skipped, "crash: a killed by SIGSEGV");
  EXPECT_FALSE(summarise({&row, 1}, CacheState::kCold, Sum::kAlone));
}

TEST_F(Additivity, TheSummaryIsOverProgramsThatHaveTimes) {
  std::vector<ProgramTimes> rows(4);
  const std::vector<double> ratios{0.9, 1.0, 1.2, 5};  // sum / whole
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].cold.whole.minimum = Seconds{1};
    rows[i].cold.alone = Seconds{ratios[i]};
  }
  rows[3].skipped = "crash";
  const auto summary = summarise(rows, CacheState::kCold, Sum::kAlone);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->programs, 3U);
  EXPECT_NEAR(summary->median, 0.1, 1e-12);
  EXPECT_NEAR(summary->bias, std::cbrt(0.9 * 1.0 * 1.2) - 1, 1e-12);
}

TEST_F(Additivity, ProgramsBecomeAMeasurementSetThatReadsBackAsTheSameKernels) {
  const hwdesc::Device device = cpu();
  const ir::Module program =
      ir::read_hlo_file(support::source_dir().string() + "/configs/programs/mlp_train.hlo");
  const std::vector<ProgramVariant> programs =
      whole_programs(program, device, {.configurations = 3});
  std::vector<ProgramTimes> rows;
  for (const ProgramVariant& variant : programs) {
    ProgramTimes row{.program = variant.name, .kernels = variant.kernels};
    row.cold.whole.minimum = row.warm.whole.minimum = Seconds{1e-3};
    row.cold.whole.calls = 5;
    row.cold.alone = Seconds{1.1e-3};
    rows.push_back(row);
  }
  measured::Manifest manifest;
  manifest.name = "programs";
  manifest.device = "cpu_generic";
  manifest.source = "a test";
  manifest.licence = "none";
  write_program_set(at("set"), {manifest, "", programs, rows});

  const measured::MeasurementSet set = measured::read_measurement_set(at("set"));
  EXPECT_TRUE(set.faults.empty());
  ASSERT_EQ(set.rows.size(), programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    EXPECT_TRUE(set.rows[i].is_program);
    EXPECT_EQ(set.rows[i].family, "mlp_train");
    const auto loaded =
        ir::load_module((folder() / "set" / set.rows[i].file).string(), ir::LoadOptions{});
    const auto read = ir::program_for(loaded, analytical::layout_rules(device), {}).program;
    EXPECT_EQ(read.kernels().size(), programs[i].kernels);
  }
  const measured::CsvTable all =
      measured::read_csv(base::SourceText::read_file(at("set/additivity.csv")));
  EXPECT_EQ(all.rows.size(), rows.size());
  EXPECT_EQ(all.cell(all.rows[1], "cold_sum_error"), "0.1000");
}

}  // namespace
}  // namespace tilecast::host
