// The samples of an epoch, and their batches.
#include "learned/torch/sampler.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "random_examples.h"
#include "tests/support/errors.h"

namespace tilecast::learned::torch_module {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Rows flat(const std::vector<Rows>& batches) {
  Rows rows;
  for (const Rows& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  return rows;
}

std::map<std::uint32_t, std::size_t> times_drawn(const Rows& rows) {
  std::map<std::uint32_t, std::size_t> times;
  for (const std::uint32_t row : rows) ++times[row];
  return times;
}

// 2 families: 30 kernels of 1 ... 5 tiles, 3 kernels of 4 tiles.
struct TwoFamilies {
  RandomExamples kernels{1};
  TwoFamilies() {
    for (std::size_t i = 0; i < 30; ++i) kernels.add(3 + i % 17, 1 + i % 5, 10);
    for (std::size_t i = 0; i < 3; ++i) kernels.add(4, 4, 20);
  }
};

constexpr std::size_t kLargeFamily = 30 * 3, kSmallFamily = 3 * 4;  // examples of the families

TEST(Sampler, DrawsEveryExampleOnceWhenNotBalanced) {
  TwoFamilies sets;
  const Sampler sampler(sets.kernels.examples(), {.batch = 16, .balance = Balance::kNone}, false);
  const std::vector<Rows> batches = sampler.epoch(1);
  Rows rows = flat(batches);
  std::ranges::sort(rows);
  Rows all(kLargeFamily + kSmallFamily);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(rows, all);
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_EQ(batches[i].size(), 16U);
}

TEST(Sampler, FollowsFromSeedAndEpoch) {
  TwoFamilies sets;
  for (const Balance balance : {Balance::kNone, Balance::kFamily}) {
    const TrainingSpec spec{.balance = balance, .seed = 5};
    const Sampler sampler(sets.kernels.examples(), spec, true);
    EXPECT_EQ(sampler.epoch(3), Sampler(sets.kernels.examples(), spec, true).epoch(3));
    EXPECT_NE(flat(sampler.epoch(3)), flat(sampler.epoch(4)));
    TrainingSpec other = spec;
    other.seed = 6;
    EXPECT_NE(flat(sampler.epoch(3)), flat(Sampler(sets.kernels.examples(), other, true).epoch(3)));
  }
}

TEST(Sampler, DrawsFamiliesEvenlyAndEachWithoutReplacementUntilItIsExhausted) {
  TwoFamilies sets;
  const Sampler sampler(sets.kernels.examples(), {.balance = Balance::kFamily}, false);
  const auto times = times_drawn(flat(sampler.epoch(1)));
  std::map<std::uint32_t, std::size_t> by_family;
  for (const auto& [row, count] : times) by_family[sets.kernels.examples()[row].family] += count;
  constexpr std::size_t kHalf = (kLargeFamily + kSmallFamily) / 2;
  EXPECT_EQ(by_family[10], kHalf);
  EXPECT_EQ(by_family[20], kHalf);
  for (const auto& [row, count] : times) {
    if (sets.kernels.examples()[row].family == 10) {
      EXPECT_EQ(count, 1U);
    } else {
      EXPECT_GE(count, kHalf / kSmallFamily);
      EXPECT_LE(count, kHalf / kSmallFamily + 1);
    }
  }
}

TEST(Sampler, ReachesAllExamplesOfALargeFamilyWithTheEpochs) {
  TwoFamilies sets;
  const Sampler sampler(sets.kernels.examples(), {.balance = Balance::kFamily}, false);
  std::set<std::uint32_t> seen;
  for (int epoch = 1; epoch <= 12; ++epoch) {
    const Rows rows = flat(sampler.epoch(epoch));
    seen.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(seen.size(), kLargeFamily + kSmallFamily);
}

TEST(Sampler, DealsTilesInHandsOfOneKernel) {
  RandomExamples kernels(2);
  for (int i = 0; i < 6; ++i) kernels.add(5, 21);
  const Sampler sampler(
      kernels.examples(),
      {.loss = NetworkLoss::kRankHinge, .batch = 4, .tiles = 8, .balance = Balance::kNone}, false);
  const std::vector<Rows> batches = sampler.epoch(1);
  EXPECT_EQ(times_drawn(flat(batches)).size(), 6U * 21);
  // 21 tiles are three groups of seven; a batch has four groups.
  ASSERT_EQ(batches.size(), (6U * 3 + 3) / 4);
  for (const Rows& batch : batches) {
    ASSERT_EQ(batch.size() % 7, 0U);
    EXPECT_LE(batch.size(), 4U * 7);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(kernels.examples()[batch[i]].kernel, kernels.examples()[batch[i - i % 7]].kernel);
    }
  }
}

TEST(Sampler, BalancesHandsByFamilyWhenRanking) {
  RandomExamples kernels(3);
  for (int i = 0; i < 20; ++i) kernels.add(5, 8, 1);
  kernels.add(5, 8, 2);
  const Sampler sampler(kernels.examples(), {.loss = NetworkLoss::kRankLogistic, .tiles = 4},
                        false);
  std::map<std::uint32_t, std::size_t> by_family;
  for (const std::uint32_t row : flat(sampler.epoch(1))) {
    ++by_family[kernels.examples()[row].family];
  }
  EXPECT_EQ(by_family[1], 21U * 8 / 2);
  EXPECT_EQ(by_family[2], 21U * 8 / 2);
}

TEST(Sampler, LeavesOutKernelsThatCannotBeRanked) {
  RandomExamples kernels(4);
  kernels.add(3, 1);
  kernels.add(3, 4);
  kernels.add(3, 2);
  kernels.examples()[5].target = kernels.examples()[6].target = 1;
  const Sampler sampler(kernels.examples(), {.loss = NetworkLoss::kRankHinge}, false);
  Rows rows = flat(sampler.epoch(1));
  std::ranges::sort(rows);
  EXPECT_EQ(rows, (Rows{1, 2, 3, 4}));
}

TEST(Sampler, KeepsThemWhereTheirTimesAreLearnedToo) {
  RandomExamples kernels(4);
  kernels.add(3, 1);
  kernels.add(3, 4);
  const TrainingSpec training{.loss = NetworkLoss::kRankHinge, .rank_weight = 0.5};
  Rows rows = flat(Sampler(kernels.examples(), training, false).epoch(1));
  std::ranges::sort(rows);
  EXPECT_EQ(rows, (Rows{0, 1, 2, 3, 4}));
}

TEST(Sampler, RefusesNothingToDraw) {
  const std::vector<GraphExample> none;
  EXPECT_THROW(Sampler(none, {}, false), Error);
  RandomExamples kernels(5);
  kernels.add(3, 1);
  kernels.add(3, 1);
  EXPECT_THAT(support::error_of([&] {
                const Sampler sampler(kernels.examples(), {.loss = NetworkLoss::kRankHinge}, false);
              }),
              HasSubstr("nothing to rank; got 2 examples of 2 kernels"));
}

TEST(Sampler, WeighsKernelsTheSame) {
  TwoFamilies sets;
  for (const NetworkLoss loss : {NetworkLoss::kLogTime, NetworkLoss::kRankHinge}) {
    const Sampler sampler(sets.kernels.examples(),
                          {.loss = loss, .tiles = 2, .weigh_kernels = true}, false);
    std::map<std::uint32_t, double> by_kernel;
    double sum = 0, count = 0;
    for (std::size_t row = 0; row < sampler.weights().size(); ++row) {
      const GraphExample& example = sets.kernels.examples()[row];
      const auto weight = static_cast<double>(sampler.weights()[row]);
      if (ranks(loss) && weight == 0) continue;  // a kernel of one tile
      by_kernel[example.kernel] += weight;
      sum += weight;
      ++count;
    }
    if (ranks(loss)) {
      EXPECT_EQ(by_kernel.size(), 33U - 6);
    } else {
      EXPECT_NEAR(sum / count, 1, 1e-6);
      for (const auto& [kernel, weight] : by_kernel) {
        EXPECT_NEAR(weight, sum / 33, 1e-5) << kernel;
      }
    }
  }
  EXPECT_TRUE(Sampler(sets.kernels.examples(), {}, false).weights().empty());
}

TEST(Sampler, WeighsHandsByTheHandsOfTheirKernel) {
  RandomExamples kernels(6);
  kernels.add(3, 4);
  kernels.add(3, 12);
  const Sampler sampler(kernels.examples(),
                        {.loss = NetworkLoss::kRankHinge, .tiles = 4, .weigh_kernels = true},
                        false);
  // Groups of one and three: weights w, w / 3, w / 3, w / 3 with mean 1.
  EXPECT_NEAR(sampler.weights()[0], 2, 1e-6);
  EXPECT_NEAR(sampler.weights()[4], 2.0 / 3, 1e-6);
}

TEST(Sampler, MultipliesTheWeightsOfExamplesThatDiffer) {
  RandomExamples kernels(9);
  kernels.add(3, 2);
  kernels.add(3, 2);
  EXPECT_TRUE(Sampler(kernels.examples(), {}, false).weights().empty());
  for (std::size_t row = 2; row < 4; ++row) kernels.examples()[row].weight = 0.25F;
  EXPECT_THAT(Sampler(kernels.examples(), {}, false).weights(),
              ElementsAre(1 / 0.625F, 1 / 0.625F, 0.25F / 0.625F, 0.25F / 0.625F));
  const Sampler ranked(kernels.examples(), {.loss = NetworkLoss::kRankHinge, .weigh_kernels = true},
                       false);
  EXPECT_THAT(ranked.weights(),
              ElementsAre(1 / 0.625F, 1 / 0.625F, 0.25F / 0.625F, 0.25F / 0.625F));
  EXPECT_TRUE(
      Sampler(kernels.examples(), {.loss = NetworkLoss::kRankHinge}, false).weights().empty());
}

TEST(Sampler, BoundsTheNodesOfABatchAndBatchesSimilarSizesWhenPadding) {
  RandomExamples kernels(7);
  for (std::size_t i = 0; i < 300; ++i) kernels.add(1 + kernels.below(400), 1);
  for (const bool pads : {false, true}) {
    const Sampler sampler(kernels.examples(), {.batch = 64, .balance = Balance::kNone}, pads);
    const std::vector<Rows> batches = sampler.epoch(1);
    EXPECT_EQ(times_drawn(flat(batches)).size(), 300U);
    std::size_t padded = 0, nodes = 0;
    for (const Rows& batch : batches) {
      std::size_t largest = 0, sum = 0;
      for (const std::uint32_t row : batch) {
        const std::size_t size = kernels.examples()[row].input.graph->nodes();
        largest = std::max(largest, size);
        sum += size;
      }
      EXPECT_LE(batch.size(), 64U);
      EXPECT_LE(pads ? largest * batch.size() : sum, kBatchNodes);
      padded += largest * batch.size();
      nodes += sum;
    }
    const double waste = static_cast<double>(padded) / static_cast<double>(nodes);
    if (pads) {
      EXPECT_LT(waste, 1.2);
    } else {
      EXPECT_GT(waste, 1.5);
    }
  }
}

TEST(Sampler, TakesAGraphLargerThanABatch) {
  RandomExamples kernels(8);
  kernels.add(kBatchNodes + 1, 2);
  kernels.add(3, 2);
  const Sampler sampler(kernels.examples(), {.balance = Balance::kNone}, true);
  EXPECT_EQ(times_drawn(flat(sampler.epoch(1))).size(), 4U);
}

TEST(Buckets, HoldEveryRowOnceBySize) {
  const std::vector<std::size_t> nodes = {9, 2, 5000, 2, 5000, 7};
  EXPECT_EQ(buckets(nodes, 2), (std::vector<Rows>{{1, 3}, {5, 0}, {2}, {4}}));
  EXPECT_TRUE(buckets({}, 2).empty());
}

TEST(Draws, CoverTheirRangeEvenly) {
  std::mt19937_64 random(11);
  std::array<double, 7> counts = {};
  constexpr double kDraws = 70'000;
  for (int i = 0; i < static_cast<int>(kDraws); ++i) ++counts[base::draw(random, counts.size())];
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - kDraws / 7) * (count - kDraws / 7) / (kDraws / 7);
  }
  EXPECT_LT(chi_square, 22.5);  // 99.9 % for 6 degrees of freedom
}

}  // namespace
}  // namespace tilecast::learned::torch_module
