#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/simulator.h"
#include "sim/study/study.h"
#include "sim/views/parts.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"
#include "tests/support/small_run.h"

namespace tilecast::sim {
namespace {

using analytical::Bound;
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
  EXPECT_THAT(text, HasSubstr("bound by  hbm_read 80.0 % vector 20.0 %"));
  EXPECT_THAT(text, HasSubstr("note: something assumed  (x3)"));
  EXPECT_THAT(text, HasSubstr("flag: approximate  (1 kernel)"));
  EXPECT_LT(text.find("big "), text.find("small "));
}

TEST(TextTable, ShowsForeignTextInOneLineThatATerminalDoesNotObey) {
  views::TextTable table({"na\x1b[2Jme", {"b", 4}});
  table.add({"a\nb\x9b", "\xc3\xa9\xc3\xa9\xc3\xa9"});
  EXPECT_EQ(table.render(), "na\\x1b[2Jme  b\n-----------  ---\na b\\x9b      \xc3\xa9~\n");
}

TEST(TableView, SumsUpTheKernelsItDoesNotShow) {
  const std::string text = views::table(example(), {.top = 1});
  EXPECT_THAT(text, Not(HasSubstr("small ")));
  EXPECT_THAT(text, HasSubstr("1 more kernels, 1.000 us, 20.0 %"));
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
  EXPECT_THAT(views::csv(std::vector{run}), HasSubstr("peak_memory_bytes,memory_capacity_bytes"));
}

TEST(ComparisonView, PutsDevicesSideBySideWithTheRatioToTheFirst) {
  Simulation slow = example();
  slow.device = "slow";
  slow.time = Seconds{10e-6};
  const std::vector<Simulation> runs{example(), slow};
  const std::string text = views::comparison(runs, 2);
  EXPECT_THAT(text, HasSubstr("toy us"));
  EXPECT_THAT(text, HasSubstr("slow us"));
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
  EXPECT_THAT(text, HasSubstr("interval  4.000 to 7.000 us  (90 %, of the time above)\n"));
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
  EXPECT_THAT(text, HasSubstr("[4.000, 7.000]"));
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
  EXPECT_THAT(text, HasSubstr("up to 0.5: 0.0 %, 0 (physics alone): 80.0 %\n"));
  EXPECT_THAT(text, HasSubstr("[0.75, 2.00] 0  "));
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
  EXPECT_THAT(text, HasSubstr("90 % interval   1.200 to 3.200 us"));
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
  EXPECT_EQ(views::microseconds(1.5e-6), "1.500");
  EXPECT_EQ(views::microseconds(0.9109), "910900.0");
}

TEST(TextTable, CutsLongCellsAndAlignsColumns) {
  views::TextTable table({{"name", 6}, ">n"});
  table.add({"abcdefgh", "12"});
  EXPECT_EQ(table.render(), "name     n\n------  --\nabcde~  12\n");
}

}  // namespace
}  // namespace tilecast::sim
