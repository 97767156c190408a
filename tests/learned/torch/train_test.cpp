// Training learns, stops, keeps the best and is bit-reproducible.
#include "learned/torch/train.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <future>
#include <thread>

#include "base/error.h"
#include "learned/torch/adam.h"
#include "random_examples.h"
#include "tests/support/errors.h"

namespace tilecast::learned::torch_module {
namespace {

using ::testing::HasSubstr;

constexpr NetworkWidths kWidths = {
    .opcodes = RandomExamples::kOpcodes, .node = 5, .at_nodes = 3, .at_kernel = 2};
constexpr NetworkSpec kSmall = {.hops = 1, .hidden = 16, .opcode_width = 4};

std::vector<float> predictions(Network& network, const RandomExamples& kernels) {
  const std::vector<GraphInput> inputs = kernels.inputs();
  std::vector<float> out(inputs.size());
  predict_network(network, RandomExamples::widths(), inputs, out);
  return out;
}

std::unique_ptr<Network> trained(const NetworkSpec& spec, const TrainingSpec& training,
                                 RandomExamples& train, const TrainingHooks& hooks = {}) {
  return train_network(spec, RandomExamples::widths(), training, train.examples(), {}, hooks);
}

// Appends a number of every epoch to `kept`.
template <class T>
TrainingHooks keeping(std::vector<T>& kept, T EpochReport::*number) {
  return {.epoch = [&kept, number](const EpochReport& epoch) {
    kept.push_back(epoch.*number);
    return true;
  }};
}

// Examples whose times depend on a feature of the tile, so that a network can learn them.
void add_learnable(RandomExamples& kernels, std::size_t count, std::size_t tiles) {
  for (std::size_t i = 0; i < count; ++i) {
    kernels.add(3 + kernels.below(9), tiles, static_cast<std::uint32_t>(i % 3));
  }
  for (GraphExample& example : kernels.examples()) {
    example.target = 2 * example.input.at_nodes[1] - 1 + example.input.at_kernel[0];
  }
}

class Training : public ::testing::Test {
 protected:
  Training() { set_threads(1); }
};

TEST_F(Training, OverfitsSixtyFourKernels) {
  RandomExamples kernels(1);
  for (int i = 0; i < 64; ++i) kernels.add(2 + kernels.below(12), 1);
  const TrainingSpec training{
      .epochs = 250, .batch = 32, .learning_rate = 5e-3, .decay = 0.98, .patience = 0};
  const auto network = trained({.l2_norm = false}, training, kernels);
  const auto error = validation_error(training, kernels.examples(), predictions(*network, kernels));
  EXPECT_LT(error.value(), 0.01);
}

TEST_F(Training, RankLossesLearnTheOrderOfTilesTheyHaveNotSeen) {
  for (const NetworkLoss loss :
       {NetworkLoss::kRankHinge, NetworkLoss::kRankLogistic, NetworkLoss::kRankAllPairs}) {
    RandomExamples train(2), other(3);
    add_learnable(train, 40, 12);
    add_learnable(other, 20, 12);
    const TrainingSpec training{.loss = loss, .epochs = 40, .batch = 8, .learning_rate = 5e-3};
    Network before(kSmall, kWidths, training.seed);
    const double chance =
        validation_error(training, other.examples(), predictions(before, other)).value();
    const auto network = trained(kSmall, training, train);
    const double error =
        validation_error(training, other.examples(), predictions(*network, other)).value();
    EXPECT_LT(error, 0.12);
    EXPECT_GT(chance, 0.2);
  }
}

TEST_F(Training, RanksAndSquaresTogetherLearnOrderAndTimes) {
  RandomExamples train(2), other(3);
  add_learnable(train, 40, 12);
  add_learnable(other, 20, 12);
  TrainingSpec training{
      .loss = NetworkLoss::kRankLogistic, .epochs = 40, .batch = 8, .learning_rate = 5e-3};
  const auto errors = [&](double rank_weight) {
    training.rank_weight = rank_weight;
    const std::vector<float> predicted = predictions(*trained(kSmall, training, train), other);
    TrainingSpec order = training;
    order.rank_weight = 1;
    return std::pair(validation_error(order, other.examples(), predicted).value(),
                     validation_error({}, other.examples(), predicted).value());
  };
  const auto [alone, times_of_ranks] = errors(1);
  const auto [together, times] = errors(0.5);
  EXPECT_LT(together, 0.12);
  EXPECT_LT(times, 0.5 * times_of_ranks) << "scores that only rank are no times";
  EXPECT_LT(alone, 0.12);
}

TEST_F(Training, LearnsNothingWhereMarginsAreInOrder) {
  RandomExamples kernels(8);
  add_learnable(kernels, 10, 4);
  for (GraphExample& example : kernels.examples()) {
    example.target *= 1e4F;
    example.margin = example.target;
  }
  std::vector<double> losses;
  const TrainingSpec training{.loss = NetworkLoss::kRankHinge, .epochs = 1, .batch = 4};
  (void)trained(kSmall, training, kernels, keeping(losses, &EpochReport::loss));
  EXPECT_THAT(losses, ::testing::ElementsAre(0));
}

TEST_F(Training, WeighsTheErrorsOfExamples) {
  RandomExamples kernels(9);
  kernels.add(3, 2);
  kernels.examples()[0].weight = 3;
  const std::vector<float> predicted = {kernels.examples()[0].target + 1,
                                        kernels.examples()[1].target + 2};
  EXPECT_NEAR(validation_error({}, kernels.examples(), predicted).value(),
              std::sqrt((3 * 1 + 4) / (3.0 + 1)), 1e-6);
}

TEST_F(Training, GivesTheSameBytesForASeed) {
  RandomExamples kernels(4);
  add_learnable(kernels, 20, 3);
  NetworkSpec spec = kSmall;
  spec.dropout = 0.2;
  TrainingSpec training{.epochs = 3, .batch = 8};
  const std::string first = save_weights(*trained(spec, training, kernels));
  EXPECT_EQ(save_weights(*trained(spec, training, kernels)), first);
  training.seed = 2;
  EXPECT_NE(save_weights(*trained(spec, training, kernels)), first);
}

TEST_F(Training, GivesTheSameBytesBesideOthers) {
  const auto train = [](std::uint64_t seed) {
    RandomExamples kernels(seed);
    add_learnable(kernels, 20, 3);
    NetworkSpec spec = kSmall;
    spec.dropout = 0.1;
    return save_weights(*trained(spec, {.epochs = 3, .batch = 8, .seed = seed}, kernels));
  };
  std::vector<std::string> alone;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) alone.push_back(train(seed));
  std::vector<std::future<std::string>> together;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    together.push_back(std::async(std::launch::async, train, seed));
  }
  for (std::size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i].get(), alone[i]);
}

