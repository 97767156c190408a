#include "measured/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace tilecast::measured {
namespace {

double tau_by_all_pairs(const std::vector<Pair>& pairs, bool& defined) {
  double difference = 0, untied_predicted = 0, untied_measured = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int p =
          (pairs[i].predicted > pairs[j].predicted) - (pairs[i].predicted < pairs[j].predicted);
      const int m =
          (pairs[i].measured > pairs[j].measured) - (pairs[i].measured < pairs[j].measured);
      difference += p * m;
      untied_predicted += p != 0;
      untied_measured += m != 0;
    }
  }
  defined = untied_predicted > 0 && untied_measured > 0;
  return defined ? difference / std::sqrt(untied_predicted * untied_measured) : 0;
}

// Small integers, so that many of them are equal.
std::vector<Pair> random_pairs(std::mt19937& random, std::size_t n, int values) {
  std::uniform_int_distribution<int> time(1, values);
  std::vector<Pair> pairs(n);
  for (Pair& pair : pairs) pair = {double(time(random)), double(time(random))};
  return pairs;
}

TEST(Metrics, ATotalWeighsRowsByTheirTimesAndRuns) {
  EXPECT_DOUBLE_EQ(*total_ratio(std::vector<Pair>{{2, 1}, {9, 10}}), (2.0 + 9) / (1 + 10));
  EXPECT_DOUBLE_EQ(*total_ratio(std::vector<Pair>{{1, 2}, {2, 1}}), 1);
  EXPECT_DOUBLE_EQ(*total_ratio(std::vector<Pair>{{1, 2, 3}, {2, 1, 5}}),
                   (3.0 * 1 + 5 * 2) / (3 * 2 + 5 * 1));
}

