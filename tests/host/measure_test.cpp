// A measuring session on a fake machine: which rows are written, in which order, and what survives
// an interruption.
#include "host/measure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "base/source_text.h"
#include "host/measure_summary.h"
#include "host/program_bench.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion_space.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "ir/text/hlo_parser.h"
#include "measured/samples.h"
#include "measured/tile_cells.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using analytical::TileConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr double kMicrosecond = 1e-6;

Workload matmul(const std::string& family, int size) {
  const std::string name = fmt::format("{}_{}", family, size);
  ir::Module module = ir::parse_hlo(base::SourceText(
      name, fmt::format("HloModule {0}, is_scheduled=true\n\nENTRY main {{\n"
                        "  a = f32[{1},{1}]{{1,0}} parameter(0)\n"
                        "  b = f32[{1},{1}]{{1,0}} parameter(1)\n"
                        "  ROOT dot = f32[{1},{1}]{{1,0}} dot(a, b), lhs_contracting_dims={{1}}, "
                        "rhs_contracting_dims={{0}}\n}}\n",
                        name, size)));
  ir::Kernel kernel = ir::make_program(module).kernels().front().kernel;
  std::string hash = ir::canonical_hash(kernel);
  return {name, family, std::move(module), std::move(kernel), std::move(hash)};
}

// A machine whose clock only advances when it works: 1 s per compiled file, 0.1 s per kernel. A
// kernel takes 10 us plus 1 us for each kernel generated before it.
struct FakeMachine {
  double now_s = 0;
  std::size_t generated = 0;
  std::map<std::string, std::size_t> runs;            // number of runs per function
  std::map<std::string, RunStatus> ends;              // outcome of functions that fail
  std::set<std::string> not_generated, not_compiled;  // functions
  fs::path folder;

  Bench bench() {
    return {.machine = "a test's processor",
            .compiler = "no compiler",
            .generate = [this](const ir::Kernel&, const TileConfig&,
                               const std::string& function) -> Bench::Generated {
              if (not_generated.contains(function)) return Unsupported{"it is Tuesday"};
              ++generated;
              return CKernel{.function = function, .source = function + ";"};
            },
            .compile =
                [this](std::span<const std::string> sources, int) {
                  std::vector<Compilation> made;
                  for (const std::string& source : sources) made.push_back(compile(source));
                  return made;
                },
            .run =
                [this](const std::string&, std::span<const RunJob> jobs, const TimingOptions&,
                       const Bench::Done& done) {
                  for (std::size_t i = 0; i < jobs.size(); ++i) {
                    if (!done(i, run(jobs[i].function))) return;
                  }
                },
            .now = [this] { return Seconds{now_s}; }};
  }

 private:
  Compilation compile(const std::string& source) {
    now_s += 1;
    for (const std::string& function : not_compiled) {
      if (source.find(function + ";") != std::string::npos) return {{}, "error: " + function};
    }
    return {CompiledLibrary((folder / "library" / "none.so").string()), ""};
  }
  RunOutcome run(const std::string& function) {
    now_s += 0.1;
    ++runs[function];
    const double number = std::stod(function.substr(function.find('_') + 1));
    const Seconds time{(10 + number) * kMicrosecond};
    RunOutcome outcome{.timing = {.minimum = time, .median = 1.1 * time, .calls = 5}};
    if (const auto end = ends.find(function); end != ends.end()) {
      outcome.status = end->second;
      outcome.message = "as the test says";
    }
    return outcome;
  }
};

class MeasureTest : public ::testing::Test, protected support::Folder {
 protected:
  MeasureTest() {
    machine_.folder = folder();
    source_.workloads.push_back(matmul("small", 64));
    source_.workloads.push_back(matmul("small", 96));
    source_.workloads.push_back(matmul("large", 256));
  }
  [[nodiscard]] std::string path(const std::string& file = {}) const {
    return (folder() / "set" / file).string();
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    return base::SourceText::read_bytes(path(file));
  }
  [[nodiscard]] std::vector<WorkItem> plan(std::size_t tiles = 4) const {
    return plan_work(std::span(&source_, 1), device_,
                     {.tiles_per_kernel = tiles, .shortest = Seconds{0}});
  }
  [[nodiscard]] measured::Manifest manifest() const {
    return {.name = "test", .device = "cpu_generic", .source = "a test", .licence = "none"};
  }
  [[nodiscard]] SessionSettings settings() const {
    return {.date = "2026-01-01", .machine = "a test's processor", .device = "cpu_generic"};
  }
  SessionReport session(const std::vector<WorkItem>& items, const SessionOptions& options = {},
                        const SessionEvents& events = {}) {
    const Bench bench = machine_.bench();
    GrowingSet set(path(), manifest(), settings());
    SessionReport report = measure(items, device_, set, bench, options, events);
    notes_ = set.notes();
    return report;
  }
  [[nodiscard]] std::string why_not(const SessionSettings& other) const {
    return support::error_of([&] { const GrowingSet set(path(), manifest(), other); }, "opened");
  }

  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  WorkSource source_{.set = "tiles", .many_tiles = true};
  FakeMachine machine_;
  std::vector<std::string> notes_;
};

