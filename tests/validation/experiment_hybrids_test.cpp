#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "sim/training/rows.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/errors.h"
#include "validation/experiment_run.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

const analytical::AnalyticalModel kPrior;

using measured::Metric;
using sim::training::Apart;
using sim::training::LoadedSets;
using sim::training::NamedSplit;
using sim::training::RowPlace;
using testing::HasSubstr;

constexpr const char* kHead =
    "format: tilecast.experiment/1\nname: e\nclaim: c\ndevice: tpu_v3\n"
    "data: [{name: ops, importer: set, from: set}]\n";
constexpr const char* kTail =
    "hybrids: [{name: hybrid}]\n"
    "columns: [analytical, hybrid]\nmetrics: [mape, coverage_90]\n";

Experiment with(const std::string& split, const std::string& more = "") {
  return parse_experiment(kHead + ("split: " + split + "\n") + kTail + more, "e.yaml");
}

std::string message_of(const std::string& text) {
  return support::error_of([&] { return parse_experiment(text, "e.yaml"); });
}

// Sums of arrays on TPU v3 and, if requested, the same on other devices; measured times are
// `factor` times the analytical ones.
LoadedSets loaded(int kernels, int tiles, double factor,
                  const std::vector<std::string>& devices = {"tpu_v3"}) {
  LoadedSets sets;
  for (const std::string& name : devices) {
    sets.devices.push_back(hwdesc::load_device(name));
    sets.sets.push_back(hybrid::synthetic_set(sets.devices.back(), kernels, tiles, 0.02));
    sets.sets.back().name = "ops " + name;
    for (measured::Sample& sample : sets.sets.back().samples) {
      sample.measured = sample.measured * factor;
    }
    sets.names.push_back("ops");
  }
  return sets;
}

double mape(const LoadedSets& sets, const std::vector<std::size_t>& rows,
            const std::vector<std::optional<double>>& predicted_s) {
  const std::vector<RowPlace> all = sim::training::rows_of(sets.sets);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowPlace& row = all[rows[i]];
    const double measured_s = sets.sets[row.set].samples[row.sample].measured.value;
    sum += std::abs(predicted_s[i].value() / measured_s - 1) / static_cast<double>(rows.size());
  }
  return sum;
}

std::vector<std::optional<double>> analytical(const Experiment& e, const LoadedSets& sets,
                                              const std::vector<std::size_t>& rows) {
  const measured::ScoreSheet sheet = base_sheet(e, e.columns, sets, 1);
  std::vector<std::optional<double>> predicted_s;
  for (const std::size_t row : rows) predicted_s.push_back(sheet.rows[row].predicted_s[0]);
  return predicted_s;
}

// An experiment that holds out a quarter of the works, and what its hybrid answers.
struct Answered {
  Experiment e = with("{kind: held_out_works, share: 25 %}");
  measured::Split split;
  HybridAnswer answer;
};

Answered answered(const LoadedSets& sets, std::optional<measured::Split> split = {}) {
  Answered asked;
  asked.split = split ? *split : deal_rows(asked.e, sets.sets, sets.names)[0].split;
  asked.answer = answer_hybrid(kPrior, asked.e.hybrids[0], sets, asked.split, 0, 1);
  return asked;
}

TEST(HybridColumns, CorrectWhatPhysicsIsWrongAboutInTheSameWay) {
  const LoadedSets sets = loaded(15, 6, 1.5);
  const auto [e, split, answer] = answered(sets);
  ASSERT_EQ(answer.predicted_s.size(), split.score.size());
  const double before = mape(sets, split.score, analytical(e, sets, split.score));
  EXPECT_LT(mape(sets, split.score, answer.predicted_s), 0.5 * before);
  const hybrid::TrialReport& report = answer.round.report;
  EXPECT_LE(report.rows, split.fit.size());  // rows that some members have not seen
  EXPECT_GT(report.believed, split.fit.size() / 2);
  EXPECT_LT(report.after, report.before / 2);
  EXPECT_EQ(answer.round.rows, split.fit.size());
}