TEST(Mape, IsTheMeanOfTheRelativeErrors) {
  const std::vector<Pair> pairs{{110, 100}, {50, 100}, {300, 200}};
  EXPECT_DOUBLE_EQ(*mape(pairs), (0.1 + 0.5 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(*mape(std::vector<Pair>{{7, 7}}), 0);
}

TEST(ApeQuantiles, InterpolateBetweenOrderStatistics) {
  // Errors 0.4, 0.1, 0.3, 0.2: sorted, the median is half way from the 2nd to the 3rd, and the 90th
  // percentile at position 0.9 * 3 = 2.7, 0.7 of the way from the 3rd to the 4th.
  const std::vector<Pair> pairs{{140, 100}, {90, 100}, {70, 100}, {120, 100}};
  EXPECT_NEAR(*median_ape(pairs), (0.2 + 0.3) / 2, 1e-12);
  EXPECT_NEAR(*p90_ape(pairs), 0.3 + 0.7 * (0.4 - 0.3), 1e-12);
  const std::vector<Pair> one{{3, 2}};
  EXPECT_DOUBLE_EQ(*median_ape(one), 0.5);
  EXPECT_DOUBLE_EQ(*p90_ape(one), 0.5);
}

TEST(GeometricBias, IsOneWhenDoublingAndHalvingCancel) {
  EXPECT_NEAR(*geometric_bias(std::vector<Pair>{{2, 1}, {1, 2}}), 1, 1e-12);
  EXPECT_NEAR(*geometric_bias(std::vector<Pair>{{2, 1}, {8, 1}}), std::sqrt(2.0 * 8.0), 1e-12);
  EXPECT_NEAR(*geometric_bias(std::vector<Pair>{{1e-300, 1e-9}}), 1e-291, 1e-300);
}

TEST(Metrics, OfNothingAreUndefined) {
  const std::vector<Pair> none;
  EXPECT_FALSE(mape(none) || median_ape(none) || p90_ape(none) || geometric_bias(none));
  EXPECT_FALSE(total_ratio(none));
  EXPECT_FALSE(kendall_tau_b(none) || kendall_tau_b(std::vector<Pair>{{1, 2}}));
  const std::vector<Ranking> kernels{{}, {{1, 2}}};
  EXPECT_FALSE(mean_tau_b(kernels) || tile_size_ape(kernels));
  EXPECT_FALSE(top_k_slowdown(kernels, 1) || best_in_top_k(kernels, 1));
  EXPECT_FALSE(interval_score({}, {}));
}

TEST(KendallTau, CountsConcordantAndDiscordantPairsWithoutTies) {
  // Measured 3 1 2 in predicted order: pairs (3,1) and (3,2) are discordant, (1,2) concordant.
  EXPECT_NEAR(*kendall_tau_b(std::vector<Pair>{{1, 3}, {2, 1}, {3, 2}}), (1.0 - 2) / 3, 1e-12);
  EXPECT_NEAR(*kendall_tau_b(std::vector<Pair>{{1, 1}, {2, 2}, {3, 3}}), 1, 1e-12);
  EXPECT_NEAR(*kendall_tau_b(std::vector<Pair>{{1, 3}, {2, 2}, {3, 1}}), -1, 1e-12);
}

TEST(KendallTau, TakesTiesOutOfTheDenominatorOfTheirSide) {
  // Pairs of (1,1) (1,2) (2,2) (3,3): one tied in the prediction, one in the measurement, the other
  // four concordant: 4 / sqrt((6 - 1) (6 - 1)).
  EXPECT_NEAR(*kendall_tau_b(std::vector<Pair>{{1, 1}, {1, 2}, {2, 2}, {3, 3}}), 4.0 / 5, 1e-12);
  // A pair equal on both sides counts for neither.
  EXPECT_NEAR(*kendall_tau_b(std::vector<Pair>{{1, 1}, {1, 1}, {2, 2}}), 1, 1e-12);
}

TEST(KendallTau, IsUndefinedWhenOneSideIsAllTies) {
  EXPECT_FALSE(kendall_tau_b(std::vector<Pair>{{5, 1}, {5, 2}, {5, 3}}));
  EXPECT_FALSE(kendall_tau_b(std::vector<Pair>{{1, 5}, {2, 5}, {3, 5}}));
}

TEST(KendallTau, EqualsTheDefinitionOnRandomInputsWithTies) {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    const auto pairs = random_pairs(random, 2 + i % 40, 1 + i % 23);
    bool defined = false;
    const double expected = tau_by_all_pairs(pairs, defined);
    const auto tau = kendall_tau_b(pairs);
    ASSERT_EQ(tau.has_value(), defined) << i;
    if (defined) {
      ASSERT_NEAR(*tau, expected, 1e-12) << i;
    }
  }
}

TEST(KendallTau, OfAHundredThousandRowsDoesNotOverflow) {
  std::vector<Pair> pairs;
  for (int i = 1; i <= 100000; ++i) pairs.push_back({double(i), double(i)});
  EXPECT_NEAR(*kendall_tau_b(pairs), 1, 1e-12);
  for (Pair& pair : pairs) pair.measured = 100001 - pair.predicted;
  EXPECT_NEAR(*kendall_tau_b(pairs), -1, 1e-12);
}

TEST(SpearmanRho, OfAPermutationIsOneLessSixTimesTheSquaredDifferencesOfRanks) {
  std::mt19937 random(11);
  for (int n = 2; n < 60; ++n) {
    std::vector<Pair> pairs;
    for (int i = 1; i <= n; ++i) pairs.push_back({double(i), double(i)});
    EXPECT_NEAR(spearman_rho(pairs).value(), 1, 1e-12);
    for (Pair& pair : pairs) pair.measured = n + 1 - pair.predicted;
    EXPECT_NEAR(spearman_rho(pairs).value(), -1, 1e-12);
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 1);
    std::shuffle(order.begin(), order.end(), random);
    double squares = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      pairs[i].measured = order[i];
      squares += (pairs[i].predicted - order[i]) * (pairs[i].predicted - order[i]);
    }
    const double expected = 1 - 6 * squares / (n * (double(n) * n - 1));
    EXPECT_NEAR(spearman_rho(pairs).value(), expected, 1e-12) << n;
    for (Pair& pair : pairs) pair.predicted = std::exp(pair.predicted);  // ranks, not values
    EXPECT_NEAR(spearman_rho(pairs).value(), expected, 1e-12) << n;
  }
}

