#include "ir/onnx/graph_lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/error.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr int kDeepest = 32;  // nested functions and graphs
constexpr int kMostNodes = 1'000'000;
constexpr std::int64_t kNewestOperators = 24;

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

std::string op_key(const std::string& domain, const std::string& op) {
  return domain.empty() || domain == "ai.onnx" ? op : domain + ":" + op;
}
std::string op_key(const ::onnx::NodeProto& node) {
  return op_key(node.domain(), node.op_type());
}

Lowering find_row(const std::string& key) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Lowering> rows;
    for (const auto& group :
         {elementwise_rows(), product_rows(), quantised_rows(), window_rows(), normalisation_rows(),
          movement_rows(), resize_rows(), index_rows(), control_rows(), recurrent_rows(),
          attention_rows(), training_rows()}) {
      for (const OpRow& row : group) rows.emplace(row.op, row.lower);
    }
    return rows;
  }();
  const auto found = table.find(key);
  return found == table.end() ? nullptr : found->second;
}

std::string describe(const ::onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return fmt::format("node `{}` ({})", name, op_key(node));
}

// Names that the nodes of a graph use but do not define, including nested graphs.
void free_names(const ::onnx::GraphProto& graph, std::vector<std::string>& names, int depth) {
  if (depth > kDeepest) throw Error("graphs are nested too deeply");
  std::set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  const auto use = [&](const std::string& name) {
    const bool known = name.empty() || own.count(name) != 0 ||
                       std::find(names.begin(), names.end(), name) != names.end();
    if (!known) names.push_back(name);
  };
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) use(input);
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      std::vector<std::string> inner;
      free_names(attribute.g(), inner, depth + 1);
      for (const auto& name : inner) use(name);
    }
    for (const auto& output : node.output()) own.insert(output);
  }
  for (const auto& output : graph.output()) use(output.name());
}

std::string sizes_text(const ::onnx::TensorShapeProto& shape) {
  std::vector<std::string> dims;
  for (const auto& dim : shape.dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? std::to_string(dim.dim_value())
                   : dim.dim_param().empty()                   ? "?"
                                                               : dim.dim_param());
  }
  return fmt::format("[{}]", fmt::join(dims, ","));
}

}  // namespace

GraphLowering::GraphLowering(const ::onnx::ModelProto& model, const ReadOptions& options,
                             Module& module)
    : model_(model), options_(options), module_(module) {
  for (const auto& set : model.opset_import()) {
    versions_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  }
  for (const auto& function : model.functions()) {
    functions_[op_key(function.domain(), function.name())] = &function;
  }
}

Dims GraphLowering::declared(const std::string& value) const {
  Dims dims;
  for (const auto& info : model_.graph().value_info()) {
    if (info.name() != value) continue;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
  }
  return dims;
}

std::int64_t GraphLowering::version(const std::string& domain) const {
  const auto found = versions_.find(domain == "ai.onnx" ? "" : domain);
  return found == versions_.end() ? 1 : found->second;
}

bool GraphLowering::can_lower(const ::onnx::NodeProto& node) const {
  const std::string key = op_key(node);
  if (functions_.count(key) != 0 || find_row(key) != nullptr) return true;
  const auto* schema = ::onnx::OpSchemaRegistry::Schema(
      node.op_type(), static_cast<int>(version(node.domain())), node.domain());
  return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

void GraphLowering::count_unknown(const Nodes& nodes, std::map<std::string, int>& unknown,
                                  int& total) const {
  for (const auto& node : nodes) {
    ++total;
    if (!can_lower(node)) ++unknown[op_key(node)];
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count_unknown(attribute.g().node(), unknown, total);
    }
  }
}

void GraphLowering::refuse_unknown_ops() const {
  std::map<std::string, int> unknown;
  int total = 0, lost = 0;
  count_unknown(model_.graph().node(), unknown, total);
  for (const auto& function : model_.functions()) count_unknown(function.node(), unknown, total);
  if (unknown.empty()) return;
  std::vector<std::string> named;
  for (const auto& [op, count] : unknown) {
    named.push_back(fmt::format("{} ({} node{})", op, count, count == 1 ? "" : "s"));
    lost += count;
  }
  throw Error(fmt::format("{} of {} nodes have no mapping onto HLO: {}", lost, total,
                          fmt::join(named, ", ")));
}

