#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "analytical/read_numbers.h"
#include "base/error.h"
#include "base/text.h"
#include "ir/load_program.h"
#include "sim/sensitivity.h"
#include "sim/study/study_run.h"
#include "sim/study/study_table.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string example_program(const std::string& name) {
  return (support::source_dir() / "configs/programs" / name).string();
}

std::string study_text(const std::string& rest) {
  return "format: tilecast.study/1\nname: t\ndevices: [tpu_v3]\nprograms: [" +
         example_program("mlp_train.hlo") + "]\nmodels: [analytical]\n" + rest;
}

measured::CsvTable table_of(const Study& study) {
  const StudyRun run(study);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < run.points(); ++i) rows.push_back(run.rows(i));
  return run.table(rows);
}

double cell_of(const measured::CsvTable& table, std::size_t row, std::string_view column) {
  return base::parse_number(table.cell(table.rows[row], column)).value();
}

double time_with(const std::string& file, const std::string& device,
                 const hwdesc::Overrides& overrides) {
  const hwdesc::Device changed = hwdesc::load_device(device, overrides);
  const ir::DeviceProgram built =
      ir::program_for(ir::load_module(file, {}), analytical::layout_rules(changed), {});
  return simulate(built.program, changed, analytical::AnalyticalModel()).time.value;
}

void expect_fault(const std::string& rest, const std::string& message) {
  const std::string error =
      support::error_of([&] { return read_study(study_text(rest), "s.yaml"); });
  EXPECT_THAT(error, HasSubstr("s.yaml:6")) << rest;
  EXPECT_THAT(error, HasSubstr(message)) << rest;
}

TEST(Study, RowsAreWhatSettingTheKeysGives) {
  const Study study = read_study(
      study_text("axes:\n  hbm.bandwidth: {list: [450 GB/s, 900 GB/s]}\n"
                 "  clock: {range: [0.9 GHz, 1.5 GHz], points: 3}\n"
                 "  vmem.results: {list: [0 B, 4 MiB]}\n"
                 "  matrix.count: {sobol: [1, 4]}\n  vmem.latency: {latin: [10 ns, 1 us], scale: "
                 "log}\nsamples: 3\n"),
      "s.yaml");
  const StudyPoints points(study);
  ASSERT_EQ(points.size(), 2U * 3 * 2 * 3);
  const measured::CsvTable table = table_of(study);
  ASSERT_EQ(table.rows.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(cell_of(table, i, "time_s"),
              time_with(example_program("mlp_train.hlo"), "tpu_v3", points.overrides(i)))
        << "point " << i;
    EXPECT_EQ(cell_of(table, i, "feasible"), 1);
  }
}

TEST(Study, SamplesStayInTheirRangeAndReachEveryWholeNumber) {
  const Study study = read_study(
      study_text("axes:\n  matrix.count: {latin: [1, 4]}\n  clock: {sobol: [1 GHz, 2 GHz], scale: "
                 "log}\nsamples: 400\n"),
      "s.yaml");
  std::map<std::string, int> counts;
  const StudyPoints points(study);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const hwdesc::Overrides at = points.overrides(i);
    ++counts[at[0].second];
    const double clock = hwdesc::parse_quantity(at[1].second, hwdesc::UnitKind::kFrequency);
    EXPECT_GE(clock, 1e9);
    EXPECT_LE(clock, 2e9);
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"1", 100}, {"2", 100}, {"3", 100}, {"4", 100}}));
}

TEST(Study, DerivesConstrainsAndSimulatesOnlyWhatTheDescriptionAllows) {
  const Study study =
      read_study(study_text("axes:\n  matrix.count: {list: [1, 2, 4]}\n"
                            "derive: {area: 100 * matrix.count, speed: area / time_s}\n"
                            "constraints: [area <= 200, time_s > 0]\n"),
                 "s.yaml");
  const measured::CsvTable table = table_of(study);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(cell_of(table, 1, "area"), 200);
  EXPECT_EQ(cell_of(table, 1, "speed"), 200 / cell_of(table, 1, "time_s"));
  EXPECT_EQ(cell_of(table, 1, "feasible"), 1);
  EXPECT_EQ(cell_of(table, 2, "feasible"), 0);
  EXPECT_EQ(table.cell(table.rows[2], "broken"), "area <= 200");
  EXPECT_EQ(table.cell(table.rows[2], "time_s"), "");  // not simulated, not zero
  const std::vector<StudyObjective> objectives = {{"time_s"}, {"area"}};
  EXPECT_EQ(pareto_rows(study, table, objectives).rows.size(), 2U);
}