TEST(SpearmanRho, TiedValuesShareTheMeanOfTheirRanks) {
  // Ranks 1 2.5 2.5 4 and 1 2 3 4, less their mean 2.5: 2.25 + 2.25 of sqrt(4.5) sqrt(5).
  EXPECT_NEAR(spearman_rho(std::vector<Pair>{{1, 1}, {2, 2}, {2, 3}, {3, 4}}).value(),
              4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_NEAR(spearman_rho(std::vector<Pair>{{1, 1}, {1, 1}, {2, 2}}).value(), 1, 1e-12);
}

TEST(SpearmanRho, IsUndefinedWhenOneSideIsConstantOrHasFewerThanTwoRows) {
  EXPECT_FALSE(spearman_rho(std::vector<Pair>{{5, 1}, {5, 2}, {5, 3}}));
  EXPECT_FALSE(spearman_rho(std::vector<Pair>{{1, 5}, {2, 5}, {3, 5}}));
  EXPECT_FALSE(spearman_rho(std::vector<Pair>{}) || spearman_rho(std::vector<Pair>{{1, 2}}));
}

TEST(MeanTau, LeavesOutKernelsThatHaveNone) {
  const std::vector<Ranking> kernels{{{1, 1}, {2, 2}}, {{1, 2}, {2, 1}}, {{3, 1}, {3, 2}}};
  EXPECT_NEAR(*mean_tau_b(kernels), (1.0 - 1) / 2, 1e-12);
}

TEST(TileSizeApe, WeighsKernelsByTheirBestTime) {
  // Chosen: 12 while 10 is best, and 100 while 100 is best: (2 + 0) / (10 + 100).
  const std::vector<Ranking> kernels{{{1, 12}, {2, 10}}, {{1, 100}, {2, 150}}};
  EXPECT_NEAR(*tile_size_ape(kernels), 2.0 / 110, 1e-12);
}

TEST(TopK, LooksAtTheFastestOfThePredictedFastest) {
  const std::vector<Ranking> kernels{{{1, 20}, {2, 15}, {3, 10}}, {{1, 5}, {2, 9}, {3, 6}}};
  EXPECT_NEAR(*top_k_slowdown(kernels, 1), ((20.0 / 10 - 1) + 0) / 2, 1e-12);
  EXPECT_NEAR(*top_k_slowdown(kernels, 2), ((15.0 / 10 - 1) + 0) / 2, 1e-12);
  EXPECT_NEAR(*top_k_slowdown(kernels, 3), 0, 1e-12);
  EXPECT_NEAR(*top_k_slowdown(kernels, 100), 0, 1e-12);
  EXPECT_NEAR(*best_in_top_k(kernels, 1), (10.0 / 20 + 1) / 2, 1e-12);
  EXPECT_NEAR(*best_in_top_k(kernels, 2), (10.0 / 15 + 1) / 2, 1e-12);
}

TEST(TopK, QuantilesAreOverKernels) {
  const std::vector<Ranking> kernels{{{1, 20}, {2, 10}}, {{1, 5}, {2, 9}}, {{1, 12}, {2, 10}}};
  EXPECT_NEAR(*top_1_slowdown_quantile(kernels, 0.5), 12.0 / 10 - 1, 1e-12);
  EXPECT_NEAR(*top_1_slowdown_quantile(kernels, 1), 20.0 / 10 - 1, 1e-12);
  EXPECT_NEAR(*top_1_slowdown_quantile(kernels, 0.75), (0.2 + 1) / 2, 1e-12);
  EXPECT_FALSE(top_1_slowdown_quantile(std::vector<Ranking>{{{1, 1}}}, 0.5));
}

TEST(TopK, AmongEqualPredictionsIsTheMeanOverRandomChoices) {
  // One place for three candidates: 10, 20 or 40 with probability 1/3 each.
  const std::vector<Ranking> tied{{{7, 20}, {7, 40}, {7, 10}}};
  EXPECT_NEAR(*top_k_slowdown(tied, 1), (10 + 20 + 40) / 3.0 / 10 - 1, 1e-12);
  EXPECT_NEAR(*tile_size_ape(tied), (0 + 10 + 30) / 3.0 / 10, 1e-12);
  EXPECT_NEAR(*best_in_top_k(tied, 1), (1 + 10.0 / 20 + 10.0 / 40) / 3, 1e-12);
  // Two places: {10,20} {10,40} {20,40}, two of which contain the best.
  EXPECT_NEAR(*top_k_slowdown(tied, 2), (10 + 10 + 20) / 3.0 / 10 - 1, 1e-12);
  // The first place is certain (25), the second one of {10, 40}: min(25,10) or min(25,40).
  const std::vector<Ranking> half{{{1, 25}, {2, 10}, {2, 40}}};
  EXPECT_NEAR(*top_k_slowdown(half, 2), (10 + 25) / 2.0 / 10 - 1, 1e-12);
}

TEST(TopShare, IsTopKOfThatShareOfEachKernel) {
  std::mt19937 random(12);
  for (std::size_t n = 2; n <= 41; ++n) {
    const std::vector<Ranking> kernel{random_pairs(random, n, 50)};
    EXPECT_EQ(best_in_top_share(kernel, 0.1), best_in_top_k(kernel, static_cast<int>((n + 9) / 10)))
        << n;
    EXPECT_EQ(*best_in_top_share(kernel, 1), 1);
  }
  // One of 10 tiles is measured, and two of 20: 4 / 5 and 2 / 2.
  Ranking ten, twenty;
  for (double i = 0; i < 10; ++i) ten.push_back({1 + i, i == 0 ? 5.0 : i == 9 ? 4.0 : 8.0});
  for (double i = 0; i < 20; ++i) twenty.push_back({1 + i, i == 1 ? 2.0 : 3.0});
  const std::vector<Ranking> both{ten, twenty};
  EXPECT_NEAR(*best_in_top_share(both, 0.1), (4.0 / 5 + 1) / 2, 1e-12);
}

TEST(Top1Within, IsTheShareOfKernelsWhoseChoiceIsAsGoodAsTheBest) {
  const Ranking near{{1, 10.1}, {2, 10}}, far{{1, 11}, {2, 10}};
  const Ranking tied{{1, 10}, {1, 20}, {2, 9.9}};  // 10 or 20, one of which is near 9.9
  EXPECT_NEAR(*top_1_within(std::vector{near, far, tied}, 0.02), (1 + 0 + 0.5) / 3, 1e-12);
  EXPECT_EQ(*top_1_within(std::vector{near, far}, 0.1), 1);
  EXPECT_FALSE(top_1_within(std::vector<Ranking>{}, 0.02));
}

TEST(SelectiveMape, IsOfTheRowsWithTheNarrowestIntervals) {
  const std::vector<Pair> pairs{{11, 10}, {10, 20}, {33, 30}, {60, 40}};  // 0.1, 0.5, 0.1, 0.5
  const std::vector<Interval> intervals{{10, 13}, {10, 40}, {30, 33}, {1, 3}};
  EXPECT_NEAR(*selective_mape(pairs, intervals, 0.25), 0.1, 1e-12);
  EXPECT_NEAR(*selective_mape(pairs, intervals, 0.5), 0.1, 1e-12);
  EXPECT_NEAR(*selective_mape(pairs, intervals, 0.51), (0.1 + 0.1 + 0.5) / 3, 1e-12);
  EXPECT_NEAR(*selective_mape(pairs, intervals, 1), *mape(pairs), 1e-12);
  EXPECT_FALSE(selective_mape({}, {}, 0.5));
}

TEST(SelectiveMape, AmongEquallyWideIntervalsIsTheMeanOverRandomChoices) {
  // The narrow one is certain, two of the other three (0.1, 0.2 and 0.6) follow at random.
  const std::vector<Pair> pairs{{110, 100}, {120, 100}, {100, 100}, {160, 100}};
  const std::vector<Interval> intervals{{1, 4}, {2, 8}, {1, 2}, {3, 12}};
  EXPECT_NEAR(*selective_mape(pairs, intervals, 0.75), (0 + 2 * (0.1 + 0.2 + 0.6) / 3) / 3, 1e-12);
}

TEST(RankingMetrics, DoNotDependOnTheOrderOfRows) {
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    std::vector<Pair> pairs = random_pairs(random, 2 + i % 30, 1 + i % 9);
    const std::vector<Ranking> before{pairs};
    std::shuffle(pairs.begin(), pairs.end(), random);
    const std::vector<Ranking> after{pairs};
    EXPECT_EQ(kendall_tau_b(before[0]), kendall_tau_b(after[0]));
    EXPECT_EQ(tile_size_ape(before), tile_size_ape(after));
    EXPECT_EQ(median_ape(before[0]), median_ape(after[0]));
    EXPECT_EQ(p90_ape(before[0]), p90_ape(after[0]));
    EXPECT_NEAR(*mape(before[0]), *mape(after[0]), 1e-12);
    for (const int k : {1, 5, 10}) {
      EXPECT_EQ(top_k_slowdown(before, k), top_k_slowdown(after, k));
      EXPECT_EQ(best_in_top_k(before, k), best_in_top_k(after, k));
    }
  }
}