TEST(HybridColumns, EveryAnswerHasAnIntervalAboutIt) {
  const LoadedSets sets = loaded(15, 6, 1.5);
  const auto [e, split, answer] = answered(sets);
  ASSERT_EQ(answer.interval_s.size(), split.score.size());
  for (std::size_t i = 0; i < answer.interval_s.size(); ++i) {
    EXPECT_GT(answer.interval_s[i].value().low, 0);
    EXPECT_LT(answer.interval_s[i].value().low, answer.interval_s[i].value().high);
  }
}

TEST(HybridColumns, OfTooFewRowsArePhysicsAloneAndSaySo) {
  const LoadedSets sets = loaded(15, 6, 1.5);
  const auto [e, split, answer] =
      answered(sets, measured::Split{.fit = {0, 6, 12}, .score = {18, 24, 31}});
  EXPECT_EQ(answer.predicted_s, analytical(e, sets, split.score));
  for (const auto& interval : answer.interval_s) EXPECT_FALSE(interval.has_value());
  EXPECT_THAT(answer.round.notes, testing::ElementsAre(HasSubstr("physics alone")));
}

TEST(HybridColumns, AnswerProgramsAsSumsOfTheirKernels) {
  LoadedSets sets = loaded(12, 4, 1.5);
  measured::Workload& program = sets.sets[0].works[0];
  program.parts.push_back(program.parts.front());
  measured::Split split{.fit = {}, .score = {0, 1}};
  for (std::size_t row = 8; row < 48; ++row) split.fit.push_back(row);
  const HybridAnswer two = answered(sets, split).answer;
  program.parts.pop_back();
  const HybridAnswer one = answered(sets, split).answer;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(two.predicted_s[i].value() / one.predicted_s[i].value(), 2, 1e-9);
    EXPECT_TRUE(two.interval_s[i].has_value());
  }
}

TEST(HybridColumns, AreTheSameEveryTimeWhateverTheJobs) {
  const LoadedSets sets = loaded(12, 4, 1.3);
  const Experiment e = with("{kind: held_out_works, share: 25 %}");
  const measured::Split split = deal_rows(e, sets.sets, sets.names)[0].split;
  const HybridAnswer once = answer_hybrid(kPrior, e.hybrids[0], sets, split, 3, 1);
  const HybridAnswer again = answer_hybrid(kPrior, e.hybrids[0], sets, split, 3, 2);
  EXPECT_EQ(once.predicted_s, again.predicted_s);
}

TEST(HybridColumns, ArePhysicsWhereMeasurementsDoNotSayOtherwise) {
  const LoadedSets sets = loaded(15, 6, 1);
  const auto [e, split, answer] = answered(sets);
  EXPECT_EQ(answer.predicted_s, analytical(e, sets, split.score));
  EXPECT_EQ(answer.round.report.believed, 0U);
}

TEST(HybridExperiments, AHybridNeedsNoLearner) {
  const Experiment e = with("{kind: k_fold}");
  EXPECT_TRUE(e.learners.empty());
  ASSERT_EQ(e.hybrids.size(), 1U);
  EXPECT_TRUE(e.learns());
}

