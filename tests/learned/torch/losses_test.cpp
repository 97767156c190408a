// Losses equal their formulas, and gradients equal finite differences.
#include "learned/torch/losses.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace tilecast::learned::torch_module {
namespace {

using Numbers = std::vector<double>;

torch::Tensor doubles(const Numbers& values) {
  return torch::tensor(values, torch::kDouble);
}
torch::Tensor kernels(const std::vector<std::int64_t>& values) {
  return torch::tensor(values);
}
const torch::Tensor kNoWeights;

double value_of(const TrainingSpec& training, const Numbers& predicted, const Numbers& target,
                const std::vector<std::int64_t>& kernel, const torch::Tensor& weights = {}) {
  return loss(training, doubles(predicted), doubles(target), kernels(kernel), weights)
      .item<double>();
}
double value_of(NetworkLoss kind, const Numbers& predicted, const Numbers& target,
                const std::vector<std::int64_t>& kernel, const torch::Tensor& weights = {}) {
  return value_of(TrainingSpec{.loss = kind}, predicted, target, kernel, weights);
}

double logistic(double margin) {
  return std::log1p(std::exp(-margin));
}

// Three kernels with interleaved rows; the last has one row.
const std::vector<std::int64_t> kKernels = {4, 9, 4, 9, 4, 2, 9};
const Numbers kPredicted = {0.3, -0.2, 0.9, 1.7, -0.4, 0.1, 0.25};
const Numbers kTarget = {1.1, 0.4, -2.0, 0.4, 0.7, 3.0, -0.6};
const Numbers kWeights = {0.5, 2.0, 0.5, 2.0, 0.5, 1.0, 2.0};

TEST(TaskLoss, IsTheMeanOverWhatIsKnown) {
  const double unknown = std::nan("");
  torch::Tensor predicted = torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::kDouble);
  predicted.requires_grad_(true);
  const torch::Tensor target = torch::tensor({{0.0, unknown}, {5.0, 4.0}}, torch::kDouble);
  const torch::Tensor value = task_loss(predicted, target);
  EXPECT_NEAR(value.item<double>(), (1 + 4 + 0) / 3.0, 1e-12);
  value.backward();
  const torch::Tensor slope = torch::tensor({{2 / 3.0, 0.0}, {-4 / 3.0, 0.0}}, torch::kDouble);
  EXPECT_TRUE(predicted.grad().allclose(slope));
  EXPECT_EQ(task_loss(predicted, target * unknown).item<double>(), 0);
}

constexpr NetworkLoss kLosses[] = {NetworkLoss::kLogTime,      NetworkLoss::kHuber,
                                   NetworkLoss::kQuantile,     NetworkLoss::kRankHinge,
                                   NetworkLoss::kRankLogistic, NetworkLoss::kRankAllPairs};

// Loss, weighted, rank_weight.
class EveryLoss : public ::testing::TestWithParam<std::tuple<NetworkLoss, bool, double>> {};

TEST_P(EveryLoss, HasTheGradientOfItsFiniteDifferences) {
  const auto [kind, weighted, rank_weight] = GetParam();
  const TrainingSpec training{.loss = kind, .rank_weight = rank_weight, .quantile = 0.2};
  const torch::Tensor weights = weighted ? doubles(kWeights) : kNoWeights;
  torch::Tensor predicted = doubles(kPredicted).requires_grad_(true);
  loss(training, predicted, doubles(kTarget), kernels(kKernels), weights).backward();
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < kPredicted.size(); ++i) {
    Numbers above = kPredicted, below = kPredicted;
    above[i] += kStep;
    below[i] -= kStep;
    const double slope = (value_of(training, above, kTarget, kKernels, weights) -
                          value_of(training, below, kTarget, kKernels, weights)) /
                         (2 * kStep);
    EXPECT_NEAR(predicted.grad()[static_cast<std::int64_t>(i)].item<double>(), slope, 1e-8) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss,
                         ::testing::Combine(::testing::ValuesIn(kLosses), ::testing::Bool(),
                                            ::testing::Values(1.0, 0.3)));

TEST(Losses, LogTimeIsTheMeanSquare) {
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kLogTime, {1, 2, 5}, {1, 4, 4}, {0, 0, 0}),
                   (0.0 + 4.0 + 1.0) / 3);
}

TEST(Losses, HuberIsSquareWithinOneAndLinearBeyond) {
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kHuber, {0.5, -3}, {0, 0}, {0, 0}),
                   (0.5 * 0.5 / 2 + (3 - 0.5)) / 2);
}

TEST(Losses, AQuantileCountsWhatIsAboveItByQAndWhatIsBelowByTheRest) {
  const TrainingSpec training{.loss = NetworkLoss::kQuantile, .quantile = 0.1};
  EXPECT_NEAR(value_of(training, {1, 1, 1}, {3, 1, 0}, {0, 0, 0}), (0.1 * 2 + 0 + 0.9 * 1) / 3,
              1e-12);
  // Of ten values, the minimum is between the first two for any other values.
  const Numbers target = {5, 1, 9, 2, 30, 4, 6, 7, 8, 3};
  const auto at = [&](double predicted) {
    return value_of(training, Numbers(10, predicted), target, std::vector<std::int64_t>(10));
  };
  EXPECT_NEAR(at(1), at(2), 1e-12);
  EXPECT_LT(at(1.5), at(0.9));
  EXPECT_LT(at(1.5), at(2.1));
}

