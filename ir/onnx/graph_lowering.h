// Lowers an ONNX model to a Module: nodes in order, each through the table of ops. Model-local
// functions, and ops defined as functions of other ops, are lowered through their bodies.
#pragma once

#include "ir/onnx/node_site.h"
#include "ir/read_module.h"

namespace tilecast::ir::onnx_reader {

class GraphLowering {
 public:
  GraphLowering(const ::onnx::ModelProto& model, const ReadOptions& options, Module& module);

  // Fills the module; throws Error.
  void run();
  // Lowers a graph whose inputs are in `scope`; returns its results.
  [[nodiscard]] Terms lower_graph(const ::onnx::GraphProto& graph, Emitter& emitter, Scope& scope);
  // A subgraph of a node, with the outer values that it uses. Literals are used directly; other
  // values become operands of the computation.
  struct Region {
    const ::onnx::GraphProto& graph;
    std::vector<std::string> names;  // of `captured`
    Terms captured;
    Scope literals;
  };
  [[nodiscard]] Region region(const NodeSite& site, const char* attribute) const;
  [[nodiscard]] Terms lower_region(const Region& region, Emitter& emitter, const Terms& inputs,
                                   const Terms& captured);
  // The sizes declared in the file for a value of the main graph, -1 for free dimensions; empty if
  // not declared.
  [[nodiscard]] Dims declared(const std::string& value) const;
  void warn(std::string text) { module_.warnings.push_back(std::move(text)); }
  // Shapes of the lowered values that have a name, for checks against the declared shapes.
  [[nodiscard]] const std::map<std::string, Shape>& shapes() const { return shapes_; }

 private:
  void bind_inputs(Emitter& entry, Scope& scope);
  [[nodiscard]] Shape input_shape(const ::onnx::ValueInfoProto& input);
  void bind_initializers(const ::onnx::GraphProto& graph, Emitter& emitter, Scope& scope);
  void lower_node(const ::onnx::NodeProto& node, Emitter& emitter, Scope& scope);
  [[nodiscard]] Terms lower_by_row_or_body(const NodeSite& site);
  [[nodiscard]] Terms lower_function(const ::onnx::FunctionProto& function, const NodeSite& site);
  [[nodiscard]] std::optional<::onnx::FunctionProto> function_of(const NodeSite& site) const;
  [[nodiscard]] bool can_lower(const ::onnx::NodeProto& node) const;
  void refuse_unknown_ops() const;
  void count_unknown(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                     std::map<std::string, int>& unknown, int& total) const;
  [[nodiscard]] std::int64_t version(const std::string& domain) const;

  const ::onnx::ModelProto& model_;
  const ReadOptions& options_;
  Module& module_;
  std::map<std::string, std::int64_t> versions_;                   // of operator sets by domain
  std::map<std::string, const ::onnx::FunctionProto*> functions_;  // by op_key()
  std::map<std::string, std::int64_t> sizes_;                      // of named free dimensions
  std::map<std::string, Shape> shapes_;
  int depth_ = 0, nodes_ = 0;
};

}  // namespace tilecast::ir::onnx_reader
