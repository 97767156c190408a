// Draws batches of examples. They depend only on (seed, epoch), so a resumed training draws the
// same batches as an uninterrupted one.
//
//   Sampler sampler(examples, training, /*pads=*/true);
//   for (const std::vector<std::uint32_t>& batch : sampler.epoch(1)) ...      // rows of `examples`
//
// The unit drawn is an example or, when ranking, a group of tiles of one kernel. A kernel's tiles
// are shuffled and split into the fewest groups of at most TrainingSpec::tiles, of nearly equal
// size. Kernels without two different targets cannot be ranked and are left out of a pure rank
// loss.
//
//   Balance::kNone    every example, or every group, once
//   Balance::kFamily  families alternate, in a new order each round; a family's examples or groups
//                     are drawn without replacement until exhausted, then again. An epoch
//                     ends after as many examples as the data set has.
//
// A batch has TrainingSpec::batch examples or groups, or fewer to stay within kBatchNodes. If the
// network pads (sequences, attention), the examples of a batch have similar numbers of nodes:
// several batches are drawn together, sorted by size and split, and the order of all batches is
// shuffled. Padding then counts as nodes.
#pragma once

#include <random>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// Activations of 64 floats for this many nodes take 2 MB, so that several fit a core's caches.
inline constexpr std::size_t kBatchNodes = 8192;

// Seed of an independent random stream for each pair: dropout and draws of an epoch or step.
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::uint64_t number);

// Whether the reduction pads kernels to the largest of their batch.
[[nodiscard]] constexpr bool pads(Reduction reduction) {
  return reduction == Reduction::kLstm || reduction == Reduction::kTransformer;
}

using Rows = std::vector<std::uint32_t>;

class Sampler {
 public:
  // `examples` must outlive this. Throws Error if there are none, or nothing to rank.
  Sampler(std::span<const GraphExample> examples, const TrainingSpec& training, bool pads);

  // Batches of rows of an epoch, counted from 1; rows of a group are adjacent. Thread-safe.
  [[nodiscard]] std::vector<Rows> epoch(int epoch) const;
  // Weight by example; with TrainingSpec::weigh_kernels divided by the number of examples (or
  // groups) of its kernel. Scaled to average 1 over the examples (or groups). Empty if all weights
  // are equal: kernels are not weighed, and all examples weigh 1 or the loss is purely of ranks.
  [[nodiscard]] const std::vector<float>& weights() const { return weights_; }

 private:
  [[nodiscard]] std::vector<Rows> shuffled_groups(const std::vector<Rows>& kernels,
                                                  std::mt19937_64& random) const;
  [[nodiscard]] std::vector<Rows> balanced(std::mt19937_64& random) const;
  [[nodiscard]] std::vector<Rows> cut(std::span<const Rows> drawn) const;
  [[nodiscard]] std::size_t group_count(const Rows& kernel) const;
  [[nodiscard]] std::size_t nodes(std::uint32_t row) const;
  void weigh_kernels();
  void weigh_examples();

  std::span<const GraphExample> examples_;
  TrainingSpec training_;
  bool pads_ = false;
  std::vector<std::vector<Rows>>
      families_;  // by family (a single one if not balanced): see shuffled_groups()
  std::vector<float> weights_;
  std::size_t drawable_ = 0;
};

// Splits graphs, given their numbers of nodes, into batches of similar size for prediction, each
// with at most `rows` graphs and `most_nodes` nodes with padding. Smallest first.
[[nodiscard]] std::vector<Rows> buckets(std::span<const std::size_t> nodes, std::size_t rows,
                                        std::size_t most_nodes = kBatchNodes);

}  // namespace tilecast::learned::torch_module
