#include "measured/evaluation.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;

// One set of hand-made samples; predictions in microseconds, 0 for "no prediction".
class Made {
 public:
  explicit Made(std::string name = "made") {
    samples_.name = std::move(name);
    samples_.device = "toy";
  }

  std::size_t work(const std::string& name, const std::string& op_class) {
    samples_.works.push_back(
        {.name = name, .op_class = op_class, .family = "", .fingerprint = name, .parts = {}});
    return samples_.works.size() - 1;
  }

  // A row on line 2, 3, ...; `tile` 0: none.
  void row(std::size_t work, double measured_us, const std::vector<double>& predicted_us,
           int tile = 0, const std::string& split = "") {
    Sample sample;
    sample.work = work;
    sample.measured = Seconds{measured_us * 1e-6};
    sample.split = split;
    sample.line = static_cast<int>(samples_.samples.size()) + 2;
    if (tile != 0) sample.tile.output = {tile};
    samples_.samples.push_back(sample);
    predictions_.resize(predicted_us.size());
    for (std::size_t i = 0; i < predicted_us.size(); ++i) {
      Prediction prediction;
      prediction.answered = predicted_us[i] > 0;
      prediction.on_device = Seconds{predicted_us[i] * 1e-6};
      predictions_[i].push_back(prediction);
    }
  }

  // The interval of the last row, in one column.
  void interval(std::size_t column, double low_us, double high_us) {
    predictions_[column].back().interval = Interval{.low = low_us * 1e-6, .high = high_us * 1e-6};
  }

  void add_to(ScoreSheet& sheet) const {
    std::vector<Answers> answers;
    for (const auto& column : predictions_) answers.push_back({samples_, column});
    add_answers(sheet, answers);
  }

  // The evaluation of these samples alone, and its first stratum: all rows.
  [[nodiscard]] Evaluation evaluated(std::vector<std::string> columns,
                                     const EvaluationOptions& options = {}) const {
    ScoreSheet sheet{.columns = std::move(columns)};
    add_to(sheet);
    return evaluate(sheet, options);
  }
  [[nodiscard]] Stratum all(std::vector<std::string> columns) const {
    return evaluated(std::move(columns)).strata.front();
  }

  SampleSet& samples() { return samples_; }
  std::vector<std::vector<Prediction>>& predictions() { return predictions_; }

 private:
  SampleSet samples_;
  std::vector<std::vector<Prediction>> predictions_;
};

const Stratum& stratum(const Evaluation& evaluation, Breakdown breakdown, const std::string& name) {
  for (const Stratum& candidate : evaluation.strata) {
    if (candidate.breakdown == breakdown && candidate.name == name) return candidate;
  }
  static const Stratum none;
  ADD_FAILURE() << "no stratum " << name;
  return none;
}

std::vector<std::string> names(const Evaluation& evaluation, Breakdown breakdown) {
  std::vector<std::string> result;
  for (const Stratum& candidate : evaluation.strata) {
    if (candidate.breakdown == breakdown) result.push_back(candidate.name);
  }
  return result;
}

double value(const Stratum& stratum, std::size_t column, Metric metric) {
  const auto score = stratum.columns.at(column)[metric].value;
  return score ? *score : std::nan("");
}

