// Columns of node features, told once: the same calls name the columns of a schema or fill a row.
// A part of kernel_graph.h and tpugraphs_graph.h.
//
//   void columns(const Op& op, NodeColumns& to) { to.value("rank", "1", "Dimensions.", ...); }
//   NodeColumns names(&schema);  columns(Op(), names);
//   NodeColumns row(floats);     columns(op, row);
//
// Values are clamped to what a float holds. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "learned/feature_schema.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

class NodeColumns {
 public:
  // What a column or a list of columns is called and means.
  struct Text {
    std::string_view name, unit, doc;
  };
  using List = const ir::Dims&;

  explicit NodeColumns(FeatureSchema* schema) : schema_(schema) {}
  explicit NodeColumns(std::vector<float>* rows) : rows_(rows) {}  // appends

  void value(const Text& text, double value);
  // NAME.0 ... NAME.(n - 1): the first n values, then zeros.
  void entries(const Text& text, List values, std::size_t n);
  void sum(const Text& text, List values);
  void product(const Text& text, List values, double of_none);
  // All three.
  void list(const Text& text, List values, std::size_t n, double product_of_none);

 private:
  void name_column(const Text& text, std::string_view suffix, std::string_view doc);

  FeatureSchema* schema_ = nullptr;
  std::vector<float>* rows_ = nullptr;
};

// A node as both encodings read it. Borrowed; null: none.
struct NodeView {
  ir::Opcode opcode = ir::Opcode::kParameter;
  const ir::Shape* shape = nullptr;
  const ir::Dims* dimensions = nullptr;
  const ir::OpAttrs* attrs = nullptr;
  const ir::Kernel* kernel = nullptr;  // where `op` is from; kTilecast only
  const ir::Op* op = nullptr;
  std::int64_t parameter = 0;  // its number, of parameters
  std::int64_t users = 0;
  bool is_output = false, is_stable = false;

  template <class T>
  [[nodiscard]] const T* get() const {
    return attrs == nullptr ? nullptr : std::get_if<T>(attrs);
  }
};

void tilecast_columns(const NodeView& node, NodeColumns& to);
void tpugraphs_columns(const NodeView& node, NodeColumns& to);

// Adds the edges of one consumer after another, each once.
class EdgeList {
 public:
  explicit EdgeList(KernelGraph& graph) : graph_(graph), last_(graph.nodes(), -1) {}
  void add(std::int32_t producer, std::int32_t consumer);

 private:
  KernelGraph& graph_;
  std::vector<std::int32_t> last_;  // consumer that an edge went to, by producer
};

// Fills KernelGraph::topological: `roots` depth first, then what none of them reaches. Operands of
// a node come in the order of its edges.
void order_nodes(const std::vector<std::int32_t>& roots, KernelGraph& graph);

}  // namespace tilecast::learned
