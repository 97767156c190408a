// A kernel as a graph network sees it: opcodes, a row of features per op, and the edges of data.
//
//   KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
//
// Two encodings, each with a schema that explains its columns:
//   kTilecast   shape, layout, dimensions, window, padding, slices, contraction, is_output per op,
//               lists as a fixed sub-vector, sum and product (Kaufman et al., MLSys 2021, 3.1)
//   kTpuGraphs  the 140 node features and the opcode numbers of TpuGraphs (Phothilimthana et al.,
//               NeurIPS 2023)
// kText is none of ops: kernel_encoding.h makes it, and asks this for the others.
// Nodes are those of Kernel::ops(), in their order. Values are finite and not scaled. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "learned/feature_schema.h"

namespace tilecast::learned {

enum class GraphEncoding { kTilecast, kTpuGraphs, kText };
inline constexpr std::string_view kEncodings[] = {"tilecast", "tpugraphs", "text"};
[[nodiscard]] constexpr std::string_view name(GraphEncoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}

struct GraphEdge {
  std::int32_t producer = 0, consumer = 0;  // nodes
  friend bool operator==(const GraphEdge&, const GraphEdge&) = default;
};

struct KernelGraph {
  std::vector<std::int32_t> opcodes;  // per node, below opcode_count()
  std::vector<float> features;        // nodes x width, row-major
  std::vector<GraphEdge> edges;       // each once; producers need not stand first
  // Nodes in an order in which producers stand before consumers: what sequence models read. The
  // results' trees depth first, operands in their order: numbering the nodes otherwise changes
  // nothing.
  std::vector<std::int32_t> topological;

  [[nodiscard]] std::size_t nodes() const { return opcodes.size(); }
};

[[nodiscard]] KernelGraph make_graph(const ir::Kernel& kernel, GraphEncoding encoding);
// Names the columns of KernelGraph::features and, through its hash, the numbers of the opcodes.
[[nodiscard]] const FeatureSchema& node_schema(GraphEncoding encoding);
[[nodiscard]] std::int32_t opcode_count(GraphEncoding encoding);

}  // namespace tilecast::learned