TEST(Evaluation, ScoresAllModelsOnTheRowsThatAllAnswered) {
  Made made;
  made.row(made.work("a", "matmul"), 100, {110, 100});
  made.row(made.work("b", "matmul"), 100, {130, 0});
  made.row(made.work("c", "softmax"), 100, {150, 120});
  const Evaluation result = made.evaluated({"first", "second"});
  const Stratum& all = stratum(result, Breakdown::kAll, "all");
  EXPECT_EQ(all.rows_measured, 3U);
  EXPECT_EQ(all.rows, 2U);
  EXPECT_EQ(all.columns[0].answered, 3U);
  EXPECT_EQ(all.columns[1].answered, 2U);
  EXPECT_NEAR(value(all, 0, Metric::kMape), (0.1 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(value(all, 1, Metric::kMape), (0 + 0.2) / 2, 1e-12);
  EXPECT_NEAR(value(stratum(result, Breakdown::kOpClass, "softmax"), 0, Metric::kMape), 0.5, 1e-12);
  EXPECT_THAT(names(result, Breakdown::kOpClass), ElementsAre("matmul", "softmax"));
}

TEST(Evaluation, ComparesWithDispatchWhereTheMeasurementHoldsIt) {
  Made made;
  made.row(made.work("a", "gelu"), 200, {90});
  made.predictions()[0][0].dispatch = Seconds{100e-6};
  EXPECT_NEAR(value(made.all({"model"}), 0, Metric::kMape), 1 - 190.0 / 200, 1e-12);
}

TEST(Evaluation, TakesNoPredictionForATimeThatIsNone) {
  Made made;
  made.row(made.work("a", "x"), 1, {1, 1, 1});
  made.row(made.work("b", "x"), 1, {1, 1, 1});
  made.predictions()[0][0].on_device = Seconds{std::nan("")};
  made.predictions()[1][0].on_device = Seconds{INFINITY};
  made.predictions()[2][0].on_device = Seconds{0};
  const Stratum all = made.all({"nan", "infinite", "zero"});
  EXPECT_EQ(all.rows, 1U);
  for (const Scores& column : all.columns) EXPECT_EQ(column.answered, 1U);
}

TEST(Evaluation, PutsAllTilesOfAKernelIntoTheSizeOfItsFastest) {
  Made made;
  const std::size_t small = made.work("small", "f");
  made.row(small, 4.9, {5}, 1);
  made.row(small, 20, {6}, 2);
  made.row(made.work("large", "f"), 5.1, {6});
  const Evaluation result = made.evaluated({"model"}, {.by = {Breakdown::kSize}});
  EXPECT_EQ(stratum(result, Breakdown::kSize, "below 5 us").rows, 2U);
  EXPECT_EQ(stratum(result, Breakdown::kSize, "at least 5 us").rows, 1U);
}

TEST(Evaluation, RanksTilesWithinKernelsOfAtLeastTwo) {
  Made made;
  const std::size_t one = made.work("one", "f"), two = made.work("two", "f");
  // Chosen by the model: 30 while 20 is best, 10 while 10 is best.
  made.row(one, 30, {1}, 1);
  made.row(one, 20, {2}, 2);
  made.row(two, 10, {1}, 1);
  made.row(two, 40, {2}, 2);
  made.row(made.work("single tile", "f"), 10, {1}, 1);
  made.row(made.work("no tile", "f"), 10, {1});
  const Stratum all = made.all({"model"});
  EXPECT_EQ(all.works, 4U);
  EXPECT_EQ(all.kernels_with_tiles, 2U);
  EXPECT_EQ(all.columns[0].kernels_ranked, 2U);
  EXPECT_NEAR(value(all, 0, Metric::kTileTau), (-1.0 + 1.0) / 2, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kTileSizeApe), 10.0 / 30, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kTop1Slowdown), (0.5 + 0) / 2, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kTop5Slowdown), 0, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kBestInTop1), (20.0 / 30 + 1) / 2, 1e-12);
}

TEST(Evaluation, AModelThatSaysTheSameForEveryTileHasNoRankingRatherThanABadOne) {
  Made made;
  const std::size_t kernel = made.work("k", "f");
  made.row(kernel, 30, {7, 1}, 1);
  made.row(kernel, 20, {7, 2}, 2);
  const Stratum all = made.all({"flat", "model"});
  EXPECT_EQ(all.kernels_with_tiles, 1U);
  EXPECT_EQ(all.columns[0].kernels_ranked, 0U);
  EXPECT_FALSE(all.columns[0][Metric::kTileTau].value ||
               all.columns[0][Metric::kTileSizeApe].value);
  EXPECT_TRUE(all.columns[0][Metric::kMape].value);
  EXPECT_TRUE(all.columns[1][Metric::kTileSizeApe].value);
}

TEST(Evaluation, SaysWhenTheFastestTileIsNotAmongTheScored) {
  Made made;
  const std::size_t lost = made.work("lost", "f"), kept = made.work("kept", "f");
  made.row(lost, 10, {0}, 1);
  made.row(lost, 20, {2}, 2);
  made.row(lost, 30, {3}, 3);
  made.row(kept, 10, {1}, 1);
  made.row(kept, 20, {2}, 2);
  made.row(kept, 30, {0}, 3);
  const Stratum all = made.all({"model"});
  EXPECT_EQ(all.kernels_with_tiles, 2U);
  EXPECT_EQ(all.kernels_without_fastest, 1U);
  EXPECT_NEAR(value(all, 0, Metric::kTop1Slowdown), 0, 1e-12);
}

TEST(Evaluation, RepeatsOfOneTileAreNoRanking) {
  Made made;
  const std::size_t kernel = made.work("k", "f");
  made.row(kernel, 30, {7}, 3);
  made.row(kernel, 31, {7}, 3);
  EXPECT_EQ(made.all({"model"}).kernels_with_tiles, 0U);
}

TEST(Evaluation, OrdersProgramsByRowTau) {
  Made made;
  for (const auto& [measured, predicted] : {std::pair{1.0, 2.0}, {2.0, 1.0}, {3.0, 9.0}}) {
    made.row(made.work(std::to_string(measured), "program"), measured, {predicted});
  }
  EXPECT_NEAR(value(made.all({"model"}), 0, Metric::kRowTau), (2.0 - 1) / 3, 1e-12);
}

