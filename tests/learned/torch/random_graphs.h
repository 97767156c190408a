// Random kernels for tests of graph networks. Deterministic for a seed.
#pragma once

#include <random>
#include <vector>

#include "learned/graph_network.h"

namespace tilecast::learned {

inline constexpr NetworkWidths kTestWidths{.opcodes = 5, .node = 3, .at_nodes = 2, .at_kernel = 1};

// A network that is quickly computed.
[[nodiscard]] inline NetworkSpec small() {
  NetworkSpec spec;
  spec.hidden = 8;
  spec.opcode_width = 4;
  spec.heads = 2;
  return spec;
}

struct RandomKernel {
  KernelGraph graph;
  std::vector<float> at_nodes, at_kernel;

  [[nodiscard]] GraphInput input() const { return {&graph, at_nodes, at_kernel}; }
};

class RandomKernels {
 public:
  explicit RandomKernels(std::uint64_t seed, const NetworkWidths& widths = kTestWidths)
      : engine_(seed), widths_(widths) {}

  // Each node after the first consumes one or two earlier ones.
  RandomKernel make(int nodes) {
    RandomKernel kernel;
    kernel.at_nodes = row(widths_.at_nodes);
    kernel.at_kernel = row(widths_.at_kernel);
    for (int node = 0; node < nodes; ++node) {
      kernel.graph.opcodes.push_back(below(widths_.opcodes));
      const std::vector<float> features = row(widths_.node);
      kernel.graph.features.insert(kernel.graph.features.end(), features.begin(), features.end());
      kernel.graph.topological.push_back(node);
      if (node == 0) continue;
      const std::int32_t producer = below(node);
      kernel.graph.edges.push_back({producer, node});
      if (producer > 0 && below(2) == 1) kernel.graph.edges.push_back({producer - 1, node});
    }
    return kernel;
  }

  // Sizes from 1 to `largest`.
  std::vector<RandomKernel> make_many(int count, int largest) {
    std::vector<RandomKernel> kernels;
    for (int i = 0; i < count; ++i) kernels.push_back(make(i == 0 ? 1 : 1 + below(largest)));
    return kernels;
  }

  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>(engine_() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::vector<float> row(std::size_t width) {
    std::vector<float> values;
    for (std::size_t i = 0; i < width; ++i) {
      values.push_back(static_cast<float>(engine_() >> 40) * 0x1p-24F);
    }
    return values;
  }

  std::mt19937_64 engine_;
  NetworkWidths widths_;
};

[[nodiscard]] inline std::vector<GraphInput> inputs_of(const std::vector<RandomKernel>& kernels) {
  std::vector<GraphInput> inputs;
  for (const RandomKernel& kernel : kernels) inputs.push_back(kernel.input());
  return inputs;
}

}  // namespace tilecast::learned
