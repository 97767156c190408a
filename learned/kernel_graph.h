// A kernel as input of a graph network: opcodes, a row of features per op, and data-flow edges.
//
//   KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
//
// Encodings, each with a schema that documents its columns:
//   kTilecast   shape, layout, dimensions, window, padding, slices, contraction, is_output per op,
//               lists as a fixed sub-vector, sum and product (Kaufman et al., MLSys 2021, 3.1)
//   kTpuGraphs  the 140 node features and the opcode numbers of TpuGraphs (Phothilimthana et al.,
//               NeurIPS 2023)
//   kSchedule   the tree of a tile's loops (schedule/tree.h; Tomczak et al.,
//               2019): loops, statements, values, buffers, with AutoTVM's loop contexts; edges go
//               from parents to children
// kText is built by kernel_encoding.h, which calls this for the others. In the first two, nodes are
// those of Kernel::ops(), in order. Values are finite and not scaled. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/feature_schema.h"

namespace tilecast::learned {

enum class GraphEncoding { kTilecast, kTpuGraphs, kSchedule, kText };
inline constexpr std::string_view kEncodings[] = {"tilecast", "tpugraphs", "schedule", "text"};
// Whether the graph depends on the kernel's tile.
[[nodiscard]] constexpr bool sees_tile(GraphEncoding encoding) {
  return encoding == GraphEncoding::kSchedule;
}
[[nodiscard]] constexpr std::string_view name(GraphEncoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}

struct GraphEdge {
  std::int32_t producer = 0, consumer = 0;  // node indices
  friend bool operator==(const GraphEdge&, const GraphEdge&) = default;
};

struct KernelGraph {
  std::vector<std::int32_t> opcodes;  // per node, below opcode_count()
  std::vector<float> features;        // nodes x width, row-major
  std::vector<GraphEdge> edges;       // no duplicates; producers may come after consumers
  // Nodes in topological order, for sequence models: depth first from the results, operands in
  // order, so that it does not depend on how nodes are numbered.
  std::vector<std::int32_t> topological;

  [[nodiscard]] std::size_t nodes() const { return opcodes.size(); }
};

// Throws Error for a kernel without ops, and for kSchedule also for one without loops
// (schedule/tile_schedule.h).
[[nodiscard]] KernelGraph make_graph(const analytical::KernelQuery& query,
                                     const hwdesc::Device& device, GraphEncoding encoding);
// The same for a kernel without a tile.
[[nodiscard]] KernelGraph make_graph(const ir::Kernel& kernel, GraphEncoding encoding);
// Schema of KernelGraph::features; its hash also covers the numbering of opcodes.
[[nodiscard]] const FeatureSchema& node_schema(GraphEncoding encoding);
[[nodiscard]] std::int32_t opcode_count(GraphEncoding encoding);

}  // namespace tilecast::learned