TEST_F(Training, MeasuresTheSameWithOneThreadOrTwo) {
  RandomExamples kernels(5);
  add_learnable(kernels, 40, 4);
  const TrainingSpec training{.epochs = 4, .batch = 16};
  std::vector<double> errors;
  for (const int threads : {1, 2}) {
    set_threads(threads);
    const auto network = trained(kSmall, training, kernels);
    const auto predicted = predictions(*network, kernels);
    errors.push_back(validation_error(training, kernels.examples(), predicted).value());
  }
  EXPECT_NEAR(errors[0], errors[1], 5e-5 * errors[0]);
}

TEST_F(Training, KeepsTheBestEpochAndStopsWhenItIsStale) {
  RandomExamples train(6), validation(7);
  for (int i = 0; i < 16; ++i) train.add(4, 1);
  for (int i = 0; i < 16; ++i) validation.add(4, 1);  // random targets: nothing generalises
  const TrainingSpec training{.epochs = 100, .batch = 4, .learning_rate = 0.01, .patience = 4};
  std::vector<EpochReport> reports;
  const TrainingHooks hooks{.epoch = [&](const EpochReport& report) {
    reports.push_back(report);
    return true;
  }};
  const auto network =
      train_network(kSmall, kWidths, training, train.examples(), validation.examples(), hooks);
  ASSERT_LT(reports.size(), 100U);
  const auto best = std::ranges::min_element(reports, {}, &EpochReport::validation);
  EXPECT_EQ(reports.end() - best, 1 + 4);
  EXPECT_EQ(reports.back().best, best->validation);
  EXPECT_GT(reports.back().validation, best->validation);
  const auto error =
      validation_error(training, validation.examples(), predictions(*network, validation));
  EXPECT_DOUBLE_EQ(error.value(), best->validation);
}