TEST_F(MeasureTest, WaysToUnrollAreMeasuredEachAndKeptApart) {
  const std::vector<WorkItem> items =
      plan_work(std::span(&source_, 1), device_,
                {.tiles_per_kernel = 2, .unroll = {1, 2, 4}, .shortest = Seconds{0}});
  const auto unrolled_session = [&] {
    SessionSettings unrolled = settings();
    unrolled.unroll = true;
    GrowingSet set(path(), manifest(), unrolled);
    return measure(items, device_, set, machine_.bench(), {}, {});
  };
  EXPECT_EQ(unrolled_session().measured, items.size());
  EXPECT_EQ(unrolled_session().known, items.size());
  const measured::MeasurementSet set = measured::read_measurement_set(path());
  EXPECT_THAT(set.parameter_names, ElementsAre("unroll"));
  ASSERT_EQ(set.rows.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(set.rows[i].tile, items[i - i % 3].tile);
    EXPECT_EQ(set.rows[i].parameters[0], std::vector({1, 2, 4})[i % 3]);
  }
  EXPECT_THAT(why_not(settings()), HasSubstr("expected the columns kernel,program"));
}

TEST_F(MeasureTest, WritesAnOrdinaryMeasurementSet) {
  const std::vector<WorkItem> items = plan();
  const SessionReport report = session(items);
  EXPECT_EQ(report.end, SessionEnd::kFinished);
  EXPECT_EQ(report.measured, items.size());
  const measured::MeasurementSet set = measured::read_measurement_set(path());
  ASSERT_EQ(set.rows.size(), items.size());
  EXPECT_TRUE(set.faults.empty());
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(set.rows[i].tile, items[i].tile);
    EXPECT_EQ(set.rows[i].family, items[i].workload->family);
    EXPECT_EQ(set.rows[i].op_class, "dot");
    EXPECT_EQ(set.rows[i].repeats, 5);
    EXPECT_NEAR(set.rows[i].runtime->value, (10.0 + double(i)) * kMicrosecond, 1e-10);
  }
  const measured::SampleSet samples =
      measured::make_samples(set, device_, {.check_physics = false});
  EXPECT_EQ(samples.works.size(), source_.workloads.size());
  EXPECT_EQ(samples.samples.size(), items.size());
}

TEST_F(MeasureTest, GoesOnWhereItWasStoppedAndMeasuresNothingTwice) {
  const std::vector<WorkItem> items = plan();
  std::size_t seen = 0;
  const SessionEvents stop_at_five{
      .stop = [&seen] { return seen >= 5; },
      .progress = [&seen](std::size_t settled, std::optional<Seconds>) { seen = settled; }};
  const SessionReport first = session(items, {}, stop_at_five);
  EXPECT_EQ(first.end, SessionEnd::kStopped);
  EXPECT_EQ(first.measured, 5U);
  EXPECT_EQ(measured::read_measurement_set(path()).rows.size(), 5U);
  const SessionReport second = session(items);
  EXPECT_EQ(second.known, 5U);
  EXPECT_EQ(second.measured, items.size() - 5);
  EXPECT_EQ(session(items).measured, 0U);
  const measured::MeasurementSet set = measured::read_measurement_set(path());
  EXPECT_EQ(set.rows.size(), items.size());
  EXPECT_TRUE(set.faults.empty());
}