TEST(RankingMetrics, NeverGetWorseWithMorePlaces) {
  std::mt19937 random(13);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Ranking> kernels{random_pairs(random, 2 + i % 30, 1 + i % 9)};
    double slowdown = INFINITY, reached = 0;
    for (int k = 1; k <= 12; ++k) {
      EXPECT_LE(*top_k_slowdown(kernels, k), slowdown + 1e-12);
      EXPECT_GE(*best_in_top_k(kernels, k), reached - 1e-12);
      slowdown = *top_k_slowdown(kernels, k);
      reached = *best_in_top_k(kernels, k);
    }
  }
}

TEST(IntervalScore, CountsWhatIsInsideAndHowWideItIs) {
  const std::vector<Interval> intervals{{1, 2}, {4, 5}, {10, 10}};
  const std::vector<double> measured{2, 6, 10};
  const auto score = interval_score(intervals, measured);
  EXPECT_NEAR(score->coverage, 2.0 / 3, 1e-12);
  EXPECT_NEAR(score->mean_width, (1 + 0.25 + 0) / 3, 1e-12);
}

std::optional<double> mean_of(const std::vector<double>& values,
                              std::span<const std::size_t> rows) {
  double sum = 0;
  for (const std::size_t row : rows) sum += values[row];
  return sum / static_cast<double>(rows.size());
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values(50);
  for (double& value : values) value = normal(random);
  const auto statistic = [&](std::span<const std::size_t> rows) { return mean_of(values, rows); };
  const auto once = bootstrap_interval(values.size(), statistic);
  const auto again = bootstrap_interval(values.size(), statistic);
  const auto other = bootstrap_interval(values.size(), statistic, {}, {.draws = 1000, .seed = 2});
  EXPECT_EQ(once->low, again->low);
  EXPECT_EQ(once->high, again->high);
  EXPECT_NE(once->low, other->low);
  EXPECT_LT(once->low, once->high);
}