TEST(Evaluation, ShowsSetsWhenThereAreSeveralAndSplitsWhenAsked) {
  Made first("one"), second("two");
  first.row(first.work("same name", "x"), 1, {1}, 0, "test");
  second.row(second.work("same name", "x"), 1, {2});
  ScoreSheet sheet{.columns = {"model"}};
  first.add_to(sheet);
  second.add_to(sheet);
  const Evaluation result = evaluate(sheet, {.by = {Breakdown::kSplit, Breakdown::kKernel}});
  EXPECT_THAT(names(result, Breakdown::kSet), ElementsAre("one", "two"));
  EXPECT_THAT(names(result, Breakdown::kSplit), ElementsAre("no split", "test"));
  EXPECT_THAT(names(result, Breakdown::kKernel), ElementsAre("one: same name", "two: same name"));
  EXPECT_EQ(result.strata.front().works, 2U);
}

TEST(Evaluation, JoinsColumnsOfDifferentDevicesByLine) {
  Made plain, calibrated;
  plain.row(plain.work("a", "x"), 10, {11});
  plain.row(plain.work("b", "x"), 10, {12});
  calibrated.row(calibrated.work("a", "x"), 10, {10});
  calibrated.samples().faults.emplace_back();
  calibrated.samples().faults[0].line = 3;
  ScoreSheet sheet{.columns = {"plain", "calibrated"}};
  const std::vector<Answers> answers{{plain.samples(), plain.predictions()[0]},
                                     {calibrated.samples(), calibrated.predictions()[0]}};
  add_answers(sheet, answers);
  const Stratum all = evaluate(sheet).strata.front();
  EXPECT_EQ(all.rows_measured, 2U);
  EXPECT_EQ(all.rows, 1U);
  EXPECT_EQ(all.works, 1U);
  EXPECT_NEAR(value(all, 0, Metric::kMape), 0.1, 1e-12);
  EXPECT_NEAR(value(all, 1, Metric::kMape), 0, 1e-12);
  ASSERT_EQ(sheet.sets[0].faults.size(), 1U);
  EXPECT_EQ(sheet.sets[0].faults[0].line, 3);
}

Made many() {
  Made made;
  for (int k = 0; k < 12; ++k) {
    const std::size_t work = made.work("k" + std::to_string(k), k % 2 == 0 ? "even" : "odd");
    for (int tile = 1; tile <= 9; ++tile) {
      const double measured = 3 + (k * 7 + tile * tile * 5) % 23;
      made.row(work, measured, {measured * (1 + 0.02 * ((tile + k) % 5)), 10.0 + tile}, tile);
      made.interval(0, measured * (0.98 + 0.01 * (k % 3)), measured * (0.99 + 0.01 * (tile % 5)));
    }
  }
  return made;
}

TEST(Evaluation, DoesNotDependOnTheNumberOfThreads) {
  ScoreSheet sheet{.columns = {"one", "two"}};
  many().add_to(sheet);
  const Evaluation once = evaluate(sheet, {.jobs = 1}), again = evaluate(sheet, {.jobs = 4});
  ASSERT_EQ(once.strata.size(), again.strata.size());
  for (std::size_t s = 0; s < once.strata.size(); ++s) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t m = 0; m < kMetricCount; ++m) {
        const Score& a = once.strata[s].columns[c].values[m];
        const Score& b = again.strata[s].columns[c].values[m];
        EXPECT_EQ(a.value, b.value);
        ASSERT_EQ(a.interval.has_value(), b.interval.has_value());
        if (!a.interval) continue;
        EXPECT_EQ(a.interval->low, b.interval->low);
        EXPECT_EQ(a.interval->high, b.interval->high);
      }
    }
  }
}

TEST(Evaluation, IntervalsHoldTheirValueAndNeedThreeToResample) {
  const Stratum all = many().all({"one", "two"});
  for (std::size_t m = 0; m < kMetricCount; ++m) {
    if (static_cast<Metric>(m) == Metric::kAnnounced) continue;  // no error is that large
    const Score& score = all.columns[0].values[m];
    ASSERT_TRUE(score.value && score.interval) << name(static_cast<Metric>(m));
    EXPECT_LE(score.interval->low, *score.value + 1e-12);
    EXPECT_GE(score.interval->high, *score.value - 1e-12);
  }
  Made two;
  two.row(two.work("a", "x"), 1, {1});
  two.row(two.work("b", "x"), 1, {2});
  EXPECT_FALSE(two.all({"model"}).columns[0][Metric::kMape].interval);
}