TEST(Study, PointsThatAreNoMachineSayWhy) {
  const Study study =
      read_study(study_text("axes:\n  memory.vmem.memory_space: {list: [1, 0]}\n"), "s.yaml");
  const measured::CsvTable table = table_of(study);
  EXPECT_EQ(table.cell(table.rows[0], "error"), "");
  EXPECT_THAT(std::string(table.cell(table.rows[1], "error")), HasSubstr("memory_space"));
  EXPECT_EQ(table.cell(table.rows[1], "feasible"), "0");
  EXPECT_EQ(table.cell(table.rows[1], "time_s"), "");
}

TEST(Study, ErrorsSayWhere) {
  expect_fault("axis: {}\n", "did you mean 'axes'");
  expect_fault("axes: {clok: {range: [1 GHz, 2 GHz], points: 2}}\n", "expected a list");
  expect_fault("axes: {clok: {list: [1 GHz]}}\n", "clok");
  expect_fault("axes: {clock: {range: [1 GHz, 2 GHz]}}\n", "points is missing");
  expect_fault("axes: {clock: {range: [2 GHz, 1 GHz], points: 3}}\n", "low below high");
  expect_fault("axes: {clock: {range: [1, 2], points: 3}}\n", "unit is missing");
  expect_fault("axes: {clock: {log: [1 GHz, 2 GHz], list: [1 GHz]}}\n", "expected one of");
  expect_fault("axes: {matrix.count: {range: [1, 3], points: 9}}\n", "twice");
  expect_fault("axes: {clock: {sobol: [1 GHz, 2 GHz], points: 3}}\n", "samples");
  expect_fault("derive: {a: 1 + }\n", "at character 4");
  expect_fault("derive: {a: 1 + hbm.bandwith}\n", "did you mean");
  expect_fault("constraints: [tim_s < 1]\n", "did you mean 'time_s'");
  expect_fault("samples: 3\n", "no latin or sobol axis");
}

class SensitivityTest : public ::testing::Test {
 protected:
  SensitivityTest()
      : loaded_(ir::load_module(example_program("mlp_train.hlo"), {})), source_("tpu_v3") {}
  [[nodiscard]] Sensitivity run(int jobs) const {
    return sensitivity(loaded_, {}, source_, model_, {.jobs = jobs});
  }
  analytical::AnalyticalModel model_;
  ir::LoadedModule loaded_;
  hwdesc::DeviceSource source_;
};

TEST_F(SensitivityTest, AgreesWithBruteForce) {
  const Sensitivity result = run(2);
  const double base_s = time_with(example_program("mlp_train.hlo"), "tpu_v3", {});
  EXPECT_EQ(result.time.value, base_s);
  const auto brute_force = [&](const hwdesc::DeviceNumber& number, double value) {
    const double time_s = time_with(example_program("mlp_train.hlo"), "tpu_v3",
                                    {{number.path, hwdesc::format_quantity(value, number.kind)}});
    return std::log(time_s / base_s) / std::log(value / number.value);
  };
  std::size_t compared = 0;
  for (const NumberSensitivity& entry : result.numbers) {
    if (entry.number.integer) continue;
    const double value = entry.number.value;
    if (entry.up) {
      EXPECT_EQ(*entry.up, brute_force(entry.number, value * 1.01)) << entry.number.path;
    }
    if (entry.down) {
      EXPECT_EQ(*entry.down, brute_force(entry.number, value * (1 / 1.01))) << entry.number.path;
    }
    compared += entry.up && entry.down ? 1 : 0;
  }
  EXPECT_GT(compared, 20U);
  EXPECT_GT(result.numbers.front().size(), 0.1);
}

