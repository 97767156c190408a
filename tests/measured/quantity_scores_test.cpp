// Errors of quantities equal their formulas.
#include "measured/quantity_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tilecast::measured {
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
