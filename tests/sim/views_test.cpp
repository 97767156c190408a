#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/evaluation.h"
#include "sim/scopes.h"
#include "sim/simulator.h"
#include "sim/study/study.h"
#include "sim/views/evaluation.h"
#include "sim/views/parts.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"
#include "tests/support/small_run.h"

namespace tilecast::sim {
namespace {

using analytical::Bound;
using measured::Metric;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Simulation example() {
  Simulation run = support::small_run();
  run.kernels[1].estimate.edit().flags = {"approximate"};
  run.host_dispatch = Seconds{1e-4};
  return run;
}

// Runs as documents, read again.
Json json_of(const Simulation& run) {
  return Json::parse(views::json(std::vector{run}))["programs"][0];
}
measured::CsvTable csv_of(const std::vector<Simulation>& runs) {
  return measured::read_csv(base::SourceText("out.csv", views::csv(runs)));
}

TEST(TableView, ShowsTotalsBoundsNotesAndTheSlowestKernelFirst) {
  const std::string text = views::table(example());
  EXPECT_THAT(text, HasSubstr("time      5.000 us"));
  EXPECT_THAT(text, HasSubstr("host      100.0 us"));
  EXPECT_THAT(text, HasSubstr("bound by  hbm_read 80.0 %, vector 20.0 %"));
  EXPECT_THAT(text, HasSubstr("note: something assumed  (x3)"));
  EXPECT_THAT(text, HasSubstr("flag: approximate  (1 kernel)"));
  EXPECT_LT(text.find("big "), text.find("small "));
}

TEST(TableView, SaysRunsAndTokensPerSecond) {
  Simulation run = example();
  run.timeline = Seconds{2e-3};
  EXPECT_THAT(views::table(run), HasSubstr("rate      500.0 runs/s\n"));
  EXPECT_TRUE(json_of(run)["tokens_per_s"].is_null());
  run.tokens = 4096;
  EXPECT_THAT(views::table(run),
              HasSubstr("rate      500.0 runs/s, 2.048 M tokens/s  (4096 tokens a run)\n"));
  EXPECT_DOUBLE_EQ(json_of(run)["tokens_per_s"], 4096 / 2e-3);
}

TEST(TableView, ShowsNotesThatMatterFirstAndFewOfMany) {
  Simulation run = example();
  run.notes.assign(20, {"usual"});
  run.notes.push_back({"compiled for another machine", 1, /*matters=*/true});
  const std::string text = views::table(run);
  EXPECT_LT(text.find("note: compiled for another machine"), text.find("note: usual"));
  EXPECT_THAT(text, HasSubstr("more notes  (--all shows them)"));
  EXPECT_THAT(views::table(run, {.all = true}), Not(HasSubstr("more notes")));
}

TEST(TableView, ShowsKernelsThatShareTheirEstimateAsOneRow) {
  Simulation run = example();
  run.kernels.push_back(run.kernels[0]);
  run.kernels.push_back(run.kernels[0]);
  const std::string text = views::table(run, {.top = 2});
  EXPECT_THAT(text, HasSubstr(run.kernels[0].name + " (+2)"));
  EXPECT_THAT(text, HasSubstr(views::duration(3 * run.kernels[0].total().value)));
  EXPECT_THAT(views::table(run), Not(HasSubstr("(+2)")));  // every kernel is shown
}

TEST(TableView, HasSiPrefixes) {
  EXPECT_EQ(views::duration(0.0741768), "74.18 ms");
  EXPECT_EQ(views::si(2.5e12, "FLOP"), "2.500 TFLOP");
  EXPECT_EQ(views::si(-3.2e-13, "J"), "-0.320 pJ");
  EXPECT_EQ(views::si(0, "B"), "0 B");
  EXPECT_EQ(views::duration(9.99999e-6), "10.00 us");
  EXPECT_EQ(views::duration(999.99e-6), "1.000 ms");
  EXPECT_EQ(views::si(4e20, "B"), "400000 PB");
}

TEST(WorkNumbers, AreOfAllLaunchesAndSharesOfThePeaks) {
  Simulation run = example();
  run.roofs = {
      .peaks = {{"matrix", "f32", FlopsPerSecond{5e12}}, {"matrix", "bf16", FlopsPerSecond{1e12}}},
      .memory = {{"hbm", BytesPerSecond{1e9}, BytesPerSecond{1e9}, Bytes{1}}}};
  double flops = 0, bytes = 0;
  for (const SimulatedKernel& kernel : run.kernels) {
    flops += kernel.multiplicity * kernel.estimate->flops.value;
    bytes += kernel.multiplicity * (kernel.estimate->hbm_read + kernel.estimate->hbm_write).value;
  }
  const Json json = json_of(run);
  EXPECT_EQ(json["work_FLOP"], flops);
  EXPECT_EQ(json["main_memory_bytes"], bytes);
  EXPECT_DOUBLE_EQ(json["mfu"], flops / (1e12 * run.timeline.value));
  EXPECT_DOUBLE_EQ(json["main_memory_share"], bytes / (1e9 * run.timeline.value));
  run.roofs = {};
  EXPECT_TRUE(json_of(run)["mfu"].is_null());
}

TEST(Scopes, LeaveOutWhatOnlyTransformsAFunction) {
  using ::testing::ElementsAre;
  EXPECT_THAT(scope_path("jit(step)/transpose(jvp(block))/mlp/dot_general"),
              ElementsAre("block", "mlp", "dot_general"));
  EXPECT_THAT(scope_path("jit(f)/jvp()/jit(relu)/max"), ElementsAre("max"));
  EXPECT_THAT(scope_path(""), ElementsAre());
  EXPECT_EQ(scope_of("jit(step)/transpose(jvp(block))/mlp/dot_general"), "block/mlp");
  EXPECT_EQ(scope_of("dot"), "");
}

TEST(Scopes, AreATreeWhoseParentsTakeAsLongAsTheirChildrenTogether) {
  Simulation run = example();
  const SimulatedKernel kernel = run.kernels[0];
  run.kernels.clear();
  for (const char* name :
       {"jit(f)/a/b/dot", "jit(f)/a/c/dot", "jit(f)/a/c/add", "jit(f)/d/e/exp"}) {
    run.kernels.push_back(kernel);
    run.kernels.back().op_name = name;
  }
  const std::vector<ScopeTime> all = time_by_scope(run.kernels, 100);
  std::vector<std::string> names;
  for (const ScopeTime& scope : all) {
    names.push_back(std::string(scope.depth, ' ') + scope.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("a", " c", "  add", "  dot", " b/dot", "d/e/exp"));
  EXPECT_DOUBLE_EQ(all[0].time.value, 3 * kernel.total().value);
  EXPECT_DOUBLE_EQ(all[1].time.value, 2 * kernel.total().value);
  EXPECT_EQ(time_by_scope(run.kernels, 1).front().name, "a");
}

TEST(Scopes, OfTwoRunsAddUpToBothWithTheLargestChangesFirst) {
  Simulation before = example();
  const SimulatedKernel kernel = before.kernels[0];
  before.kernels.assign(3, kernel);
  before.kernels[0].op_name = "jit(f)/a/dot";
  before.kernels[1].op_name = "jit(f)/b/dot";
  Simulation after = before;  // its third kernel has no name, either
  after.kernels[1].multiplicity *= 3;
  const auto changes = scope_changes(before.kernels, after.kernels, 100);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name, "b/dot");
  EXPECT_DOUBLE_EQ((changes[0].time - changes[0].before).value, 2 * kernel.total().value);
  Seconds was, is;
  for (const ScopeTime& one : changes) {
    was += one.before;
    is += one.time;
  }
  EXPECT_DOUBLE_EQ(was.value, 3 * kernel.total().value);
  EXPECT_DOUBLE_EQ(is.value, 5 * kernel.total().value);
}

TEST(TextTable, ShowsForeignTextInOneLineThatATerminalDoesNotObey) {
  views::TextTable table({"na\x1b[2Jme", {"b", 4}});
  table.add({"a\nb\x9b", "\xc3\xa9\xc3\xa9\xc3\xa9"});
  EXPECT_EQ(table.render(), "na\\x1b[2Jme  b\n-----------  ---\na b\\x9b      \xc3\xa9~\n");
}

TEST(TableView, SumsUpTheKernelsItDoesNotShow) {
  const std::string text = views::table(example(), {.top = 1});
  EXPECT_THAT(text, Not(HasSubstr("small ")));
  EXPECT_THAT(text, HasSubstr("1 more rows, 1.000 us, 20.0 %"));
}

TEST(TableView, OfAnEmptyProgramHasNoKernelsAndNoNan) {
  const std::string text = views::table({.program = "empty", .device = "toy"});
  EXPECT_THAT(text, HasSubstr("sum over 0 kernels"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(MemoryView, SaysWhatThePeakIsOfAndByHowMuchItDoesNotFit) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  Simulation run = example();
  EXPECT_THAT(views::table(run), Not(HasSubstr("memory")));
  EXPECT_FALSE(json_of(run).contains("memory"));

  run.memory = ProgramMemory{.peak = {.arguments = kGiB, .temporaries = kGiB / 2},
                             .at = "dot.1",
                             .capacity = Bytes{16 * kGiB}};
  EXPECT_THAT(views::table(run),
              HasSubstr("memory    peak 1.500 GiB of 16.00 GiB: arguments 1.000 GiB, temporaries "
                        "512.0 MiB, outputs 0 B  (at dot.1)\n"));
  run.memory->capacity = Bytes{kGiB};
  EXPECT_THAT(views::table(run), HasSubstr("DOES NOT FIT: 512.0 MiB too much"));
  const Json json = json_of(run)["memory"];
  EXPECT_EQ(json["peak_bytes"], 1.5 * kGiB);
  EXPECT_EQ(json["capacity_bytes"], kGiB);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["spare_bytes"], -kGiB / 2);
  run.memory->capacity = Bytes{16 * kGiB};
  run.memory->host = 3 * kGiB;
  EXPECT_TRUE(run.memory->fits());  // nobody says how much the host has
  run.memory->host_capacity = Bytes{2 * kGiB};
  EXPECT_FALSE(run.memory->fits());
  EXPECT_THAT(views::table(run), AllOf(HasSubstr("DOES NOT FIT on the host: 1.000 GiB too much"),
                                       HasSubstr("; on the host 3.000 GiB of 2.000 GiB\n")));
  EXPECT_THAT(views::csv(std::vector{run}), HasSubstr("peak_memory_bytes,memory_capacity_bytes"));
}

TEST(ComparisonView, PutsDevicesSideBySideWithTheRatioToTheFirst) {
  Simulation slow = example();
  slow.device = "slow";
  slow.time = Seconds{10e-6};
  const std::vector<Simulation> runs{example(), slow};
  const std::string text = views::comparison(runs, 2);
  EXPECT_THAT(text, HasSubstr("toy"));
  EXPECT_THAT(text, HasSubstr("slow"));
  EXPECT_THAT(text, HasSubstr("2.000"));
  EXPECT_THAT(text, HasSubstr("note: something assumed  (2 of 2 runs)"));
}

TEST(ComparisonView, ShowsEnergyWhereADeviceDescribesIt) {
  Simulation described = example();
  described.device = "described";
  described.energy = ProgramEnergy{
      .dynamic = {.compute = Joules{3e-3}}, .idle = Joules{1e-3}, .timeline = described.timeline};
  EXPECT_THAT(views::comparison(std::vector{example(), example()}, 2), Not(HasSubstr("energy")));
  const std::string text = views::comparison(std::vector{example(), described}, 2);
  EXPECT_THAT(text, HasSubstr("toy energy"));
  EXPECT_THAT(text, HasSubstr("described energy"));
  EXPECT_THAT(text, HasSubstr("4.000 mJ"));
}

// One list of names: JSON, CSV and studies show the same number for a run.
TEST(ProgramNumbers, HaveTheSameNamesAndValuesEverywhere) {
  Simulation run = example();
  run.energy = ProgramEnergy{.idle = Joules{1e-3}, .timeline = run.timeline};
  run.memory = ProgramMemory{.peak = {.arguments = 3e6}, .capacity = Bytes{8e6}};
  const Json program = json_of(run);
  const measured::CsvTable csv = csv_of({run});
  for (const ProgramNumber& number : energy_numbers()) {
    EXPECT_EQ(program[std::string(number.name)], *number.of(run)) << number.name;
  }
  for (const ProgramNumber& number : memory_numbers()) {
    EXPECT_EQ(csv.cell(csv.rows[0], number.name), views::csv_number(number.of(run)));
  }
  for (const auto& numbers : {energy_numbers(), memory_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      const auto same = [&](const StudyResult& result) { return result.name == number.name; };
      const auto column = std::ranges::find_if(study_results(), same);
      ASSERT_NE(column, study_results().end()) << number.name;
      EXPECT_EQ(column->value(run), number.of(run)) << number.name;
      EXPECT_EQ(number.of(example()), std::nullopt) << number.name;
    }
  }
}

TEST(ComparisonView, GivesTheSameProgramTwiceTwoRows) {
  const std::vector<Simulation> runs{example(), example()};
  const std::string text = views::comparison(runs, 1);
  const std::size_t first = text.find("demo.hlo");
  EXPECT_NE(text.find("demo.hlo", first + 1), std::string::npos);
}

TEST(JsonView, HasTheSchemaAndSecondsEverywhere) {
  const std::vector<Simulation> runs{example()};
  const Json document = Json::parse(views::json(runs));
  EXPECT_EQ(document["schema"], "tilecast.simulate/2");
  const Json& program = document["programs"][0];
  EXPECT_EQ(program["file"], "demo.hlo");
  EXPECT_EQ(program["time_s"], runs[0].time.value);
  EXPECT_EQ(program["host_dispatch_s"], 1e-4);
  EXPECT_EQ(program["kernels"][1]["name"], "big");
  EXPECT_EQ(program["kernels"][1]["time_s"], 2e-6);
  EXPECT_EQ(program["kernels"][1]["total_s"], 4e-6);
  EXPECT_EQ(program["kernels"][1]["bound"], "hbm_read");
  EXPECT_EQ(program["kernels"][1]["tile"]["output"], (std::vector<int>{2, 4}));
  EXPECT_EQ(program["kernels"][1]["bounds_s"].size(), analytical::kBoundCount);
  EXPECT_EQ(program["notes"][0]["count"], 3);
}

TEST(JsonView, SaysWhichKernelsWereSkipped) {
  Simulation run = example();
  run.kernels[0].skipped = true;
  const Json kernel = json_of(run)["kernels"][0];
  EXPECT_EQ(kernel["skipped"], true);
  EXPECT_FALSE(kernel.contains("bound"));
  EXPECT_THAT(views::table(run), HasSubstr("skipped"));
}

TEST(JsonView, EscapesNamesThatAreNotUtf8) {
  Simulation run = example();
  run.kernels[0].name = "bad\xFF\"name";
  const std::vector<Simulation> runs{run};
  EXPECT_TRUE(Json::accept(views::json(runs)));
  EXPECT_TRUE(Json::accept(views::trace(runs)));
}

TEST(CsvView, HasOneRowPerKernelWithAsManyCellsAsColumns) {
  const measured::CsvTable table = csv_of({example(), example()});
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.cell(table.rows[1], "kernel"), "big");
  EXPECT_EQ(table.cell(table.rows[1], "total_s"), "4e-06");
  EXPECT_EQ(table.cell(table.rows[1], "flags"), "approximate");
}

// The kernel `big` corrected from 1.6 us, as by a hybrid.
Simulation corrected() {
  Simulation run = example();
  run.model = "hybrid toy (models/toy)";
  run.interval = measured::Interval{4e-6, 7e-6};
  run.kernels[1].estimate.edit().correction = {.analytical = Seconds{1.6e-6},
                                               .factor = 1.25,
                                               .weight = 0.84,
                                               .verdict = analytical::Verdict::kIn,
                                               .low = Seconds{1.2e-6},
                                               .high = Seconds{3.2e-6}};
  return run;
}

TEST(TableView, OfAHybridShowsModelIntervalBeliefAndCorrections) {
  const std::string text = views::table(corrected());
  EXPECT_THAT(text, HasSubstr("model     hybrid toy (models/toy)\n"));
  EXPECT_THAT(text, HasSubstr("(4.000 us to 7.000 us, 90 %; sum over"));
  // 2 launches of 2 us, of 5 us in total.
  EXPECT_THAT(text, HasSubstr("believed  k above 0.5: 80.0 % of the time, up to 0.5: 0.0 %, 0 "
                              "(physics alone): 0.0 %\n"));
  EXPECT_THAT(text, HasSubstr("x analytical [90 %] k"));
  EXPECT_THAT(text, HasSubstr("x 1.25 [0.75, 2.00] 0.84"));
  EXPECT_THAT(views::table(example()), Not(HasSubstr("model ")));
  EXPECT_THAT(views::table(example()), Not(HasSubstr("[90 %]")));
}

TEST(ComparisonView, OfHybridsShowsIntervalsAndTheModel) {
  const std::vector<Simulation> runs{corrected(), example()};
  const std::string text = views::comparison(runs, 1);
  EXPECT_THAT(text, HasSubstr("[4.000 us, 7.000 us]"));
  EXPECT_THAT(text, HasSubstr("model: hybrid toy (models/toy)  (1 of 2 runs)"));
}

TEST(JsonView, OfAHybridAppendsTheCorrection) {
  const Json program = json_of(corrected());
  EXPECT_EQ(program["model"], "hybrid toy (models/toy)");
  EXPECT_EQ(program["low_s"], 4e-6);
  EXPECT_EQ(program["high_s"], 7e-6);
  EXPECT_EQ(program["believed"]["above_half"]["kernels"], 1);
  EXPECT_EQ(program["believed"]["above_half"]["time_s"], 4e-6);
  EXPECT_EQ(program["believed"]["up_to_half"]["kernels"], 0);
  EXPECT_EQ(program["believed"]["physics_alone"]["kernels"], 0);
  EXPECT_EQ(program["kernels"][1]["weight"], 0.84);
  EXPECT_EQ(program["kernels"][1]["factor"], 1.25);
  EXPECT_EQ(program["kernels"][1]["high_s"], 3.2e-6);
  EXPECT_FALSE(program["kernels"][0].contains("factor"));
}

TEST(CsvView, OfAHybridEndsWithTheCorrection) {
  const measured::CsvTable table = csv_of({corrected()});
  EXPECT_EQ(table.columns.back(), "high_s");
  EXPECT_EQ(table.cell(table.rows[1], "verdict"), "in");
  EXPECT_EQ(table.cell(table.rows[1], "analytical_s"), "1.6e-06");
  EXPECT_EQ(table.cell(table.rows[0], "verdict"), "");
}

TEST(TableView, AKernelThatIsNotCorrectedIsPhysicsAlone) {
  Simulation run = corrected();
  analytical::Correction& correction = *run.kernels[1].estimate.edit().correction;
  correction.weight = 0;
  const std::string text = views::table(run);
  EXPECT_THAT(text, HasSubstr("believed  no correction: physics alone, "));
  correction.weight = 0.5;
  EXPECT_THAT(views::table(run), HasSubstr("up to 0.5: 80.0 %"));
}

TEST(CorrectionView, TellsTimesFactorBeliefNeighboursAndDrivers) {
  hybrid::CorrectionReasons reasons{.correction = *corrected().kernels[1].estimate->correction,
                                    .said = {.mean = std::log(1.5), .deviation = std::log(1.1)}};
  reasons.correction.weight = 0.5;
  reasons.nearest = {{.name = "fusion.7", .distance = 0.25}};
  reasons.drivers = {{.feature = "bytes", .value = 42, .effect = std::log(1.1)}};
  reasons.verdict = "far from every kernel";
  const std::string text = views::correction_text(reasons);
  EXPECT_THAT(text, HasSubstr("analytical      1.600 us"));
  EXPECT_THAT(text, HasSubstr("x 1.250: trees say x 1.500 (+- 10.0 %), k = 0.50"));
  EXPECT_THAT(text, HasSubstr("90 % interval   1.200 us to 3.200 us"));
  EXPECT_THAT(text, HasSubstr("where           far from every kernel"));
  EXPECT_THAT(text, HasSubstr("nearest         fusion.7 at distance 0.25"));
  EXPECT_THAT(text, HasSubstr("+10.0"));
}

TEST(TraceView, HasNamedLanesAndMicroseconds) {
  const std::vector<Simulation> runs{example()};
  const Json events = Json::parse(views::trace(runs))["traceEvents"];
  ASSERT_EQ(events.size(), 1 + kLaneCount + 2);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["args"]["name"], "demo on toy");
  const Json& big = events.back();
  EXPECT_EQ(big["ph"], "X");
  EXPECT_DOUBLE_EQ(big["ts"], 1.0);
  EXPECT_DOUBLE_EQ(big["dur"], 4.0);
}

TEST(RowsView, KeepsNumbersNumbersAndEmptyCellsNull) {
  const measured::CsvTable table{
      "t", {"a", "b", "c"}, {{2, {"1", "x", ""}}, {3, {"2.5", "nan", "inf"}}}};
  const Json rows = Json::parse(views::rows_json(table, "s/1"))["rows"];
  EXPECT_EQ(rows[0], (Json{{"a", 1}, {"b", "x"}, {"c", nullptr}}));
  EXPECT_EQ(rows[1], (Json{{"a", 2.5}, {"b", "nan"}, {"c", "inf"}}));
}

TEST(TextTable, NumbersKeepFourDigitsAndNoExponentInBetween) {
  EXPECT_EQ(views::compact(0), "0");
  EXPECT_EQ(views::compact(1234567.8), "1234568");
  EXPECT_EQ(views::compact(12.3456), "12.35");
  EXPECT_EQ(views::compact(0.01234), "0.0123");
  EXPECT_EQ(views::duration(1.5e-6), "1.500 us");
  EXPECT_EQ(views::duration(0.9109), "910.9 ms");
}

TEST(TextTable, CutsLongCellsAndAlignsColumns) {
  views::TextTable table({{"name", 6}, ">n"});
  table.add({"abcdefgh", "12"});
  EXPECT_EQ(table.render(), "name     n\n------  --\nabcde~  12\n");
}

// Two kernels with three tiles each, and a program; "flat" always predicts 10 us.
EvaluationReport evaluated() {
  EvaluationReport report;
  report.devices.resize(2);
  report.devices[0].name = "toy";
  report.devices[1].name = "toy_fitted";
  report.devices[1].calibration.source = "twelve rows of a set";
  report.columns.push_back({.name = "flat", .model = "flat", .device = 0});
  report.columns.push_back({.name = "toy_fitted", .model = "analytical", .device = 1});
  measured::ScoreSheet& sheet = report.sheet;
  sheet.columns = {"flat", "toy_fitted"};
  sheet.sets.resize(1);
  sheet.sets[0].name = "a|b";
  sheet.sets[0].hash = "0123456789abcdef";
  sheet.sets[0].device = "toy";
  sheet.sets[0].manifest.source = "somebody";
  sheet.sets[0].manifest.licence = "MIT";
  sheet.sets[0].manifest.timing = measured::Timing::kHost;
  sheet.sets[0].rows = 7;
  sheet.sets[0].with_dispatch = 1;
  sheet.sets[0].faults.resize(1);
  sheet.sets[0].faults[0].line = 9;
  sheet.sets[0].faults[0].kind = measured::RowFault::Kind::kUnitSlip;
  sheet.sets[0].faults[0].message = "a thousand times too long";
  sheet.works = {{"k0", "copy", "", 0}, {"k1", "copy", "", 0}, {"p", "program", "", 0}};
  for (int i = 0; i < 7; ++i) {
    const auto work = static_cast<std::size_t>(i / 3);
    const double measured_s = 1e-5 * (1 + i % 3);
    sheet.rows.push_back({.work = work,
                          .line = i + 2,
                          .split = "test",
                          .tile = work < 2 ? "out=" + std::to_string(i) : "",
                          .measured_s = measured_s,
                          .predicted_s = {1e-5, 1.1 * measured_s}});
  }
  report.evaluation = measured::evaluate(sheet);
  report.notes = {"something left out"};
  return report;
}

TEST(EvaluationText, ShowsEveryModelInEveryStratumWithNAndIntervals) {
  const std::string text = views::evaluation_text(evaluated());
  EXPECT_THAT(text, HasSubstr("all: n = 7 rows, 3 works"));
  EXPECT_THAT(text, HasSubstr("class copy: n = 6 rows, 2 works"));
  EXPECT_THAT(text, HasSubstr("MAPE %"));
  EXPECT_THAT(text, HasSubstr("10.0 [10.0, 10.0]"));
  EXPECT_THAT(text, HasSubstr("1.10 [1.10, 1.10]"));
  EXPECT_THAT(text, HasSubstr("1 left out"));
  EXPECT_THAT(text, HasSubstr("calibrated on twelve rows of a set"));
  EXPECT_THAT(text, HasSubstr("note: something left out"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("a thousand times too long")));
}

TEST(EvaluationText, ShowsIntervalsWhereAModelGivesThem) {
  EvaluationReport report = evaluated();
  EXPECT_THAT(views::evaluation_text(report), Not(HasSubstr("interval width %")));
  EXPECT_THAT(views::evaluation_rows_csv(report), Not(HasSubstr("low ns")));
  for (measured::ScoredRow& row : report.sheet.rows) {
    row.interval_s = {std::nullopt, measured::Interval{0.5e-5, 2e-5}};
  }
  report.evaluation = measured::evaluate(report.sheet);
  const std::string text = views::evaluation_text(report);
  EXPECT_THAT(text, HasSubstr("in 90 % interval %"));
  // Measured 10, 20 and 30 us, twice, and 10: 5 of 7 are within 20; width (20 / 5 - 1).
  EXPECT_THAT(text, HasSubstr("71.4 ["));
  EXPECT_THAT(text, HasSubstr("300.0 [300.0, 300.0]"));
  EXPECT_THAT(views::evaluation_rows_csv(report),
              HasSubstr("toy_fitted low ns,toy_fitted high ns\n"
                        "a|b,2,k0,copy,test,out=0,10000,10000,11000,5000,20000\n"));
}

TEST(EvaluationText, SaysThatAModelCannotRankInsteadOfANumber) {
  const std::string text = views::evaluation_text(evaluated());
  EXPECT_THAT(text, HasSubstr("0 of 2  cannot rank"));
  EXPECT_THAT(text, HasSubstr("2 of 2"));
}

TEST(EvaluationText, ListsFaultsWhenAsked) {
  EXPECT_THAT(views::evaluation_text(evaluated(), {.faults = true}),
              HasSubstr("fault: a|b: line 9: unit_slip: a thousand times too long"));
}

TEST(EvaluationText, DoesNotRepeatTheOnlyClass) {
  EvaluationReport report = evaluated();
  for (auto& work : report.sheet.works) work.op_class = "copy";
  report.evaluation = measured::evaluate(report.sheet);
  const std::string text = views::evaluation_text(report);
  EXPECT_THAT(text, HasSubstr("all (class copy): n = 7"));
  EXPECT_THAT(text, Not(HasSubstr("\nclass copy")));
}

TEST(EvaluationText, ShowsKernelsOnOneLinePerModel) {
  EvaluationReport report = evaluated();
  report.evaluation = measured::evaluate(report.sheet, {.by = {measured::Breakdown::kKernel}});
  const std::string text = views::evaluation_text(report);
  EXPECT_THAT(text, HasSubstr("\nk1      3  flat"));
  EXPECT_THAT(text, Not(HasSubstr("kernel k1: n")));
}

TEST(EvaluationCsv, OfRowsHoldsWhatEveryModelSaid) {
  EvaluationReport report = evaluated();
  report.sheet.rows[1].predicted_s[0].reset();
  const std::string text = views::evaluation_rows_csv(report);
  EXPECT_THAT(text, HasSubstr("measured_ns,flat ns,toy_fitted ns\n"
                              "a|b,2,k0,copy,test,out=0,10000,10000,11000\n"
                              "a|b,3,k0,copy,test,out=1,20000,,22000\n"));
}

TEST(EvaluationCsv, HasOneRowPerStratumModelAndMetricInFractions) {
  const measured::CsvTable table =
      measured::read_csv(base::SourceText("e.csv", views::evaluation_csv(evaluated())));
  EXPECT_EQ(table.rows.size(), 3 * 2 * measured::kMetricCount);
  int found = 0;
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "by") != "all" || table.cell(row, "model") != "toy_fitted") continue;
    if (table.cell(row, "metric") != "mape") continue;
    EXPECT_NEAR(std::stod(std::string(table.cell(row, "value"))), 0.1, 1e-12);
    EXPECT_EQ(table.cell(row, "rows"), "7");
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(EvaluationJson, IsVersionedAndHoldsModelsSetsScoresAndFaults) {
  const auto json = Json::parse(views::evaluation_json(evaluated(), {.faults = true}));
  EXPECT_EQ(json["schema"], "tilecast.evaluate/1");
  EXPECT_EQ(json["models"][1]["calibrated_on"], "twelve rows of a set");
  EXPECT_EQ(json["sets"][0]["hash"], "0123456789abcdef");
  EXPECT_EQ(json["sets"][0]["timing"], "host");
  EXPECT_EQ(json["sets"][0]["left_out"]["unit_slip"], 1);
  EXPECT_EQ(json["scores"].size(), 3 * 2 * measured::kMetricCount);
  EXPECT_EQ(json["faults"][0]["line"], 9);
  for (const auto& score : json["scores"]) {
    const bool flat_ranks = score["model"] == "flat" && score["metric"] == "tile_tau_b";
    if (flat_ranks) {
      EXPECT_TRUE(score["value"].is_null());
    }
  }
}

