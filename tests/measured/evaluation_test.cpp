#include "measured/evaluation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "measured/samples.h"
#include "measured/total_interval.h"
#include "tests/measured/set_on_disk.h"

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

TEST(Evaluation, OrdersProgramsBySpearmansRhoWhereAskedFor) {
  Made made;
  for (const auto& [measured, predicted] : {std::pair{1.0, 2.0}, {2.0, 1.0}, {3.0, 9.0}}) {
    made.row(made.work(std::to_string(measured), "program"), measured, {predicted});
  }
  ScoreSheet sheet{.columns = {"model"}};
  made.add_to(sheet);
  const Evaluation asked = evaluate(sheet, {.row_spearman = true});
  EXPECT_NEAR(value(asked.strata.front(), 0, Metric::kRowSpearman), 1 - 6.0 * 2 / (3 * 8), 1e-12);
  EXPECT_FALSE(evaluate(sheet).strata.front().columns[0][Metric::kRowSpearman].value);
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

constexpr double kTolerance = 1e-12;

// An interval whose bounds are `down` and `up` away in log time.
IntervalPart part(double time, double down, double up, double launches = 1) {
  return {.time = time,
          .low = time * std::exp(-down),
          .high = time * std::exp(up),
          .launches = launches};
}

analytical::Estimate corrected(double time, double down, double up, double correlation) {
  analytical::Estimate estimate;
  estimate.time = Seconds{time};
  estimate.correction = analytical::Correction{.low = Seconds{time * std::exp(-down)},
                                               .high = Seconds{time * std::exp(up)},
                                               .correlation = correlation};
  return estimate;
}

TEST(TotalInterval, OfOnePartIsItsOwnWhateverTheCorrelation) {
  for (const double rho : {0.0, 0.4, 1.0}) {
    const std::vector<IntervalPart> one{part(2, 0.1, 0.3)};
    const auto total = total_interval(one, rho);
    ASSERT_TRUE(total);
    EXPECT_NEAR(total->low, 2 * std::exp(-0.1), kTolerance);
    EXPECT_NEAR(total->high, 2 * std::exp(0.3), kTolerance);
  }
}

TEST(TotalInterval, OfCorrelatedPartsAddsUpInTheLogarithm) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.2), part(3, 0.2, 0.4)};
  const auto total = total_interval(parts, 1);
  EXPECT_NEAR(total->low, 4 * std::exp(-(0.25 * 0.1 + 0.75 * 0.2)), kTolerance);
  EXPECT_NEAR(total->high, 4 * std::exp(0.25 * 0.2 + 0.75 * 0.4), kTolerance);
}

TEST(TotalInterval, OfIndependentEqualPartsShrinksWithTheRootOfTheirNumber) {
  const std::vector<IntervalPart> parts(16, part(1, 0.2, 0.2));
  const auto total = total_interval(parts, 0);
  EXPECT_NEAR(total->low, 16 * std::exp(-0.2 / std::sqrt(16)), kTolerance);
  EXPECT_NEAR(total->high, 16 * std::exp(0.2 / std::sqrt(16)), kTolerance);
}

TEST(TotalInterval, BlendsTheVariancesByTheCorrelation) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.3), part(1, 0.1, 0.3)};
  const double rho = 0.3;
  const double apart = 2 * 0.15 * 0.15, together = 0.3 * 0.3;  // upper side: a_i d_i = 0.15
  const auto total = total_interval(parts, rho);
  EXPECT_NEAR(total->high, 2 * std::exp(std::sqrt((1 - rho) * apart + rho * together)), kTolerance);
}

TEST(TotalInterval, LaunchesOfAKernelErrAlike) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.3, 10)};
  const auto total = total_interval(parts, 0);
  EXPECT_NEAR(total->low, 10 * std::exp(-0.1), 10 * kTolerance);
  EXPECT_NEAR(total->high, 10 * std::exp(0.3), 10 * kTolerance);
}

TEST(TotalInterval, HoldsTheTotalAndGrowsWithTheCorrelation) {
  std::mt19937_64 random(3);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 200; ++i) {
    std::vector<IntervalPart> parts;
    double sum = 0, low = 0, high = 0;
    for (int k = 0; k < 1 + i % 7; ++k) {
      parts.push_back(part(1e-6 + unit(), unit(), unit(), 1 + std::floor(9 * unit())));
      sum += parts.back().time * parts.back().launches;
      low += parts.back().low * parts.back().launches;
      high += parts.back().high * parts.back().launches;
    }
    const auto apart = total_interval(parts, 0), some = total_interval(parts, 0.5),
               alike = total_interval(parts, 1);
    const double slack = 1e-9 * sum;
    EXPECT_LE(apart->high, some->high + slack);
    EXPECT_LE(some->high, alike->high + slack);
    EXPECT_LE(alike->low, apart->low + slack);
    EXPECT_GE(apart->high, sum - slack);
    EXPECT_LE(apart->low, sum + slack);
    // Jensen: the logarithm of a mean is at least the mean of logarithms.
    EXPECT_LE(alike->high, high + slack);
    EXPECT_LE(alike->low, low + slack);
  }
}

TEST(TotalInterval, OfEstimatesTakesTheMeanCorrelationAndPartsWithoutCorrectionAsCertain) {
  const analytical::Estimate first = corrected(1, 0.1, 0.2, 0.3),
                             second = corrected(1, 0.1, 0.2, 0.8);
  analytical::Estimate plain;
  plain.time = Seconds{2};
  const std::vector<LaunchedEstimate> kernels{{&first, 1}, {&second, 3}, {&plain, 2}};
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.2), part(1, 0.1, 0.2, 3), part(2, 0, 0, 2)};
  const auto total = total_interval(kernels), expected = total_interval(parts, (0.3 + 3 * 0.8) / 4);
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->low, expected->low, 10 * kTolerance);
  EXPECT_NEAR(total->high, expected->high, 10 * kTolerance);
}