TEST(HybridExperiments, AreReadStrictly) {
  const std::string head =
      kHead + std::string(
                  "learners: [{name: trees, model: xgboost, features: [static]}]\n"
                  "split: {kind: k_fold}\nmetrics: [mape]\n");
  EXPECT_THAT(message_of(head + "hybrids: [{name: hybrid}]\ncolumns: [analytical, trees]\n"),
              HasSubstr("the hybrid 'hybrid' is missing"));
  EXPECT_THAT(message_of(head + "hybrids: [{name: a, try: [trees]}]\ncolumns: [a, trees]\n"),
              HasSubstr("try: unknown key; expected name, features, trial_by"));
  EXPECT_THAT(message_of(head + "hybrids: [{name: hybrid}]\ncolumns: [hybrid]\n"),
              HasSubstr("the learner 'trees' is missing"));
  EXPECT_THAT(message_of(head + "hybrids: [{name: trees}]\ncolumns: [trees]\n"),
              HasSubstr("the name 'trees' is taken"));
  EXPECT_THAT(message_of(head + "hybrids: [{name: a}, {name: a}]\ncolumns: [a, trees]\n"),
              HasSubstr("the name 'a' is taken"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: none}\n" + kTail),
              HasSubstr("kind none, but there are learners or hybrids"));
}

TEST(LeaveOneOut, DevicesAreScoredByTheOthersWhichMayHaveEqualWork) {
  const LoadedSets sets = loaded(4, 3, 1, {"tpu_v2", "tpu_v3"});
  const std::size_t rows = sets.sets[0].samples.size();
  const std::vector<NamedSplit> splits =
      deal_rows(with("{kind: leave_one_device_out}"), sets.sets, sets.names);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].name, "without tpu_v2");
  EXPECT_EQ(splits[1].name, "without tpu_v3");
  EXPECT_EQ(splits[0].split.score.size(), rows);
  EXPECT_EQ(splits[0].split.fit, splits[1].split.score);
  EXPECT_EQ(splits[1].split.fit, splits[0].split.score);
  EXPECT_NO_THROW(require_disjoint(splits[0].split, sets.sets, Apart::kWorksOnDevice, "e"));
  EXPECT_THROW(require_disjoint(splits[0].split, sets.sets, Apart::kWorks, "e"), Error);
}

TEST(LeaveOneOut, SomeRowsOfTheDeviceItselfAreFittedAndTheirWorkIsNotScoredOnIt) {
  const LoadedSets sets = loaded(8, 3, 1, {"tpu_v2", "tpu_v3"});
  const std::size_t rows = sets.sets[0].samples.size();
  const std::vector<NamedSplit> splits =
      deal_rows(with("{kind: leave_one_device_out, rows: 2, seeds: 3}"), sets.sets, sets.names);
  ASSERT_EQ(splits.size(), 2U * 3U);
  EXPECT_EQ(splits[4].name, "without tpu_v3, seed 2");
  EXPECT_NE(splits[0].split.fit, splits[1].split.fit);
  for (const NamedSplit& each : splits) {
    EXPECT_EQ(each.split.fit.size(), rows + 2);
    EXPECT_GE(each.split.score.size(), rows - 2 * 3);
    EXPECT_LE(each.split.score.size(), rows - 3);
    EXPECT_NO_THROW(require_disjoint(each.split, sets.sets, Apart::kWorksOnDevice, each.name));
  }
}

TEST(LeaveOneOut, ADeviceInSeveralSetsIsLeftOutOfAll) {
  LoadedSets sets = loaded(3, 2, 1, {"tpu_v2", "tpu_v3", "tpu_v3"});
  for (measured::Workload& work : sets.sets[2].works) work.fingerprint += " again";
  const std::vector<NamedSplit> splits =
      deal_rows(with("{kind: leave_one_device_out}"), sets.sets, sets.names);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[1].split.score.size(), 2U * sets.sets[1].samples.size());
}

TEST(LeaveOneOut, KernelsAreScoredOnceEachByAllOthers) {
  const LoadedSets sets = loaded(5, 3, 1);
  const std::vector<NamedSplit> splits =
      deal_rows(with("{kind: leave_one_kernel_out}"), sets.sets, sets.names);
  ASSERT_EQ(splits.size(), 5U);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    EXPECT_EQ(splits[i].name, fmt::format("without sum {}", i));
    EXPECT_EQ(splits[i].split.score, (std::vector<std::size_t>{3 * i, 3 * i + 1, 3 * i + 2}));
    EXPECT_EQ(splits[i].split.fit.size(), 4U * 3U);
  }
}

