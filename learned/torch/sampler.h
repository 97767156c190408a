// Which examples make which batch. Everything follows from (seed, epoch): a training that resumes
// at an epoch draws what one that never stopped would.
//
//   Sampler sampler(examples, training, /*pads=*/true);
//   for (const std::vector<std::uint32_t>& batch : sampler.epoch(1)) ...      // rows of `examples`
//
// What is drawn is an example or, when ranking, a group: some tiles of one kernel. A kernel's tiles
// are shuffled and split into as few groups of at most TrainingSpec::tiles as will do, of nearly
// equal size. Kernels without two different targets have nothing to rank and are left out where
// the loss is all of ranks.
//
//   Balance::kNone    every example, or every group, once
//   Balance::kFamily  families in turn, in a new order each round; a family's examples or groups
//                     without replacement until it is exhausted, then all of them anew. An epoch
//                     ends when as many examples are drawn as there are.
//
// A batch holds TrainingSpec::batch examples or groups, fewer where it would exceed kBatchNodes.
// When the network pads (sequences, attention), those of a batch have similar numbers of nodes: of
// some batches drawn together, neighbours in size are put together, and the order of all batches is
// shuffled. Padding counts as nodes then.
#pragma once

#include <random>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// Activations of 64 floats for this many nodes are 2 MB: some of them fit a core's caches.
inline constexpr std::size_t kBatchNodes = 8192;

// An independent stream for each pair: dropout and draws of an epoch or a step.
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::uint64_t number);

// Whether the reduction pads kernels to the largest of their batch.
[[nodiscard]] constexpr bool pads(Reduction reduction) {
  return reduction == Reduction::kLstm || reduction == Reduction::kTransformer;
}

using Rows = std::vector<std::uint32_t>;

class Sampler {
 public:
  // `examples` must outlive it. Throws Error when there is none, or nothing to rank.
  Sampler(std::span<const GraphExample> examples, const TrainingSpec& training, bool pads);

  // From 1. Batches of rows; those of a group stand together. Thread-safe.
  [[nodiscard]] std::vector<Rows> epoch(int epoch) const;
  // By example: its weight; with TrainingSpec::weigh_kernels over the examples (or groups) of its
  // kernel. Scaled to average 1 over the examples (or groups). Empty when all count the same:
  // kernels are not weighed, and examples all weigh 1 or are ranked alone.
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
      families_;  // by family (one of all, not balanced): see shuffled_groups()
  std::vector<float> weights_;
  std::size_t drawable_ = 0;
};

// Rows of `nodes` (nodes of each graph) in batches of similar size, each of at most `rows` and of
// `most_nodes` with padding: what predictions are asked in. Smallest first.
[[nodiscard]] std::vector<Rows> buckets(std::span<const std::size_t> nodes, std::size_t rows,
                                        std::size_t most_nodes = kBatchNodes);

}  // namespace tilecast::learned::torch_module