TEST_F(MeasureTest, DropsATornLastLineAndMeasuresThatRowAgain) {
  const std::vector<WorkItem> items = plan();
  session(items);
  const std::string whole = text("measurements.csv");
  for (const std::size_t cut : {1, 7, 40}) {
    std::ofstream(path("measurements.csv"), std::ios::trunc) << whole.substr(0, whole.size() - cut);
    EXPECT_EQ(session(items).measured, 1U) << cut;
    EXPECT_THAT(notes_, ElementsAre(HasSubstr("dropped a torn last line")));
    EXPECT_EQ(measured::read_measurement_set(path()).rows.size(), items.size());
  }
  std::ofstream(path("measurements.csv"), std::ios::app) << std::string(100, '\0');
  EXPECT_EQ(session(items).measured, 0U);
  EXPECT_EQ(measured::read_measurement_set(path()).rows.size(), items.size());
}

// A table as written by sessions before tiles had these columns.
std::string before(std::span<const std::string_view> unknown, const std::string& text) {
  const measured::CsvTable table = measured::read_csv(base::SourceText("set.csv", text));
  const auto line = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (std::ranges::find(unknown, table.columns[i]) == unknown.end()) kept.push_back(cells[i]);
    }
    return measured::csv_line(kept);
  };
  std::string older = line(table.columns);
  for (const measured::CsvRow& row : table.rows) older += line(row.cells);
  return older;
}

TEST_F(MeasureTest, ResumesTablesFromBeforeTilesSaidAllTheySayToday) {
  const std::vector<WorkItem> items = plan();
  machine_.not_generated.insert("kernel_2");
  session(items);
  const std::string rows = text("measurements.csv"), skipped = text("skipped.csv");
  const std::span<const std::string_view> all = measured::tile_columns();
  const auto stages = std::ranges::find(all, "stages") - all.begin();
  for (const std::ptrdiff_t since : {stages, stages + 1}) {  // before stages, and before the others
    const auto unknown = all.subspan(static_cast<std::size_t>(since));
    const std::string older = before(unknown, rows);
    ASSERT_NE(older, rows);
    std::ofstream(path("measurements.csv"), std::ios::trunc) << older;
    std::ofstream(path("skipped.csv"), std::ios::trunc) << before(unknown, skipped);
    const SessionReport second = session(items);
    EXPECT_EQ(second.measured, 0U);
    EXPECT_EQ(second.known, items.size());
    EXPECT_EQ(text("measurements.csv"), rows);
    EXPECT_EQ(text("skipped.csv"), skipped);
    EXPECT_THAT(notes_, ElementsAre(HasSubstr("measurements.csv: is from before"),
                                    HasSubstr("skipped.csv: is from before")));
    session(items);
    EXPECT_THAT(notes_, ElementsAre()) << "it has today's form";
    // Also with a truncated end.
    std::ofstream(path("measurements.csv"), std::ios::trunc) << older.substr(0, older.size() - 7);
    EXPECT_EQ(session(items).measured, 1U);
    EXPECT_THAT(notes_, ElementsAre(HasSubstr("dropped a torn last line"),
                                    HasSubstr("measurements.csv: is from before")));
    EXPECT_EQ(measured::read_measurement_set(path()).rows.size(),
              measured::read_csv(base::SourceText("t", rows)).rows.size());
  }
}

TEST_F(MeasureTest, NamesABrokenLineThatIsNotTheLast) {
  session(plan());
  const std::string whole = text("measurements.csv");
  const std::size_t second = whole.find('\n') + 1;
  std::ofstream(path("measurements.csv"), std::ios::trunc)
      << whole.substr(0, second) << "half,a,row\n"
      << whole.substr(second);
  EXPECT_THAT(why_not(settings()), HasSubstr("measurements.csv:2: got 3 fields"));
}

TEST_F(MeasureTest, KeepsWhatItCannotMeasureWithItsReason) {
  const std::vector<WorkItem> items = plan();
  ASSERT_GE(items.size(), 6U);
  machine_.not_generated = {"kernel_0"};
  machine_.not_compiled = {"kernel_1"};
  machine_.ends = {{"kernel_2", RunStatus::kCrashed},
                   {"kernel_3", RunStatus::kTimedOut},
                   {"kernel_4", RunStatus::kUnstable},
                   {fmt::format("kernel_{}", items.size()), RunStatus::kUnstable}};  // again
  const SessionReport report = session(items);
  EXPECT_THAT(report.skipped,
              ElementsAre(Pair("compile error", 1U), Pair("crash", 1U), Pair("time-out", 1U),
                          Pair("unstable", 1U), Pair("unsupported", 1U)));
  EXPECT_EQ(report.measured, items.size() - 5) << "those beside them are measured";
  EXPECT_THAT(text("skipped.csv"), HasSubstr("unsupported,it is Tuesday"));
  EXPECT_EQ(session(items).known, items.size()) << "and are not tried again";
  fs::remove(path("skipped.csv"));
  EXPECT_EQ(session(items).known, items.size() - 5) << "unless the list is removed";
}