// Two classes; errors by column (analytical, hybrid).
std::vector<ResultStratum> two_classes() {
  std::vector<ResultStratum> strata(2);
  const double errors[2][2] = {{0.10, 0.108}, {0.20, 0.05}};
  for (std::size_t i = 0; i < 2; ++i) {
    strata[i].breakdown = measured::Breakdown::kOpClass;
    strata[i].name = i == 0 ? "gelu" : "matmul";
    strata[i].cells.assign(2, std::vector<Cell>(measured::kNamedMetricCount));
    for (std::size_t column = 0; column < 2; ++column) {
      strata[i].cells[column][static_cast<std::size_t>(Metric::kMape)].value = errors[i][column];
    }
  }
  return strata;
}

TEST(Bars, MayAllowAMarginAboveAnotherColumn) {
  const Experiment e = with(
      "{kind: k_fold}",
      "bars:\n"
      "  - {metric: mape, column: hybrid, stratum: every class, not_above: analytical, by: 1 %}\n"
      "  - {metric: mape, column: hybrid, stratum: class gelu, not_above: analytical, by: 0.5 "
      "%}\n");
  const std::vector<BarResult> results = check_bars(e, two_classes());
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].met);
  EXPECT_DOUBLE_EQ(results[0].limit, 0.10 + 0.01);
  EXPECT_TRUE(results[1].met);
  EXPECT_FALSE(results[2].met);
}

TEST(Bars, MayBeAboutTheMeanOverStrata) {
  const Experiment e =
      with("{kind: k_fold}",
           "bars:\n"
           "  - {metric: mape, column: hybrid, stratum: mean over class, at_most: 8 %}\n"
           "  - {metric: mape, column: hybrid, stratum: mean over class, below: analytical}\n"
           "  - {metric: mape, column: hybrid, stratum: mean over class, at_most: 7 %}\n"
           "  - {metric: coverage_90, column: hybrid, stratum: mean over class, at_least: 87 %}\n");
  const std::vector<BarResult> results = check_bars(e, two_classes());
  ASSERT_EQ(results.size(), 4U);
  EXPECT_DOUBLE_EQ(results[0].value.value(), (0.108 + 0.05) / 2);
  EXPECT_TRUE(results[0].met);
  EXPECT_DOUBLE_EQ(results[1].limit, (0.10 + 0.20) / 2);
  EXPECT_TRUE(results[1].met);
  EXPECT_FALSE(results[2].met);
  EXPECT_FALSE(results[3].met);  // no column has an interval
  EXPECT_FALSE(results[3].value.has_value());
}

TEST(Bars, WithAMarginAreReadStrictly) {
  const std::string text = kHead + std::string("split: {kind: k_fold}\n") + kTail;
  const auto message = [&](const std::string& bar) {
    return message_of(text + "bars: [{" + bar + "}]\n");
  };
  EXPECT_EQ(message("metric: mape, column: hybrid, not_above: analytical, by: 1 %"), "no error");
  EXPECT_THAT(message("metric: mape, column: hybrid, not_above: analytical"),
              HasSubstr("by is missing"));
  EXPECT_THAT(message("metric: mape, column: hybrid, at_most: 5 %, by: 1 %"),
              HasSubstr("is the margin of not_above"));
  EXPECT_THAT(message("metric: row_tau_b, column: hybrid, not_above: analytical, by: 1 %"),
              HasSubstr("not_above: is about errors; got row_tau_b"));
  EXPECT_THAT(message("metric: mape, column: hybrid, not_above: roofline, by: 1 %"),
              HasSubstr("expected one of the columns: analytical, hybrid"));
  EXPECT_THAT(message("metric: mape, column: hybrid, at_most: 5 %, not_above: analytical, by: 1 %"),
              HasSubstr("expected one of at_most, at_least, below, not_above"));
}

}  // namespace
}  // namespace tilecast::validation