TEST(Evaluation, CountsTheRowsInsideTheirIntervals) {
  Made made;
  made.row(made.work("a", "x"), 10, {9, 9});
  made.interval(0, 8, 12);
  made.row(made.work("b", "x"), 10, {9, 9});
  made.interval(0, 4, 9);
  made.row(made.work("c", "x"), 10, {9, 9});
  made.interval(0, 10, 15);
  made.row(made.work("d", "y"), 10, {9, 9});
  const Evaluation result = made.evaluated({"model", "without"});
  const Stratum& all = stratum(result, Breakdown::kAll, "all");
  EXPECT_NEAR(value(all, 0, Metric::kCoverage), 2.0 / 3, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kIntervalWidth), (12.0 / 8 + 9.0 / 4 + 15.0 / 10) / 3 - 1,
              1e-12);
  const std::optional<Interval>& interval = all.columns[0][Metric::kCoverage].interval;
  ASSERT_TRUE(interval);
  EXPECT_LT(interval->low, 2.0 / 3);
  EXPECT_GT(interval->high, 2.0 / 3);
  // Without intervals: undefined, not 0.
  EXPECT_FALSE(all.columns[1][Metric::kCoverage].value);
  EXPECT_FALSE(all.columns[1][Metric::kIntervalWidth].value);
  EXPECT_FALSE(stratum(result, Breakdown::kOpClass, "y").columns[0][Metric::kCoverage].value);
}

TEST(Evaluation, ScoresTheRowsThatTheModelIsSurestOf) {
  Made made;
  const double predicted[] = {11, 12, 13, 14};  // measured 10 each
  const double high[] = {14, 11, 13, 12};       // intervals from 10
  for (int i = 0; i < 4; ++i) {
    made.row(made.work(std::string(1, static_cast<char>('a' + i)), "x"), 10, {predicted[i]});
    made.interval(0, 10, high[i]);
  }
  const Stratum all = made.all({"model"});
  EXPECT_NEAR(value(all, 0, Metric::kMapeSurest25), 0.2, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kMapeSurest50), (0.2 + 0.4) / 2, 1e-12);
  EXPECT_NEAR(value(all, 0, Metric::kMapeSurest75), (0.2 + 0.4 + 0.3) / 3, 1e-12);
  EXPECT_TRUE(all.columns[0][Metric::kMapeSurest50].interval);
}

// Measured 10 each: off by factors of 3 and 1/3, with intervals that include the measurement or
// not.
TEST(Evaluation, LargeErrorsAreAnnouncedByIntervalsThatReachThem) {
  Made made;
  const double predicted[] = {30, 30, 3, 3, 3, 12};
  const Interval intervals[] = {{14, 40}, {16, 40}, {2, 5}, {2, 7}, {2, 40}, {11, 13}};
  for (int i = 0; i < 6; ++i) {
    made.row(made.work(std::string(1, static_cast<char>('a' + i)), "x"), 10, {predicted[i]});
    made.interval(0, intervals[i].low, intervals[i].high);
  }
  EXPECT_NEAR(value(made.all({"model"}), 0, Metric::kAnnounced), 3.0 / 5, 1e-12);
  EXPECT_EQ(announced_share(std::vector<Pair>{{12, 10}}, std::vector<Interval>{{11, 13}}),
            std::nullopt);
}

TEST(Evaluation, ScoresIntervalsOnTheRowsThatAllAnswered) {
  Made made;
  made.row(made.work("a", "x"), 10, {9, 9});
  made.interval(0, 9, 11);
  made.row(made.work("b", "x"), 10, {9, 0});
  made.interval(0, 1, 2);
  ScoreSheet sheet{.columns = {"model", "other"}};
  made.add_to(sheet);
  EXPECT_EQ(value(evaluate(sheet).strata.front(), 0, Metric::kCoverage), 1);
}

TEST(Evaluation, TakesNoIntervalThatIsNone) {
  Made made;
  made.row(made.work("a", "x"), 10, {9});
  made.interval(0, 8, INFINITY);
  made.row(made.work("b", "x"), 10, {9});
  made.interval(0, 0, 12);
  made.row(made.work("c", "x"), 10, {9});
  made.interval(0, 12, 8);
  made.row(made.work("d", "x"), 10, {0});
  made.interval(0, 8, 12);
  ScoreSheet sheet{.columns = {"model"}};
  made.add_to(sheet);
  for (const ScoredRow& row : sheet.rows) EXPECT_TRUE(row.interval_s.empty());
  EXPECT_EQ(evaluate(sheet).strata.front().rows, 3U);
}

TEST(Evaluation, OfNoRowsIsEmpty) {
  const ScoreSheet sheet{.columns = {"model"}};
  EXPECT_TRUE(evaluate(sheet).strata.empty());
}

}  // namespace
}  // namespace tilecast::measured