TEST(TotalInterval, OfNothingCorrectedIsNone) {
  EXPECT_FALSE(total_interval(std::span<const IntervalPart>(), 0.5));
  EXPECT_FALSE(total_interval(std::span<const LaunchedEstimate>()));
  analytical::Estimate plain;
  plain.time = Seconds{2};
  EXPECT_FALSE(total_interval(std::vector<LaunchedEstimate>{{&plain, 1}}));
}

TEST(TotalInterval, OfKernelsThatTakeNoTimeAddsNothing) {
  const analytical::Estimate kernel = corrected(1, 0.1, 0.2, 0.5);
  analytical::Estimate none;
  const auto total = total_interval(std::vector<LaunchedEstimate>{{&kernel, 1}, {&none, 4}});
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->high, std::exp(0.2), kTolerance);
}

TEST(TotalInterval, OfABiasedEstimateReachesItsTime) {
  const analytical::Estimate kernel = corrected(1, -0.1, 0.2, 0.5);  // low is above the time
  const auto total = total_interval(std::vector<LaunchedEstimate>{{&kernel, 2}});
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->low, 2, kTolerance);
  EXPECT_NEAR(total->high, 2 * std::exp(0.2), kTolerance);
}

TEST(TotalInterval, OfATimeThatIsNoneIsNone) {
  const analytical::Estimate kernel = corrected(1, 0.1, 0.2, 0.5),
                             lost = corrected(INFINITY, 0, 0, 0);
  EXPECT_FALSE(total_interval(std::vector<LaunchedEstimate>{{&kernel, 1}, {&lost, 1}}));
}

// The analytical time, with an interval of -20 % and +50 %.
class Corrected final : public analytical::CostModel {
 public:
  explicit Corrected(double correlation) : correlation_(correlation) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    auto answers = analytical::AnalyticalModel().estimate(queries, device);
    for (std::optional<analytical::Estimate>& answer : answers) {
      answer->correction = analytical::Correction{
          .low = answer->time * 0.8, .high = answer->time * 1.5, .correlation = correlation_};
    }
    return answers;
  }

 private:
  double correlation_;
};

class PredictedIntervals : public testing::Test {
 protected:
  PredictedIntervals() {
    disk_.write_manifest("dtype: bf16\n");
    disk_.write("measurements.csv",
                "op,m,n,k,runtime_ns\nmatmul,512,512,512,9000\nmatmul,1024,512,512,15000\n");
    samples_ = make_samples(read_measurement_set(disk_.path()), device_, {.check_physics = false});
  }

  SetOnDisk disk_;
  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
  SampleSet samples_;
};

TEST_F(PredictedIntervals, OfAKernelAreItsOwnWithTheDispatchOfItsRow) {
  for (Sample& sample : samples_.samples) sample.holds_dispatch = false;
  samples_.samples[1].holds_dispatch = true;
  const std::vector<Prediction> answers = predict(samples_, Corrected(0.5), device_);
  ASSERT_TRUE(answers[0].interval && answers[1].interval);
  EXPECT_EQ(answers[0].interval->low, answers[0].on_device.value * 0.8);
  EXPECT_EQ(answers[0].interval->high, answers[0].on_device.value * 1.5);
  ASSERT_GT(answers[1].dispatch.value, 0);
  const double whole = answers[1].comparable().value;
  EXPECT_DOUBLE_EQ(answers[1].interval->low, whole * 0.8);
  EXPECT_DOUBLE_EQ(answers[1].interval->high, whole * 1.5);
}

TEST_F(PredictedIntervals, OfAProgramAreOfItsTotalWithEveryKernelOnce) {
  const auto add_program = [&](std::vector<WorkloadPart> parts) {
    Workload work = samples_.works[0];
    work.parts = std::move(parts);
    samples_.works.push_back(work);
    Sample sample = samples_.samples[0];
    sample.work = samples_.works.size() - 1;
    samples_.samples.push_back(sample);
  };
  const ir::Kernel first = samples_.works[0].parts[0].kernel;
  const ir::Kernel second = samples_.works[1].parts[0].kernel;
  add_program({{first, 3}, {second, 2}});
  add_program({{first, 1}, {second, 2}, {first, 2}});
  const double rho = 0.25;
  const std::vector<Prediction> answers = predict(samples_, Corrected(rho), device_);
  const double one = answers[0].on_device.value, two = answers[1].on_device.value;
  const std::vector<IntervalPart> parts{{one, 0.8 * one, 1.5 * one, 3},
                                        {two, 0.8 * two, 1.5 * two, 2}};
  const Interval expected = *total_interval(parts, rho);
  for (const std::size_t program : {2, 3}) {
    ASSERT_TRUE(answers[program].interval);
    EXPECT_NEAR(answers[program].on_device.value, 3 * one + 2 * two, 1e-12 * one);
    EXPECT_NEAR(answers[program].interval->low, expected.low, 1e-12 * one);
    EXPECT_NEAR(answers[program].interval->high, expected.high, 1e-12 * one);
  }
}

TEST_F(PredictedIntervals, OfModelsWithoutCorrectionAreNone) {
  for (const Prediction& answer : predict(samples_, analytical::AnalyticalModel(), device_)) {
    EXPECT_TRUE(answer.answered);
    EXPECT_FALSE(answer.interval);
  }
}
}  // namespace
}  // namespace tilecast::measured