// Validation never improves by half, so the rate decreases every two epochs to its minimum.
TEST_F(Training, LowersItsRateWhereValidationStandsStill) {
  RandomExamples train(6), validation(7);
  for (int i = 0; i < 16; ++i) train.add(4, 1);
  for (int i = 0; i < 16; ++i) validation.add(4, 1);
  TrainingSpec training{.epochs = 6, .batch = 4, .learning_rate = 1e-2, .decay = 1, .patience = 0};
  const auto weights = [&](const TrainingSpec& of) {
    return save_weights(
        *train_network(kSmall, kWidths, of, train.examples(), validation.examples(), {}));
  };
  const auto history = [&](const TrainingSpec& of) {
    std::vector<double> validations;
    (void)train_network(kSmall, kWidths, of, train.examples(), validation.examples(),
                        keeping(validations, &EpochReport::validation));
    return validations;
  };
  TrainingSpec falling = training;
  falling.plateau = 2;
  falling.plateau_gain = 0.9;
  falling.plateau_decay = 0.01;
  const std::vector<double> steady = history(training), fell = history(falling);
  // Epoch 1 is the first; 2 and 3 do not improve by 90 %, so the rate decreases from epoch 4.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(steady[i], fell[i]) << i;
  EXPECT_NE(steady[3], fell[3]);
  falling.least_rate = training.learning_rate;
  EXPECT_EQ(weights(falling), weights(training)) << "no further than its least";
}

TEST_F(Training, StopsWhenTheHookSaysSo) {
  RandomExamples kernels(8);
  add_learnable(kernels, 6, 2);
  std::vector<int> epochs;
  const TrainingHooks hooks{.epoch = [&](const EpochReport& report) {
    epochs.push_back(report.epoch);
    return report.epoch < 3;
  }};
  const auto network = trained(kSmall, {.epochs = 9}, kernels, hooks);
  EXPECT_EQ(epochs, (std::vector{1, 2, 3}));
  const auto three = trained(kSmall, {.epochs = 3}, kernels);
  EXPECT_EQ(save_weights(*network), save_weights(*three));
}

TEST_F(Training, EndsAfterItsSteps) {
  RandomExamples kernels(8);
  add_learnable(kernels, 8, 4);  // 4 batches per epoch
  const auto train = [&](const TrainingSpec& training, std::vector<int>& steps) {
    return save_weights(*trained(kSmall, training, kernels, keeping(steps, &EpochReport::steps)));
  };
  std::vector<int> by_steps, by_epochs, cut;
  EXPECT_EQ(train({.epochs = 1, .steps = 8, .batch = 8}, by_steps),
            train({.epochs = 2, .batch = 8}, by_epochs));
  EXPECT_EQ(by_steps, (std::vector{4, 8}));
  EXPECT_EQ(by_epochs, by_steps);
  (void)train({.steps = 10, .batch = 8}, cut);
  EXPECT_EQ(cut, (std::vector{4, 8, 10}));
}

TEST_F(Training, KeepsTheLastEpochWhenValidationHasNothingToSay) {
  RandomExamples train(9), singles(10);
  add_learnable(train, 8, 4);
  for (int i = 0; i < 5; ++i) singles.add(4, 1);
  const TrainingSpec training{.loss = NetworkLoss::kRankHinge, .epochs = 3, .patience = 1};
  std::vector<double> losses;
  const TrainingHooks hooks{.epoch = [&](const EpochReport& report) {
    losses.push_back(report.loss + report.validation + report.best);
    return true;
  }};
  const auto network =
      train_network(kSmall, kWidths, training, train.examples(), singles.examples(), hooks);
  EXPECT_EQ(losses.size(), 3U);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_EQ(save_weights(*network), save_weights(*trained(kSmall, training, train)));
}