TEST(Bootstrap, CoversTheTruthInAboutNineteenOfTwentySimulations) {
  // The mean of 100 normal numbers: a percentile interval covers slightly less than 95 % (by about
  // 1 % at n = 100), and 400 simulations scatter by sqrt(0.05 * 0.95 / 400) = 1.1 %.
  std::mt19937 random(5);
  std::normal_distribution<double> normal(3, 1);
  constexpr int kSimulations = 400;
  int covered = 0;
  for (int i = 0; i < kSimulations; ++i) {
    std::vector<double> values(100);
    for (double& value : values) value = normal(random);
    const auto interval = bootstrap_interval(
        values.size(), [&](std::span<const std::size_t> rows) { return mean_of(values, rows); }, {},
        {.draws = 400, .seed = std::uint64_t(i)});
    covered += interval->low <= 3 && 3 <= interval->high;
  }
  EXPECT_GE(covered, 0.91 * kSimulations);
  EXPECT_LE(covered, 0.98 * kSimulations);
}

TEST(Bootstrap, KeepsGroupsTogether) {
  const std::vector<std::size_t> group_of{4, 9, 4, 9, 9, 2};
  const auto whole = [&](std::span<const std::size_t> rows) -> std::optional<double> {
    std::vector<int> count(group_of.size());
    for (const std::size_t row : rows) ++count[row];
    EXPECT_EQ(count[0], count[2]);
    EXPECT_EQ(count[1], count[3]);
    EXPECT_EQ(count[1], count[4]);
    EXPECT_EQ(count[0] + count[1] + count[5], 3);
    return count[0];
  };
  EXPECT_TRUE(bootstrap_interval(group_of.size(), whole, group_of));
}