TEST_F(MeasureTest, TriesWhatWasUnstableOnceMoreAtTheEnd) {
  const std::vector<WorkItem> items = plan();
  machine_.ends = {{"kernel_0", RunStatus::kUnstable}};
  const SessionReport report = session(items);
  EXPECT_EQ(report.measured, items.size());
  EXPECT_EQ(report.unstable_once, 0U);
  const measured::MeasurementSet set = measured::read_measurement_set(path());
  EXPECT_EQ(set.rows.back().tile, items.front().tile);
}

TEST_F(MeasureTest, WhatWasUnstableIsLeftToTheNextSessionWhenTimeIsUp) {
  const std::vector<WorkItem> items = plan();
  machine_.ends = {{"kernel_0", RunStatus::kUnstable}};
  // One file for each of two compilers, then the kernels at 0.1 s: no time is left.
  const double needed_s = 2 + 0.1 * static_cast<double>(items.size());
  const SessionReport report = session(items, {.budget = Seconds{needed_s - 0.05}});
  EXPECT_EQ(report.end, SessionEnd::kOutOfTime);
  EXPECT_EQ(report.unstable_once, 1U);
  EXPECT_EQ(session(items).measured, 1U);
}

TEST_F(MeasureTest, LeavesOutWhatIsPredictedTooLong) {
  const std::vector<WorkItem> items = plan();
  Seconds longest;
  for (const WorkItem& item : items) longest = std::max(longest, item.predicted);
  const SessionReport report = session(items, {.longest = 0.999 * longest});
  EXPECT_GE(report.skipped.at("too long"), 1U);
  EXPECT_EQ(report.measured + report.skipped.at("too long"), items.size());
}

TEST_F(MeasureTest, BlamesNoKernelForAnInterrupt) {
  const std::vector<WorkItem> items = plan();
  bool interrupted = false;
  Bench bench = machine_.bench();
  bench.run = [&](const std::string&, std::span<const RunJob>, const TimingOptions&,
                  const Bench::Done& done) {
    interrupted = true;  // a Ctrl-C also reaches the child
    EXPECT_FALSE(done(0, {.status = RunStatus::kCrashed, .message = "killed by SIGINT"}));
  };
  GrowingSet set(path(), manifest(), settings());
  const SessionReport report =
      measure(items, device_, set, bench, {}, {.stop = [&] { return interrupted; }});
  EXPECT_EQ(report.end, SessionEnd::kStopped);
  EXPECT_TRUE(report.skipped.empty());
}

TEST_F(MeasureTest, EndsWithItsBudget) {
  const std::vector<WorkItem> items = plan(16);
  ASSERT_GT(items.size(), 20U);
  // Two files compiled at 1 s each leave half a second: five kernels at 0.1 s.
  const SessionReport report = session(items, {.budget = Seconds{2.45}});
  EXPECT_EQ(report.end, SessionEnd::kOutOfTime);
  EXPECT_EQ(report.measured, 5U);
  EXPECT_EQ(session(items, {.budget = Seconds{0}}).measured, 0U);
}

TEST_F(MeasureTest, RefusesRowsOfOtherSettings) {
  session(plan());
  SessionSettings other = settings();
  other.machine = "another processor";
  EXPECT_THAT(why_not(other), HasSubstr("another machine: got another processor, expected a test"));
  other = settings();
  other.device = "host.yaml";
  EXPECT_THAT(why_not(other), HasSubstr("device description: got host.yaml, expected cpu_generic"));
  other = settings();
  other.cache = CacheState::kWarm;
  EXPECT_THAT(why_not(other), HasSubstr("cache state: got warm, expected cold"));
  other = settings();
  other.seed = 7;
  other.compiler = "a newer one";
  EXPECT_EQ(why_not(other), "opened");
}

TEST_F(MeasureTest, RefusesASetItDidNotBeginAndASecondWriter) {
  {
    const GrowingSet set(path(), manifest(), settings());
    EXPECT_THAT(why_not(settings()), HasSubstr("another process is writing it"));
  }
  fs::remove(path("sessions.csv"));
  EXPECT_THAT(why_not(settings()), HasSubstr("did not begin"));
}

