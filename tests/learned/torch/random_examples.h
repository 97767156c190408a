// Examples with random graphs, features and targets for the tests of training.
#pragma once

#include <deque>
#include <random>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// Owns the data that examples() refers to.
class RandomExamples {
 public:
  static constexpr std::int32_t kOpcodes = 7;

  explicit RandomExamples(std::uint64_t seed) : random_(seed) {}
  RandomExamples(const RandomExamples&) = delete;
  RandomExamples& operator=(const RandomExamples&) = delete;

  [[nodiscard]] static NetworkWidths widths() {
    return {.opcodes = kOpcodes, .node = 5, .at_nodes = 3, .at_kernel = 2};
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] float unit() {  // [0, 1)
    return static_cast<float>(random_() >> 40) * 0x1p-24F;
  }

  // Adds a kernel: `tiles` examples that share a graph of `nodes` nodes.
  void add(std::size_t nodes, std::size_t tiles, std::uint32_t family = 0) {
    const KernelGraph& graph = graphs_.emplace_back(chain_with_shortcuts(nodes));
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      std::vector<float>& features = features_.emplace_back();
      for (int i = 0; i < 5; ++i) features.push_back(unit());
      const GraphInput input{.graph = &graph,
                             .at_nodes = std::span<const float>(features).first(3),
                             .at_kernel = std::span<const float>(features).last(2)};
      examples_.push_back(
          {.input = input, .target = 2 * unit() - 1, .kernel = kernels_, .family = family});
    }
    ++kernels_;
  }

  [[nodiscard]] std::vector<GraphExample>& examples() { return examples_; }
  [[nodiscard]] std::vector<GraphInput> inputs() const {
    std::vector<GraphInput> inputs;
    for (const GraphExample& example : examples_) inputs.push_back(example.input);
    return inputs;
  }

 private:
  KernelGraph chain_with_shortcuts(std::size_t nodes) {
    KernelGraph graph;
    for (std::size_t node = 0; node < nodes; ++node) {
      const auto number = static_cast<std::int32_t>(node);
      graph.opcodes.push_back(static_cast<std::int32_t>(below(kOpcodes)));
      graph.topological.push_back(number);
      for (std::size_t i = 0; i < widths().node; ++i) graph.features.push_back(unit());
      if (node > 0) graph.edges.push_back({.producer = number - 1, .consumer = number});
      if (node > 2 && below(2) == 0) {
        graph.edges.push_back(
            {.producer = static_cast<std::int32_t>(below(node - 1)), .consumer = number});
      }
    }
    return graph;
  }

  std::mt19937_64 random_;
  std::deque<KernelGraph> graphs_;
  std::deque<std::vector<float>> features_;
  std::vector<GraphExample> examples_;
  std::uint32_t kernels_ = 0;
};

}  // namespace tilecast::learned::torch_module