// Two permutes that only differ in distance: on a ring of eight, one and four hops.
TEST(Sensitivity, OnASliceEqualCollectivesOfOtherDevicesAreToldApart) {
  const std::string hlo =
      "HloModule m, num_partitions=8, is_scheduled=true\nENTRY main {\n"
      "  x = f32[65536] parameter(0)\n"
      "  y = f32[65536] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}\n"
      "  ROOT z = f32[65536] collective-permute(y), channel_id=2, "
      "source_target_pairs={{0,4},{4,0}}\n}\n";
  const ir::LoadedModule loaded = ir::load_module(base::SourceText("far.hlo", hlo), {});
  const hwdesc::DeviceSource source("tpu_v5p", {{"interconnect.slice.shape", "8"}});
  const analytical::AnalyticalModel model;
  const auto time_s = [&](const hwdesc::Overrides& overrides) {
    const hwdesc::Device device = source.with(overrides);
    return simulate(ir::program_for(loaded, analytical::layout_rules(device), {}).program, device,
                    model)
        .time.value;
  };
  const Sensitivity result = sensitivity(loaded, {}, source, model, {.jobs = 1});
  const auto latency = std::ranges::find(result.numbers, "interconnect.latency",
                                         [](const NumberSensitivity& n) { return n.number.path; });
  ASSERT_NE(latency, result.numbers.end());
  ASSERT_TRUE(latency->up);
  const double more = latency->number.value * 1.01;
  const double ratio =
      time_s({{latency->number.path, hwdesc::format_quantity(more, latency->number.kind)}}) /
      time_s({});
  EXPECT_GT(ratio, 1);
  EXPECT_EQ(*latency->up, std::log(ratio) / std::log(more / latency->number.value));
}