TEST_F(MeasureTest, SummaryCountsByClassAndReason) {
  const std::vector<WorkItem> items = plan();
  machine_.not_generated = {"kernel_0"};
  session(items);
  const SetSummary summary = summarise(path());
  EXPECT_EQ(summary.rows, items.size() - 1);
  ASSERT_EQ(summary.classes.size(), 1U);
  const ClassSummary& dots = summary.classes.front();
  EXPECT_EQ(dots.set, "tiles");
  EXPECT_EQ(dots.kernels, source_.workloads.size());
  EXPECT_EQ(dots.at_least_5us, dots.rows);
  EXPECT_EQ(dots.ranked, source_.workloads.size());
  // Kernels have items 1 to 3, 4 to 7 and 8 to 11, each of 10 us plus its number: the median of 13
  // / 11, 17 / 14 and 21 / 18.
  EXPECT_NEAR(dots.worst_over_best.value(), 13.0 / 11.0, 1e-9);
  ASSERT_EQ(summary.skipped.size(), 1U);
  EXPECT_EQ(summary.skipped.front().reason, "unsupported");
  EXPECT_EQ(summary.skipped.front().example, "it is Tuesday");
}

TEST_F(MeasureTest, RepeatabilityComparesTheSameTiles) {
  session(plan());
  const std::string first = at("first");
  fs::copy(path(), first, fs::copy_options::recursive);
  const Repeatability same = repeatability(first, path());
  EXPECT_EQ(same.pairs, plan().size());
  EXPECT_EQ(same.kernels, source_.workloads.size());
  EXPECT_EQ(same.median, 0);
  EXPECT_NEAR(same.tau.value(), 1, 1e-12);
  // Measured in the opposite order, the ranking within a kernel is reversed.
  fs::remove_all(path());
  std::vector<WorkItem> reversed = plan();
  std::ranges::reverse(reversed);
  session(reversed);
  const Repeatability turned = repeatability(first, path());
  EXPECT_NEAR(turned.tau.value(), -1, 1e-12);
  EXPECT_GT(turned.median.value(), 0);
}

std::vector<std::byte> bytes(const std::vector<float>& values) {
  std::vector<std::byte> result(values.size() * sizeof(float));
  std::memcpy(result.data(), values.data(), result.size());
  return result;
}

TEST(Disagreement, AllowsRoundingAndNothingElse) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto expected = bytes({1, -2, 3, nan});
  const auto size = static_cast<float>(std::sqrt((1.0 + 4 + 9) / 3));  // of the finite values
  const auto allowed = static_cast<float>(tolerance(ir::DType::kF32)) * (size + 3);
  EXPECT_THAT(disagreement(shape, expected, expected), IsEmpty());
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3 + 0.9F * allowed, nan}), expected), IsEmpty());
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3 + 1.1F * allowed, nan}), expected),
              StartsWith("element 2: got 3.0"));
  EXPECT_THAT(disagreement(shape, bytes({1, -2, 3, 0}), expected), StartsWith("element 3"));
  EXPECT_THAT(disagreement(shape, bytes({1, -2, nan, nan}), expected), StartsWith("element 2"));
  EXPECT_THAT(disagreement(shape, bytes({1}), expected), HasSubstr("size"));
}

TEST(Disagreement, HoldsIntegersToTheDigit) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kS32, {1});
  EXPECT_THAT(disagreement(shape, std::vector<std::byte>{std::byte{7}, {}, {}, {}},
                           std::vector<std::byte>{std::byte{8}, {}, {}, {}}),
              "element 0: got 7, expected 8");
}