TEST(Bootstrap, OfGroupsIsWiderThanOfRowsWhenRowsOfAGroupAgree) {
  std::vector<double> values;
  std::vector<std::size_t> group_of;
  for (std::size_t i = 0; i < 200; ++i) {
    group_of.push_back(i / 20);
    values.push_back(static_cast<double>(i / 20));
  }
  const auto statistic = [&](std::span<const std::size_t> rows) { return mean_of(values, rows); };
  const auto rows = bootstrap_interval(values.size(), statistic);
  const auto groups = bootstrap_interval(values.size(), statistic, group_of);
  // Standard errors differ by sqrt(200 / 10).
  EXPECT_NEAR((groups->high - groups->low) / (rows->high - rows->low), std::sqrt(20.0), 1);
}

TEST(Bootstrap, IsUndefinedOfNothingAndWhenTheStatisticMostlyIs) {
  const Statistic none = [](std::span<const std::size_t>) { return std::nullopt; };
  const Statistic one = [](std::span<const std::size_t>) { return 1.0; };
  EXPECT_FALSE(bootstrap_interval(0, one));
  EXPECT_FALSE(bootstrap_interval(5, none));
  EXPECT_EQ(bootstrap_interval(5, one)->low, 1);
}

}  // namespace

// Errors of quantities equal their formulas.

namespace {

TEST(QuantityScores, AreWhatTheirFormulasSay) {
  const std::vector<QuantityPair> pairs{{3.4, 3}, {5, 7}, {-1, 0}, {10.6, 10}};
  const double range = measured_range(pairs);
  EXPECT_EQ(range, 10);
  const QuantityScores scores = quantity_scores(pairs, range, true).value();
  EXPECT_EQ(scores.rows, 4U);
  EXPECT_NEAR(scores.rmse, std::sqrt((0.16 + 4 + 1 + 0.36) / 4), 1e-12);
  EXPECT_NEAR(scores.mean_absolute, (0.4 + 2 + 1 + 0.6) / 4, 1e-12);
  EXPECT_NEAR(scores.rmse_of_range.value(), scores.rmse / 10, 1e-15);
  EXPECT_NEAR(scores.exact.value(), 0.25, 1e-15) << "3.4 is 3, 10.6 is 11";
  EXPECT_FALSE(quantity_scores(pairs, range, false)->exact);
}

TEST(QuantityScores, OfNothingAndOfOneValue) {
  EXPECT_FALSE(quantity_scores({}, 1, true));
  EXPECT_EQ(measured_range({}), 0);
  const std::vector<QuantityPair> pairs{{3, 3}, {4, 3}};
  EXPECT_FALSE(quantity_scores(pairs, measured_range(pairs), true)->rmse_of_range);
}

TEST(QuantityScores, TheMeanIsTheConstantOfLeastSquares) {
  std::mt19937_64 random(5);
  std::vector<double> values;
  double mean = 0;
  for (int i = 0; i < 50; ++i) values.push_back(double(random() % 1000));
  for (const double value : values) mean += value / 50;
  const auto rmse = [&](double constant) {
    std::vector<QuantityPair> pairs;
    for (const double value : values) pairs.push_back({constant, value});
    return quantity_scores(pairs, 0, false)->rmse;
  };
  for (const double off : {-3.0, -0.1, 0.1, 5.0}) EXPECT_LT(rmse(mean), rmse(mean + off));
}

}  // namespace
}  // namespace tilecast::measured