// On every preset: a kernel's time is bit-identical if all numbers that it does not read, according
// to may_read(), are doubled or halved at once.
TEST_F(SensitivityTest, KernelsDoNotReadWhatIsSaidToBeUnread) {
  std::size_t unread = 0;
  for (const std::string& preset : hwdesc::preset_names()) {
    const hwdesc::DeviceSource source(preset);
    const hwdesc::Device device = source.with({});
    const std::vector<hwdesc::DeviceNumber> numbers = hwdesc::device_numbers(device);
    for (const char* program : {"small_transformer_train.hlo", "small_lstm_train.hlo"}) {
      const ir::DeviceProgram built = ir::program_for(ir::load_module(example_program(program), {}),
                                                      analytical::layout_rules(device), {});
      for (const ir::ScheduledKernel& scheduled : built.program.kernels()) {
        hwdesc::Overrides changes;
        for (const hwdesc::DeviceNumber& number : numbers) {
          if (analytical::may_read(scheduled.kernel, device, number.path)) continue;
          const double value = number.value * (number.value < number.high / 2 ? 2 : 0.5);
          if (value <= 0 || value < number.low) continue;
          changes.emplace_back(number.path, hwdesc::format_quantity(value, number.kind));
        }
        unread += changes.size();
        const std::vector<analytical::KernelQuery> query = {{scheduled.kernel}};
        EXPECT_EQ(model_.estimate(query, source.with(changes))[0]->time.value,
                  model_.estimate(query, device)[0]->time.value)
            << preset << ", " << program << ": " << scheduled.kernel.name();
      }
    }
  }
  EXPECT_GT(unread, 10'000U);
}

TEST_F(SensitivityTest, IsSortedAndTheSameForAnyNumberOfThreads) {
  const Sensitivity one = run(1), two = run(2);
  ASSERT_EQ(one.numbers.size(), two.numbers.size());
  for (std::size_t i = 0; i < one.numbers.size(); ++i) {
    EXPECT_EQ(one.numbers[i].number.path, two.numbers[i].number.path);
    EXPECT_EQ(one.numbers[i].up, two.numbers[i].up);
    if (i > 0) {
      EXPECT_LE(one.numbers[i].size(), one.numbers[i - 1].size());
    }
  }
}

TEST_F(SensitivityTest, RemovingBoundsOnlyGains) {
  const Sensitivity result = run(1);
  ASSERT_FALSE(result.path.empty());
  double before_s = result.time.value;
  for (const LimitStep& step : result.path) {
    EXPECT_LE(step.time.value, before_s * (1 + 1e-9)) << analytical::name(step.bound);
    EXPECT_GT(step.share, 0);
    before_s = step.time.value;
  }
}

std::string optimum_study(const std::string& rest, const std::string& device = "tpu_v3") {
  return "format: tilecast.study/1\nname: t\ndevices: [" + device + "]\nprograms: [" +
         (support::source_dir() / "configs/programs/mlp_train.hlo").string() +
         "]\nmodels: [analytical]\n" + rest;
}

StudyOptimum optimum_of(const std::string& text, std::size_t evaluations, bool larger = false,
                        const std::string& column = "") {
  const Study study = read_study(text, "s.yaml");
  const StudyRun run(study);
  return study_optimum(
      study, run,
      {.objective = column.empty() ? study.objectives.front() : StudyObjective{column, larger},
       .evaluations = evaluations});
}

const measured::CsvRow& best_row(const StudyOptimum& found) {
  return found.improving.rows.back();
}

double best_of(const StudyOptimum& found, std::string_view column) {
  return base::parse_number(found.table.cell(best_row(found), column)).value();
}

// Area a c + b w for a product c w of at least k: b w = a c = sqrt(a b k).
TEST(StudyOptimum, MeetsTheClosedFormOfAFormula) {
  const StudyOptimum found =
      optimum_of(optimum_study("axes:\n  clock: {range: [0.5 GHz, 4 GHz], points: 2}\n"
                               "  hbm.bandwidth: {log: [100 GB/s, 3.2 TB/s], points: 2}\n"
                               "derive: {area: 30 * clock / 1e9 + hbm.bandwidth / 2e10}\n"
                               "constraints: [clock / 1e9 * hbm.bandwidth / 1e12 >= 1]\n"
                               "objectives: [area]\n"),
                 150);
  const double a = 30, b = 50, k = 1;  // per GHz, per TB/s
  const double expected = 2 * std::sqrt(a * b * k);
  EXPECT_GE(best_of(found, "area"), expected * (1 - 1e-9));
  EXPECT_LE(best_of(found, "area"), expected * (1 + 1e-4));
  EXPECT_NEAR(best_of(found, "clock_Hz"), 1e9 * std::sqrt(b * k / a), 0.05e9);
  EXPECT_THAT(found.summary, HasSubstr("constraints active: clock / 1e9"));
  EXPECT_THAT(found.summary, HasSubstr("on a bound: none"));
  EXPECT_LE(found.table.rows.size(), 150U);
  EXPECT_EQ(found.table.cell(best_row(found), "best"), "1");
}

// The axes of docs/studies.md, wider and finer than usual.
TEST(StudyOptimum, IsAtLeastAsGoodAsAFineGridOfARealProgram) {
  const auto text = [](const std::string& clock, const std::string& bandwidth) {
    return optimum_study(
        "axes:\n  hbm.bandwidth: {log: [819 GB/s, 3.2 TB/s], points: " + bandwidth +
            "}\n  clock: {range: [1.5 GHz, 2.1 GHz], points: " + clock +
            "}\n  matrix.count: {list: [4, 5, 6, 7, 8]}\n"
            "derive: {area: 120 + 25 * matrix.count * (clock / 1.5e9)^2 + "
            "hbm.bandwidth / 2e10}\n"
            "constraints: [area <= 400]\nobjectives: [time_s]\n",
        "tpu_v5e");
  };
  const Study grid = read_study(text("13", "25"), "s.yaml");
  const StudyRun run(grid);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < run.points(); ++i) rows.push_back(run.rows(i));
  const measured::CsvTable table = run.table(rows);
  double least_s = 1;
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "feasible") != "1") continue;
    least_s = std::min(least_s, base::parse_number(table.cell(row, "time_s")).value());
  }
  const StudyOptimum found = optimum_of(text("2", "2"), 200);
  EXPECT_LE(best_of(found, "time_s"), least_s);
  EXPECT_GT(best_of(found, "time_s"), least_s * 0.9);
  EXPECT_LE(best_of(found, "area"), 400);
  EXPECT_THAT(found.summary, HasSubstr("constraints active: area <= 400"));
}

