#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/evaluation.h"
#include "sim/views/evaluation.h"

namespace tilecast::sim {
namespace {

using measured::Metric;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

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

TEST(ModelCard, NamesModelsDataLicenceHashSplitAndLimits) {
  const std::string card = views::model_card(evaluated());
  EXPECT_THAT(card, HasSubstr("# Model card: flat, toy_fitted"));
  EXPECT_THAT(card, HasSubstr("| a\\|b | toy | 7 | 1 unit_slip | test | host | somebody | MIT | "
                              "`0123456789abcdef` |"));
  EXPECT_THAT(card, HasSubstr("| all | 7 | 3 | toy_fitted | 10.0 [10.0, 10.0] |"));
  EXPECT_THAT(card, HasSubstr("| cannot rank |"));
  EXPECT_THAT(card, HasSubstr("What these numbers are not"));
  EXPECT_THAT(card, HasSubstr("may have been fitted to some of these rows"));
  EXPECT_THAT(card, HasSubstr("mixes the kernel's with that of an assumed dispatch"));
  EXPECT_THAT(card, Not(HasSubstr("Others' numbers")));
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
  for (const std::string& text : {views::evaluation_text(report), views::model_card(report)}) {
    EXPECT_THAT(text, HasSubstr("Others' published numbers"));
    EXPECT_THAT(text, HasSubstr("Somebody 2020"));
    EXPECT_THAT(text, HasSubstr("Table 3"));
    EXPECT_THAT(text, HasSubstr("Mean: theirs 5"));
    EXPECT_THAT(text, HasSubstr("second hand"));
    EXPECT_THAT(text, Not(HasSubstr("net: theirs")));
  }
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