TEST_F(Training, EveryObjectiveAndReductionLowersItsLoss) {
  for (const NetworkLoss loss :
       {NetworkLoss::kLogTime, NetworkLoss::kHuber, NetworkLoss::kQuantile, NetworkLoss::kRankHinge,
        NetworkLoss::kRankLogistic, NetworkLoss::kRankAllPairs}) {
    for (const Reduction reduction :
         {Reduction::kPerNode, Reduction::kColumnWise, Reduction::kLstm, Reduction::kTransformer}) {
      RandomExamples kernels(11);
      add_learnable(kernels, 12, 4);
      NetworkSpec spec = kSmall;
      spec.reduction = reduction;
      std::vector<double> losses;
      const TrainingSpec training{
          .loss = loss, .epochs = 6, .batch = 6, .learning_rate = 3e-3, .weigh_kernels = true};
      EXPECT_NE(trained(spec, training, kernels, keeping(losses, &EpochReport::loss)), nullptr);
      EXPECT_LT(losses.back(), losses.front())
          << kNetworkLosses[static_cast<std::size_t>(loss)] << ' '
          << kReductions[static_cast<std::size_t>(reduction)];
    }
  }
}

TEST_F(Training, SaysInWhichEpochAndAtWhichRateALossIsNotFinite) {
  RandomExamples kernels(12);
  add_learnable(kernels, 4, 2);
  kernels.examples()[3].target = std::numeric_limits<float>::infinity();
  const std::string error = support::error_of([&] {
    EXPECT_EQ(trained(kSmall, {.epochs = 2, .learning_rate = 0.125, .clip = 0}, kernels), nullptr);
  });
  EXPECT_THAT(error, HasSubstr("not finite in epoch 1 at a learning rate of 0.125"));
  EXPECT_THAT(error, HasSubstr("or set clip"));
}

TEST_F(Training, RefusesNoExamples) {
  RandomExamples none(13);
  EXPECT_THROW((void)trained(kSmall, {}, none), Error);
}

TEST_F(Training, PredictsInAnyCompanyWhatItPredictsAlone) {
  RandomExamples kernels(14);
  for (int i = 0; i < 40; ++i) kernels.add(1 + kernels.below(60), 1);
  for (const Reduction reduction :
       {Reduction::kPerNode, Reduction::kColumnWise, Reduction::kLstm, Reduction::kTransformer}) {
    NetworkSpec spec = kSmall;
    spec.reduction = reduction;
    Network network(spec, kWidths, 3);
    const std::vector<float> together = predictions(network, kernels);
    const std::vector<GraphInput> inputs = kernels.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      float alone = 0;
      predict_network(network, kWidths, std::span(inputs).subspan(i, 1), std::span(&alone, 1));
      EXPECT_NEAR(together[i], alone, 1e-5) << i;
    }
  }
}

TEST_F(Training, PredictsNothingForNothing) {
  Network network(kSmall, kWidths, 3);
  EXPECT_NO_THROW(predict_network(network, kWidths, {}, {}));
}

// Kernel 0: targets 0, 1, 2; kernel 1: one tile; kernel 2: targets 0, 5.
std::vector<GraphExample> six_examples() {
  std::vector<GraphExample> examples;
  for (const auto& [kernel, target] : std::vector<std::pair<std::uint32_t, float>>{
           {0, 0.0F}, {0, 1.0F}, {0, 2.0F}, {1, 4.0F}, {2, 0.0F}, {2, 5.0F}}) {
    examples.push_back({.target = target, .kernel = kernel});
  }
  return examples;
}

TEST(ValidationError, IsTheRootMeanSquareOverRowsOrOfKernels) {
  const std::vector<float> predicted = {1, 1, 2, 4, 0, 2};
  EXPECT_DOUBLE_EQ(validation_error({}, six_examples(), predicted).value(),
                   std::sqrt((1.0 + 9.0) / 6));
  EXPECT_DOUBLE_EQ(validation_error({.weigh_kernels = true}, six_examples(), predicted).value(),
                   std::sqrt((1.0 / 3 + 0.0 + 9.0 / 2) / 3));
}