TEST(StudyOptimum, TriesDevicesAndListsAsRoundedNumbers) {
  const std::string text = optimum_study(
      "axes:\n  matrix.count: {list: [1, 2, 4]}\n  clock: {range: [0.9 GHz, 1.5 GHz], points: 2}\n"
      "derive: {far: abs(matrix.count - 2) + abs(clock / 1e9 - 1.25) + hbm.bandwidth / 1e15}\n"
      "objectives: [far]\n",
      "tpu_v5e, tpu_v3");
  const StudyOptimum found = optimum_of(text, 80);
  EXPECT_EQ(found.table.cell(best_row(found), "device"), "tpu_v3");  // it has less bandwidth
  EXPECT_EQ(best_of(found, "matrix.count"), 2);
  EXPECT_NEAR(best_of(found, "clock_Hz"), 1.25e9, 1e6);
}

TEST(StudyOptimum, MaximisesWhereAMinusStandsBefore) {
  const StudyOptimum found =
      optimum_of(optimum_study("axes: {clock: {range: [0.9 GHz, 1.5 GHz], points: 2}}\n"
                               "objectives: [-clock]\n"),
                 30);
  EXPECT_EQ(best_of(found, "clock_Hz"), 1.5e9);
  EXPECT_THAT(found.summary, HasSubstr("on a bound: clock (most)"));
}

TEST(StudyOptimum, SaysWhyNothingIsFeasible) {
  const std::string axes = "axes: {clock: {range: [0.9 GHz, 1.5 GHz], points: 2}}\n";
  const std::string error = support::error_of([&] {
    return optimum_of(
        optimum_study(axes + "constraints: [clock >= 2e9, time_s > 0]\nobjectives: [time_s]\n"),
        20);
  });
  EXPECT_THAT(error, HasSubstr("none of 20 machines is feasible"));
  EXPECT_THAT(error, HasSubstr("20 break clock >= 2e9, by 25 % at least"));
  EXPECT_THAT(error, Not(HasSubstr("time_s > 0")));
  EXPECT_THROW(
      (void)optimum_of(optimum_study("axes: {clock: {list: [1 GHz]}}\nobjectives: [time_s]\n"), 20),
      UsageError);
}

TEST(StudyOptimum, IsTheSameAfterAnInterruption) {
  const Study study = read_study(
      optimum_study("axes:\n  clock: {range: [0.9 GHz, 1.5 GHz], points: 2}\n"
                    "  matrix.count: {range: [1, 8], points: 2}\n"
                    "constraints: [matrix.count * clock <= 5e9]\nobjectives: [time_s]\n"),
      "s.yaml");
  const StudyRun run(study);
  const auto journal = std::filesystem::path(::testing::TempDir()) / "study_optimum.journal";
  std::filesystem::remove(journal);
  OptimumOptions options{.objective = study.objectives.front(), .evaluations = 60};
  const StudyOptimum whole = study_optimum(study, run, options);
  options.journal = journal.string();
  std::size_t done = 0;
  options.progress = [&](std::size_t now) { done = now; };
  options.stop = [&] { return done == 23; };
  EXPECT_FALSE(study_optimum(study, run, options).complete);
  options.stop = {};
  options.resume = true;
  const StudyOptimum resumed = study_optimum(study, run, options);
  EXPECT_EQ(resumed.summary, whole.summary);
  ASSERT_EQ(resumed.table.rows.size(), whole.table.rows.size());
  for (std::size_t i = 0; i < whole.table.rows.size(); ++i) {
    EXPECT_EQ(resumed.table.rows[i].cells, whole.table.rows[i].cells);
  }
  options.seed = 2;
  EXPECT_THROW((void)study_optimum(study, run, options), Error);
}
}  // namespace
}  // namespace tilecast::sim