Shape GraphLowering::input_shape(const ::onnx::ValueInfoProto& input) {
  if (!input.type().has_tensor_type()) {
    throw Error(
        fmt::format("input `{}` is no tensor; sequences, maps and optional values have no "
                    "counterpart in HLO",
                    input.name()));
  }
  const auto& tensor = input.type().tensor_type();
  const DType dtype = element_type(tensor.elem_type());
  const auto& given = options_.input_shapes;
  const auto chosen = std::find_if(given.begin(), given.end(),
                                   [&](const auto& shape) { return shape.first == input.name(); });
  if (chosen != given.end()) {
    if (tensor.has_shape() &&
        tensor.shape().dim_size() != static_cast<int>(chosen->second.size())) {
      throw Error(fmt::format("--shape {}={}: the input has {} dimensions: {}", input.name(),
                              fmt::join(chosen->second, "x"), tensor.shape().dim_size(),
                              sizes_text(tensor.shape())));
    }
    return Shape::array(dtype, chosen->second);
  }
  Dims dims;
  bool complete = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim()) {
    const auto size = sizes_.find(dim.dim_param());
    const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    complete = complete && (fixed || size != sizes_.end() || options_.bound.has_value());
    dims.push_back(fixed                  ? dim.dim_value()
                   : size != sizes_.end() ? size->second
                                          : options_.bound.value_or(0));
  }
  if (!complete) {
    throw Error(fmt::format(
        "input `{}` has free dimensions: {}; give its sizes: --shape {}=1x3x224x224", input.name(),
        tensor.has_shape() ? sizes_text(tensor.shape()) : "of any rank", input.name()));
  }
  return Shape::array(dtype, dims);
}

void GraphLowering::bind_inputs(Emitter& entry, Scope& scope) {
  const auto& inputs = model_.graph().input();
  for (const auto& [name, dims] : options_.input_shapes) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(),
                     [&, &wanted = name](const auto& one) { return one.name() == wanted; });
    if (input == inputs.end()) {
      std::vector<std::string> names;
      for (const auto& one : inputs) {
        if (scope.values.count(one.name()) == 0) names.push_back(one.name());
      }
      throw Error(fmt::format("--shape {}: the graph has no such input; it has {}", name,
                              fmt::join(names, ", ")));
    }
    const auto& shape = input->type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size() && i < static_cast<int>(dims.size()); ++i) {
      const std::string& free = shape.dim(i).dim_param();
      if (!free.empty()) sizes_.emplace(free, dims[static_cast<std::size_t>(i)]);
    }
  }
  for (const auto& input : inputs) {
    if (scope.values.count(input.name()) != 0) continue;  // it has an initializer as default value
    scope.values[input.name()] = entry.parameter(input_shape(input), input.name());
  }
}

void GraphLowering::bind_initializers(const ::onnx::GraphProto& graph, Emitter& emitter,
                                      Scope& scope) {
  for (const auto& tensor : graph.initializer()) {
    scope.values[tensor.name()] = tensor_term(emitter, tensor, tensor.name());
  }
  if (graph.sparse_initializer_size() > 0)
    throw Error("sparse initializers have no counterpart in HLO");
}

void GraphLowering::run() {
  refuse_unknown_ops();
  if (version("") > kNewestOperators) {
    warn(fmt::format("operator set {} is newer than the newest that is known, {}", version(""),
                     kNewestOperators));
  }
  Emitter entry(module_, "main", /*is_entry=*/true);
  Scope scope;
  bind_initializers(model_.graph(), entry, scope);
  bind_inputs(entry, scope);
  const Terms results = lower_graph(model_.graph(), entry, scope);
  if (results.empty()) throw Error("the graph has no outputs");
  for (const auto& [name, term] : scope.values) shapes_[name] = term.shape();
  module_.entry = entry.finish(results, /*gives_tuple=*/false);
}

Terms GraphLowering::lower_graph(const ::onnx::GraphProto& graph, Emitter& emitter, Scope& scope) {
  for (const auto& node : graph.node()) lower_node(node, emitter, scope);
  Terms results;
  for (const auto& output : graph.output()) {
    const auto found = scope.values.find(output.name());
    if (found == scope.values.end())
      throw Error(fmt::format("output `{}` is not computed", output.name()));
    results.push_back(found->second);
  }
  return results;
}

