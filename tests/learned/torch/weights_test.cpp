// The file of a network's weights: reading it back, and errors.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "learned/torch/network.h"
#include "tests/learned/torch/random_graphs.h"
#include "tests/support/errors.h"

namespace tilecast::learned::torch_module {
namespace {

std::string refusal(const std::string& weights, const NetworkSpec& spec = small()) {
  Network network(spec, kTestWidths, 9);
  const std::string before = save_weights(network);
  const std::string reason = support::error_of([&] { load_weights(network, weights); }, "");
  EXPECT_TRUE(reason.empty() || save_weights(network) == before);
  return reason;
}

TEST(Weights, AreReadBackToTheSameBytesAndPredictions) {
  RandomKernels random(12);
  const RandomKernel kernel = random.make(9);
  const Batch batch = make_batch(std::vector<GraphInput>{kernel.input()}, kTestWidths);
  for (std::size_t i = 0; i < std::size(kGraphLayers); ++i) {
    NetworkSpec spec = small();
    spec.graph = static_cast<GraphLayer>(i);
    spec.reduction = static_cast<Reduction>(i % std::size(kReductions));
    Network network(spec, kTestWidths, 3), other(spec, kTestWidths, 4);
    load_weights(other, save_weights(network));
    EXPECT_EQ(save_weights(other), save_weights(network));
    EXPECT_TRUE(torch::equal(other.forward(batch), network.forward(batch)));
  }
}

TEST(Weights, OfAnotherNetworkAreRefusedWithTheDifference) {
  Network network(small(), kTestWidths, 3);
  NetworkSpec wider = small(), other = small();
  wider.hidden = 16;
  other.aggregate = Aggregate::kMax;  // tensors of the same shapes
  EXPECT_NE(refusal(save_weights(network), wider).find("hidden=8', expected 'hidden=16"),
            std::string::npos);
  EXPECT_NE(refusal(save_weights(network), other).find("aggregate=mean', expected 'aggregate=max"),
            std::string::npos);
}

TEST(Weights, ThatAreNotNumbersAreRefused) {
  Network network(small(), kTestWidths, 3);
  {
    const torch::NoGradGuard no_gradients;
    network.parameters().back().fill_(std::nan(""));
  }
  EXPECT_NE(refusal(save_weights(network)).find("expected numbers"), std::string::npos);
}

TEST(Weights, CutShortOrContinuedAreRefused) {
  Network network(small(), kTestWidths, 3);
  const std::string weights = save_weights(network);
  for (std::size_t size = 0; size < weights.size(); size += 1 + size / 8) {
    EXPECT_NE(refusal(weights.substr(0, size)), "") << size;
  }
  EXPECT_NE(refusal(weights + "x"), "");
  EXPECT_NE(refusal(weights + weights), "");
  EXPECT_EQ(refusal(weights), "");
}

std::uint64_t fnv1a(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  }
  return hash;
}

// Also with a correct checksum, so that sizes, ranks and names are tested.
TEST(Weights, DamagedAreRefusedAndNeverCrash) {
  Network network(small(), kTestWidths, 3);
  const std::string weights = save_weights(network);
  RandomKernels random(13);
  int refused = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string damaged = weights;
    // Mostly near the start, which contains more sizes than numbers.
    const int near = trial % 2 == 0 ? 600 : static_cast<int>(weights.size()) - 8;
    const auto at = static_cast<std::size_t>(random.below(near));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    EXPECT_NE(refusal(damaged).find("network weights:"), std::string::npos) << at;
    damaged.resize(damaged.size() - 8);
    const std::uint64_t fits = fnv1a(damaged);
    damaged.append(reinterpret_cast<const char*>(&fits), sizeof fits);
    refused += refusal(damaged).empty() ? 0 : 1;  // a flipped bit in a weight is not detected
  }
  EXPECT_GT(refused, kTrials / 4);
}

}  // namespace
}  // namespace tilecast::learned::torch_module
