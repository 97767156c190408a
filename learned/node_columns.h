// Node features of the encoding kTilecast. Internal to kernel_graph.h.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "learned/feature_schema.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

// An op of a kernel. Pointers are borrowed; nullptr to only name the columns.
struct NodeView {
  const ir::Kernel* kernel = nullptr;
  const ir::Op* op = nullptr;
  std::size_t users = 0;
  bool is_output = false;
};

void tilecast_columns(const NodeView& node, Columns& to);

// Adds edges without duplicates; all edges of one consumer must be added consecutively.
class EdgeList {
 public:
  explicit EdgeList(KernelGraph& graph) : graph_(graph), last_(graph.nodes(), -1) {}
  void add(std::int32_t producer, std::int32_t consumer);

 private:
  KernelGraph& graph_;
  std::vector<std::int32_t> last_;  // by producer: the consumer of its last edge
};

// Fills KernelGraph::topological: depth first from `roots`, then unreachable nodes. Operands of a
// node are visited in the order of its edges.
void order_nodes(const std::vector<std::int32_t>& roots, KernelGraph& graph);

}  // namespace tilecast::learned
