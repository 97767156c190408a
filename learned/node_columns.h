// Node features of the encodings kTilecast and kTpuGraphs. Internal to kernel_graph.h.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "learned/feature_schema.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

// Pointers are borrowed; nullptr if absent.
struct NodeView {
  ir::Opcode opcode = ir::Opcode::kParameter;
  const ir::Shape* shape = nullptr;
  const ir::Dims* dimensions = nullptr;
  const ir::OpAttrs* attrs = nullptr;
  const ir::Kernel* kernel = nullptr;  // the kernel of `op`; kTilecast only
  const ir::Op* op = nullptr;
  std::int64_t parameter = 0;  // parameter number, for parameters
  std::int64_t users = 0;
  bool is_output = false, is_stable = false;

  template <class T>
  [[nodiscard]] const T* get() const {
    return attrs == nullptr ? nullptr : attrs->get<T>();
  }
};

// The window of a convolution or reduction.
struct NodeWindow {
  explicit NodeWindow(const NodeView& node);

  const ir::Window* window = nullptr;
  const ir::ConvDims* conv = nullptr;
  std::int64_t feature_groups = 0, batch_groups = 0;
};

// Collects one member of every entry of a list; `entries` may be nullptr.
template <class Entries, class Member>
ir::Dims members_of(const Entries* entries, Member member) {
  ir::Dims found;
  if (entries == nullptr) return found;
  for (const auto& entry : *entries) found.push_back(entry.*member);
  return found;
}

void tilecast_columns(const NodeView& node, Columns& to);
void tpugraphs_columns(const NodeView& node, Columns& to);
// The opcode number of TpuGraphs; 0 (unused there) for opcodes without one.
[[nodiscard]] std::int32_t tpugraphs_opcode(ir::Opcode opcode);

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
