// A kernel as input of a graph network: opcodes, a row of features per op, and data-flow edges.
//
//   KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
//
// Encodings, each with a schema that documents its columns:
//   kTilecast   shape, layout, dimensions, window, padding, slices, contraction, is_output per op,
//               lists as a fixed sub-vector, sum and product (Kaufman et al., MLSys 2021, 3.1)
//   kSchedule   the tree of a tile's loops (schedule/tree.h; Tomczak et al.,
//               2019): loops, statements, values, buffers, with AutoTVM's loop contexts; edges go
//               from parents to children
//   kText       the tokens of a kernel's text
// In the first, nodes are those of Kernel::ops(), in order. Values are finite and not scaled.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/feature_schema.h"
#include "learned/table_features.h"
#include "schedule/tree.h"

namespace tilecast::learned {

enum class GraphEncoding { kTilecast, kSchedule, kText };
inline constexpr std::string_view kEncodings[] = {"tilecast", "schedule", "text"};
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

// Encodes a query for a network: the kernel as a graph of ops, or its text as a sequence of tokens.
//
//   KernelGraph graph = make_graph(query, device, features);
//
// Text (GraphEncoding::kText): nodes are the tokens in order, opcodes their numbers in the
// vocabulary, and there are no edges. With NumberTokens::kValue each node has one feature, the
// number's value. Thread-safe.

// A network's kernel features and where they enter (Kaufman et al., MLSys 2021, figure 3).
struct NetworkFeatures {
  GraphEncoding encoding = GraphEncoding::kTilecast;
  FeatureSelection at_nodes, at_kernel;  // options 1 and 2
  bool logarithmic = true;               // log scale of FeatureScaler
  Vocabulary vocabulary = {};            // kText only; set by training
};

[[nodiscard]] KernelGraph make_graph(const analytical::KernelQuery& query,
                                     const hwdesc::Device& device, const NetworkFeatures& features);
// Schema of the graphs' node features; its hash also covers the meaning of opcodes.
[[nodiscard]] FeatureSchema node_schema(const NetworkFeatures& features);
[[nodiscard]] std::int32_t opcode_count(const NetworkFeatures& features);

// Key of a graph: on one device, equal keys have equal graphs.
struct GraphKey {
  const ir::Kernel* kernel = nullptr;
  std::string tile = {};  // empty if the graph does not depend on the tile
  auto operator<=>(const GraphKey&) const = default;
};
[[nodiscard]] GraphKey graph_key(const analytical::KernelQuery& query,
                                 const NetworkFeatures& features);

// Features of schedules: nodes of the loop tree (GraphEncoding::kSchedule), and curves over its
// loops (FeatureGroup::kCurve). Internal to kernel_graph.h and table_features.h.

// The tree of a kernel's loops, with edges from parents to children.
[[nodiscard]] KernelGraph schedule_graph(const schedule::LoopProgram& program);
void schedule_columns(const schedule::TreeNode& node, Columns& to);
// Types are the node kinds, followed by elementwise ops by opcode.
[[nodiscard]] std::int32_t schedule_type_count();
[[nodiscard]] std::int32_t schedule_type(const schedule::TreeNode& node);

// Points of a curve: the default of TVM's context-relation features. Thresholds are 4^1 ... 4^20.
inline constexpr std::size_t kCurvePoints = 20;
// Context relations (Chen et al., NeurIPS 2018, section 4): for loop features i and j, at each
// threshold t, the largest log2(1 + i) among loops with j below t; 0 if there are none.
void curve_columns(const schedule::ScheduleTree& tree, Columns& to);

}  // namespace tilecast::learned