TEST(Losses, AllPairsAreApartByWhatWasMeasured) {
  // Slower by 2 (1.5 predicted), by 1 (-1.2) and by 1 (2.7: sufficient).
  const Numbers predicted = {0.5, -1.0, 0.2 - 2.4, 9.0}, target = {3, 1, 2, 0};
  const double wrong[] = {2 - 1.5, 0, 1 - (-2.2 + 1.0)};
  double sum = 0;
  for (const double by : wrong) sum += by * by / 2;
  EXPECT_NEAR(value_of(NetworkLoss::kRankAllPairs, predicted, target, {7, 7, 7, 8}), sum / 3,
              1e-12);
}

TEST(Losses, RankWeightMixesTheOrderWithTheSquare) {
  for (const NetworkLoss kind :
       {NetworkLoss::kRankHinge, NetworkLoss::kRankLogistic, NetworkLoss::kRankAllPairs}) {
    const double order = value_of(kind, kPredicted, kTarget, kKernels);
    const double square = value_of(NetworkLoss::kLogTime, kPredicted, kTarget, kKernels);
    for (const double weight : {0.0, 0.25, 1.0}) {
      EXPECT_NEAR(value_of({.loss = kind, .rank_weight = weight}, kPredicted, kTarget, kKernels),
                  weight * order + (1 - weight) * square, 1e-12);
    }
  }
}

TEST(Losses, WeightsMultiplyRows) {
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kLogTime, {1, 2}, {0, 0}, {0, 1}, doubles({0.25, 1.75})),
                   (0.25 * 1 + 1.75 * 4) / 2);
}

TEST(Losses, HingeCountsPairsOfOneKernelBelowTheMargin) {
  // Row 0 is slower than rows 1 and 2 of its kernel; row 3 belongs to another kernel.
  const Numbers predicted = {0.5, 0.2, -1.0, 9.0}, target = {3, 1, 2, 0};
  const Numbers margins = {0.5 - 0.2, 0.5 + 1.0, -1.0 - 0.2};  // (0, 1), (0, 2), (2, 1)
  double sum = 0;
  for (const double margin : margins) sum += std::max(0.0, 1 - margin);
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kRankHinge, predicted, target, {7, 7, 7, 8}), sum / 3);
}

TEST(Losses, LogisticIsSmoothAndNeverZero) {
  EXPECT_NEAR(value_of(NetworkLoss::kRankLogistic, {5, 0}, {1, 0}, {0, 0}), logistic(5), 1e-15);
  EXPECT_NEAR(value_of(NetworkLoss::kRankLogistic, {0, 5}, {1, 0}, {0, 0}), logistic(-5), 1e-14);
}

TEST(Losses, ClosePairsCountAndTiesDoNot) {
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kRankHinge, {0, 0, 0}, {1, 1 + 1e-9, 1}, {0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(value_of(NetworkLoss::kRankHinge, {-4, 0.25, 4}, {1, 2, 1}, {0, 0, 0}),
                   (0.0 + (1 - (0.25 - 4))) / 2);
}

TEST(Losses, EqualWeightsMakeKernelsCountTheSameWhateverTheirPairs) {
  // Kernel 0: three pairs; kernel 1: one.
  const Numbers predicted = {0, 0.1, 0.3, 2, 1}, target = {0, 1, 2, 0, 1};
  const std::vector<std::int64_t> kernel = {0, 0, 0, 1, 1};
  const double first = (0.9 + 0.7 + 0.8) / 3, second = 1 + 1;
  EXPECT_NEAR(value_of(NetworkLoss::kRankHinge, predicted, target, kernel),
              (first * 3 + second) / 4, 1e-12);
  EXPECT_NEAR(
      value_of(NetworkLoss::kRankHinge, predicted, target, kernel, torch::ones(5, torch::kDouble)),
      (first + second) / 2, 1e-12);
  EXPECT_NEAR(value_of(NetworkLoss::kRankHinge, predicted, target, kernel,
                       doubles({0.5, 0.5, 0.5, 1.5, 1.5})),
              (0.5 * first + 1.5 * second) / 2, 1e-12);
}

TEST(Losses, WithoutPairsTheLossIsZeroAndSoIsItsGradient) {
  for (const NetworkLoss kind :
       {NetworkLoss::kRankHinge, NetworkLoss::kRankLogistic, NetworkLoss::kRankAllPairs}) {
    torch::Tensor predicted = doubles({1, 2, 3}).requires_grad_(true);
    const torch::Tensor value =
        loss({.loss = kind}, predicted, doubles({1, 1, 5}), kernels({0, 0, 1}), torch::ones(3));
    value.backward();
    EXPECT_EQ(value.item<double>(), 0);
    EXPECT_TRUE(torch::equal(predicted.grad(), torch::zeros(3, torch::kDouble)));
  }
}

TEST(Losses, HoldInFloatWhatTheyHoldInDouble) {
  for (const NetworkLoss kind : kLosses) {
    const torch::Tensor single = loss({.loss = kind}, doubles(kPredicted).to(torch::kFloat),
                                      doubles(kTarget).to(torch::kFloat), kernels(kKernels),
                                      doubles(kWeights).to(torch::kFloat));
    EXPECT_EQ(single.dtype(), torch::kFloat);
    EXPECT_NEAR(single.item<float>(),
                value_of(kind, kPredicted, kTarget, kKernels, doubles(kWeights)), 1e-5);
  }
}

}  // namespace
}  // namespace tilecast::learned::torch_module