void GraphLowering::lower_node(const ::onnx::NodeProto& node, Emitter& emitter, Scope& scope) {
  const NodeSite site{*this, node, scope, emitter, version(node.domain())};
  emitter.set_origin(node.op_type(),
                     node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
  Terms results;
  if (++depth_ > kDeepest) throw Error("graphs and functions are nested too deeply");
  if (++nodes_ > kMostNodes)
    throw Error(fmt::format("more than {} nodes, those of functions included", kMostNodes));
  try {
    results = lower_by_row_or_body(site);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what.starts_with("node `") ? what : fmt::format("{}: {}", describe(node), what));
  } catch (const std::out_of_range&) {
    throw Error(fmt::format("{}: an operand has fewer dimensions or elements than the op needs",
                            describe(node)));
  }
  --depth_;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    if (static_cast<std::size_t>(i) >= results.size()) {
      throw Error(fmt::format("{}: output {} has no mapping onto HLO", describe(node), i));
    }
    scope.values[node.output(i)] = results[static_cast<std::size_t>(i)];
  }
}

Terms GraphLowering::lower_by_row_or_body(const NodeSite& site) {
  const std::string key = op_key(site.node);
  const auto own = functions_.find(key);
  if (own != functions_.end()) return lower_function(*own->second, site);
  if (const Lowering lower = find_row(key)) return lower(site);
  if (const auto function = function_of(site)) return lower_function(*function, site);
  throw Error("has no mapping onto HLO");
}

std::optional<::onnx::FunctionProto> GraphLowering::function_of(const NodeSite& site) const {
  const auto* schema = ::onnx::OpSchemaRegistry::Schema(
      site.node.op_type(), static_cast<int>(site.version), site.node.domain());
  if (schema == nullptr) return std::nullopt;
  if (schema->HasFunction()) return *schema->GetFunction();
  std::vector<::onnx::TypeProto> types(site.count());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!site.has(i)) continue;
    const Shape& shape = site[i].shape();
    auto& tensor = *types[i].mutable_tensor_type();
    tensor.set_elem_type(onnx_type(shape.dtype));
    for (const std::int64_t size : shape.dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(size);
  }
  ::onnx::NodeProto node = site.node;  // the body may depend on the function's attributes
  node.clear_attribute();
  for (const auto& attribute : site.node.attribute()) {
    const auto* given = site.find(attribute.name());
    if (given == nullptr) continue;
    *node.add_attribute() = *given;
    node.mutable_attribute()->rbegin()->set_name(attribute.name());
  }
  ::onnx::FunctionBodyBuildContextImpl context(node, types);
  ::onnx::FunctionProto function;
  if (!schema->BuildContextDependentFunction(context, function)) return std::nullopt;
  return function;
}

Terms GraphLowering::lower_function(const ::onnx::FunctionProto& function, const NodeSite& site) {
  Scope scope;
  for (std::size_t i = 0; i < site.count() && i < static_cast<std::size_t>(function.input_size());
       ++i) {
    if (site.has(i)) scope.values[function.input(static_cast<int>(i))] = site[i];
  }
  for (const auto& attribute : site.node.attribute()) {
    if (const auto* given = site.find(attribute.name())) scope.attributes[attribute.name()] = given;
  }
  const auto outer = versions_;
  for (const auto& set : function.opset_import()) {
    versions_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  }
  for (const auto& node : function.node()) lower_node(node, site.emitter, scope);
  versions_ = outer;
  Terms results;
  for (const auto& output : function.output()) {
    const auto found = scope.values.find(output);
    if (found == scope.values.end()) break;  // an optional output that is not computed
    results.push_back(found->second);
  }
  return results;
}

GraphLowering::Region GraphLowering::region(const NodeSite& site, const char* attribute) const {
  Region made{site.subgraph(attribute), {}, {}, {}};
  made.literals.attributes = site.scope.attributes;
  std::vector<std::string> names;
  free_names(made.graph, names, 0);
  for (const std::string& name : names) {
    const auto found = site.scope.values.find(name);
    if (found == site.scope.values.end())
      throw Error(fmt::format("`{}` is not defined before it is used", name));
    if (found->second.is_literal()) {
      made.literals.values.insert(*found);
    } else {
      made.names.push_back(name);
      made.captured.push_back(found->second);
    }
  }
  return made;
}

Terms GraphLowering::lower_region(const Region& region, Emitter& emitter, const Terms& inputs,
                                  const Terms& captured) {
  Scope scope = region.literals;
  for (std::size_t i = 0; i < region.names.size(); ++i)
    scope.values[region.names[i]] = captured.at(i);
  bind_initializers(region.graph, emitter, scope);
  if (static_cast<std::size_t>(region.graph.input_size()) != inputs.size()) {
    throw Error(fmt::format("its graph has {} inputs, expected {}", region.graph.input_size(),
                            inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    scope.values[region.graph.input(static_cast<int>(i)).name()] = inputs[i];
  }
  return lower_graph(region.graph, emitter, scope);
}

}  // namespace tilecast::ir::onnx_reader