TEST(ValidationError, OfHuberIsItsMean) {
  const std::vector<float> predicted = {1, 1, 2, 4, 0, 2};  // errors: one of 1, one of 3
  const TrainingSpec huber{.loss = NetworkLoss::kHuber};
  EXPECT_NEAR(validation_error(huber, six_examples(), predicted).value(),
              (1.0 / 2 + (3.0 - 0.5)) / 6, 1e-12);
}

TEST(ValidationError, IsTheShareOfPairsOutOfOrderWithTiesHalf) {
  // Kernel 0: (0, 1) tied, (0, 2) in order, (1, 2) in order; kernel 2: out of order.
  const std::vector<float> predicted = {1, 1, 2, 4, 3, 2};
  const TrainingSpec rank{.loss = NetworkLoss::kRankHinge};
  EXPECT_DOUBLE_EQ(validation_error(rank, six_examples(), predicted).value(), (0.5 + 1.0) / 4);
  const TrainingSpec weighed{.loss = NetworkLoss::kRankHinge, .weigh_kernels = true};
  EXPECT_DOUBLE_EQ(validation_error(weighed, six_examples(), predicted).value(),
                   (0.5 / 3 + 1.0) / 2);
}

TEST(ValidationError, MixesOrderAndSquareAndIsThePinballLossOfAQuantile) {
  const std::vector<float> predicted = {1, 1, 2, 4, 3, 2};
  const TrainingSpec mixed{.loss = NetworkLoss::kRankHinge, .rank_weight = 0.25};
  EXPECT_DOUBLE_EQ(validation_error(mixed, six_examples(), predicted).value(),
                   0.25 * (0.5 + 1.0) / 4 + 0.75 * std::sqrt((1.0 + 9.0 + 9.0) / 6));
  const TrainingSpec quantile{.loss = NetworkLoss::kQuantile, .quantile = 0.1};
  EXPECT_NEAR(validation_error(quantile, six_examples(), predicted).value(),
              (0.9 * 1 + 0.9 * 3 + 0.1 * 3) / 6, 1e-12);
}

TEST(ValidationError, IsAbsentWithoutRowsOrPairs) {
  EXPECT_FALSE(validation_error({}, {}, {}));
  const std::vector<GraphExample> one = {{.target = 1}};
  const std::vector<float> predicted = {2};
  EXPECT_FALSE(validation_error({.loss = NetworkLoss::kRankLogistic}, one, predicted));
}

TEST(Adam, StepsAsLibTorchsDoes) {
  const torch::Tensor start = torch::tensor({0.5F, -1.0F, 2.0F}), goal = torch::zeros(3);
  torch::Tensor ours = start.clone().requires_grad_(true);
  torch::Tensor theirs = start.clone().requires_grad_(true);
  Adam adam({ours}, /*weight_decay=*/0.1, /*clip=*/1);
  torch::optim::AdamW reference({theirs}, torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  for (int step = 0; step < 25; ++step) {
    (ours - goal).pow(4).sum().backward();
    const double norm = adam.step(0.01);
    reference.zero_grad();
    (theirs - goal).pow(4).sum().backward();
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_({theirs}, 1.0), 1e-4 * norm);
    reference.step();
  }
  EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6)) << ours << theirs;
}

TEST(Adam, ChangesNothingForAGradientThatIsNotFinite) {
  torch::Tensor weight = torch::ones(2).requires_grad_(true);
  Adam adam({weight}, 0, 1);
  (weight / torch::zeros(2)).sum().backward();
  EXPECT_FALSE(std::isfinite(adam.step(0.1)));
  EXPECT_TRUE(torch::equal(weight, torch::ones(2)));
  EXPECT_EQ(adam.state().steps, 0U);
}

}  // namespace

// Losses equal their formulas, and gradients equal finite differences.

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