class ProgramBenches : public ::testing::Test {
 protected:
  [[nodiscard]] static ir::FusionSpace space() {
    return ir::FusionSpace(
        ir::read_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo"));
  }
  [[nodiscard]] static std::vector<BenchProgram> programs_of(
      const std::vector<ir::Module>& modules) {
    std::vector<BenchProgram> programs;
    for (const ir::Module& module : modules) programs.push_back({"mixer", module});
    return programs;
  }
  // This machine, counting the texts it compiles.
  [[nodiscard]] Bench counting(std::size_t& compiled) const {
    Bench bench = this_machine();
    bench.compile = [&compiled, compile = bench.compile](std::span<const std::string> sources,
                                                         int jobs) {
      compiled += sources.size();
      return compile(sources, jobs);
    };
    return bench;
  }
  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  TimingOptions timing_{.visits = 1, .groups = 1, .group = Seconds{1e-5}};
};

TEST_F(ProgramBenches, TimesConfigurationsThatComputeTheSame) {
  const ir::FusionSpace decisions = space();
  ProgramBench bench(device_, this_machine(), timing_);
  std::vector<ir::Module> modules = {decisions.fused(decisions.by_rules())};
  for (const std::uint64_t seed : {1, 2, 3}) {
    modules.push_back(decisions.fused(decisions.random(0.5, seed)));
  }
  const std::vector<ProgramRun> runs = bench.run(programs_of(modules), 2);
  ASSERT_EQ(runs.size(), modules.size());
  for (const ProgramRun& run : runs) {
    EXPECT_THAT(run.failure, IsEmpty());
    ASSERT_TRUE(run.timing);
    EXPECT_GT(run.timing->minimum.value, 0);
  }
}

TEST_F(ProgramBenches, RefusesWhatComputesSomethingElse) {
  const ir::FusionSpace decisions = space();
  ir::Module right = decisions.fused(decisions.by_rules());
  ir::Module wrong = right;
  std::size_t changed = 0;
  for (ir::Computation& computation : wrong.computations) {
    for (ir::Instruction& op : computation.instructions) {
      if (op.opcode != ir::Opcode::kMultiply || changed > 0) continue;
      op.opcode = ir::Opcode::kSubtract;
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1u);
  ProgramBench bench(device_, this_machine(), timing_);
  const std::vector<ir::Module> modules = {std::move(right), std::move(wrong)};
  const std::vector<ProgramRun> runs = bench.run(programs_of(modules), 2);
  EXPECT_TRUE(runs[0].timing);
  EXPECT_FALSE(runs[1].timing);
  EXPECT_THAT(runs[1].failure, StartsWith("wrong result 0: element"));
}

TEST_F(ProgramBenches, CompilesEachKernelOnce) {
  const ir::FusionSpace decisions = space();
  std::size_t compiled = 0;
  ProgramBench bench(device_, counting(compiled), timing_);
  const ir::Module rules = decisions.fused(decisions.by_rules());
  const std::vector<BenchProgram> one = {{"mixer", rules}};
  ASSERT_TRUE(bench.run(one, 2).front().timing);
  const std::size_t first = compiled;
  EXPECT_GT(first, 3U);
  ASSERT_TRUE(bench.run(one, 2).front().timing);
  EXPECT_EQ(compiled, first);
  ir::FusionConfiguration other = decisions.by_rules();
  other.front() = ir::FusionChoice::kKeep;
  const ir::Module changed = decisions.fused(other);
  const std::vector<BenchProgram> two = {{"mixer", changed}};
  ASSERT_TRUE(bench.run(two, 2).front().timing);
  EXPECT_LE(compiled, first + 3) << "only kernels around the changed decision are new";
}

TEST_F(ProgramBenches, CutsKernelsAsItIsToldOrSaysThatItCannot) {
  const ir::FusionSpace decisions = space();
  const ir::Module rules = decisions.fused(decisions.by_rules());
  ProgramBench bench(device_, this_machine(), timing_);
  std::size_t asked = 0;
  const GiveTile whole = [&](const ir::Kernel&) {
    ++asked;
    return analytical::TileConfig{};
  };
  const GiveTile nonsense = [](const ir::Kernel&) {
    return analytical::TileConfig{.output = {1, 1, 1, 1, 1, 1, 1}, .kernel = {}, .input = {}};
  };
  const std::vector<BenchProgram> programs = {
      {"mixer", rules}, {"mixer", rules, whole}, {"mixer", rules, nonsense}};
  const std::vector<ProgramRun> runs = bench.run(programs, 2);
  EXPECT_TRUE(runs[0].timing);
  EXPECT_TRUE(runs[1].timing) << runs[1].failure;
  EXPECT_GT(asked, 3U);
  EXPECT_THAT(runs[2].failure, StartsWith("unsupported: "));
}

TEST_F(ProgramBenches, HoldsResultsOnlyAgainstThoseOfTheSameName) {
  const ir::FusionSpace mixer = space();
  const ir::FusionSpace mlp(
      ir::read_module(support::source_dir().string() + "/configs/programs/small_mlp_train.hlo"));
  const ir::Module a = mixer.fused(mixer.by_rules()), b = mlp.fused(mlp.by_rules());
  ProgramBench bench(device_, this_machine(), timing_);
  const std::vector<BenchProgram> programs = {{"mixer", a}, {"mlp", b}};
  for (const ProgramRun& run : bench.run(programs, 2)) EXPECT_THAT(run.failure, IsEmpty());
}
}  // namespace
}  // namespace tilecast::host