TEST(ReferenceTables, SayWhoseNumbersTheyAre) {
  EvaluationReport report = evaluated();
  for (const auto& [subject, value] : {std::pair{"net", 7.0}, {"Mean", 5.0}}) {
    measured::ReferenceRow row;
    row.source = "Somebody 2020";
    row.where = "Table 3";
    row.metric = "mape";
    row.unit = "%";
    row.hardware = "a chip";
    row.subject = subject;
    row.column = "theirs";
    row.value = value;
    row.second_hand = true;
    report.references.push_back(row);
  }
  const std::string text = views::evaluation_text(report);
  EXPECT_THAT(text, HasSubstr("Others' published numbers"));
  EXPECT_THAT(text, HasSubstr("Somebody 2020"));
  EXPECT_THAT(text, HasSubstr("Table 3"));
  EXPECT_THAT(text, HasSubstr("Mean: theirs 5"));
  EXPECT_THAT(text, HasSubstr("second hand"));
  EXPECT_THAT(text, Not(HasSubstr("net: theirs")));
  EXPECT_EQ(Json::parse(views::evaluation_json(report))["references"].size(), 2U);
}

TEST(MetricCells, HaveDigitsThatFitTheirSize) {
  EXPECT_EQ(views::metric_cell(Metric::kMape, {.value = 0.1234, .interval = {{0.1, 0.2}}}),
            "12.3 [10.0, 20.0]");
  EXPECT_EQ(views::metric_cell(Metric::kMape, {.value = 123.4, .interval = {}}), "12340");
  EXPECT_EQ(views::metric_cell(Metric::kBias, {.value = 0.987, .interval = {}}), "0.99");
  EXPECT_EQ(views::metric_cell(Metric::kTileTau, {.value = {}, .interval = {}}), "-");
}
}  // namespace
}  // namespace tilecast::sim
