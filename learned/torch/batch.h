// Combines several kernel graphs into one disjoint graph of tensors.
//
//   Batch batch = make_batch(inputs, widths);
//
// Deterministic. Thread-safe.
#pragma once

#include <torch/torch.h>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// N nodes, E edges, G kernels. Nodes of a kernel are contiguous, in topological order.
struct Batch {
  torch::Tensor opcodes;  // (N) int64
  // (N, node + at_nodes) float32: features of node and kernel
  torch::Tensor features;
  torch::Tensor at_kernel;  // (G, at_kernel) float32
  // (E) int64: edge e goes from producers[e] to consumers[e]. All edges by kernel, in the order of
  // KernelGraph::edges; the network uses the first `neighbours` of a node.
  torch::Tensor producers, consumers;
  torch::Tensor kernel_of;            // (N) int64
  torch::Tensor place;                // (N) int64: position in its kernel
  std::vector<std::int64_t> lengths;  // (G) nodes per kernel
};

// Requires well-formed graphs: at least one node; opcodes, edges and widths in range.
[[nodiscard]] Batch make_batch(std::span<const GraphInput> inputs, const NetworkWidths& widths);

}  // namespace tilecast::learned::torch_module
