#include "learned/kernel_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/op_hash.h"
#include "learned/node_columns.h"
#include "learned/schedule_nodes.h"
#include "schedule/tile_schedule.h"

namespace tilecast::learned {
namespace {

constexpr auto kOpcodes = static_cast<std::int32_t>(ir::kOpcodes);

std::int32_t opcode_number(ir::Opcode opcode, GraphEncoding encoding) {
  return encoding == GraphEncoding::kTpuGraphs ? tpugraphs_opcode(opcode)
                                               : static_cast<std::int32_t>(opcode);
}

void add_columns(const NodeView& node, GraphEncoding encoding, Columns& to) {
  if (encoding == GraphEncoding::kTilecast) {
    tilecast_columns(node, to);
  } else {
    tpugraphs_columns(node, to);
  }
}

// The name includes a digest of the opcodes' names and numbers, so that the schema's hash covers
// them.
FeatureSchema make_schema(GraphEncoding encoding) {
  ir::Hash128 hash;
  for (std::int32_t i = 0; i < kOpcodes; ++i) {
    const auto opcode = static_cast<ir::Opcode>(i);
    hash.add(ir::name(opcode));
    hash.add(static_cast<std::uint64_t>(opcode_number(opcode, encoding)));
  }
  if (encoding == GraphEncoding::kSchedule) {
    for (std::size_t i = 0; i < schedule::kNodeKinds; ++i) {
      hash.add(schedule::name(static_cast<schedule::NodeKind>(i)));
    }
  }
  FeatureSchema schema;
  schema.name = fmt::format("{}.node/opcodes-{:016x}", name(encoding), hash.result()[0]);
  schema.version = 1;
  Columns columns(FeatureGroup::kNode, schema);
  if (encoding == GraphEncoding::kSchedule) {
    schedule_columns({}, columns);
  } else {
    add_columns({}, encoding, columns);
  }
  return schema;
}

// Facts about a kernel's nodes that the ops do not contain.
struct Roles {
  explicit Roles(const ir::Kernel& kernel)
      : output(kernel.ops().size(), false), parameter(kernel.ops().size(), 0) {
    for (const ir::OpId id : kernel.outputs()) output[id.index()] = true;
    std::int64_t number = 0;
    for (const ir::OpId id : kernel.parameters()) parameter[id.index()] = number++;
  }
  std::vector<bool> output;
  std::vector<std::int64_t> parameter;
};

NodeView view(const ir::Kernel& kernel, std::size_t node, const Roles& roles) {
  const ir::Op& op = kernel.ops()[node];
  NodeView view;
  view.opcode = op.opcode;
  view.shape = &op.shape;
  view.dimensions = &op.dimensions;
  view.attrs = &op.attrs;
  view.kernel = &kernel;
  view.op = &op;
  view.parameter = roles.parameter[node];
  view.users = static_cast<std::int64_t>(kernel.users(ir::OpId(node)).size());
  view.is_output = roles.output[node];
  return view;
}

}  // namespace

std::int32_t opcode_count(GraphEncoding encoding) {
  static const std::int32_t tpugraphs = [] {
    std::int32_t most = 0;
    for (std::int32_t i = 0; i < kOpcodes; ++i) {
      most = std::max(most, tpugraphs_opcode(static_cast<ir::Opcode>(i)));
    }
    return most + 1;
  }();
  if (encoding == GraphEncoding::kSchedule) return schedule_type_count();
  return encoding == GraphEncoding::kTilecast ? kOpcodes : tpugraphs;
}

const FeatureSchema& node_schema(GraphEncoding encoding) {
  static const FeatureSchema tilecast = make_schema(GraphEncoding::kTilecast);
  static const FeatureSchema tpugraphs = make_schema(GraphEncoding::kTpuGraphs);
  static const FeatureSchema schedule = make_schema(GraphEncoding::kSchedule);
  if (encoding == GraphEncoding::kSchedule) return schedule;
  return encoding == GraphEncoding::kTilecast ? tilecast : tpugraphs;
}

KernelGraph make_graph(const ir::Kernel& kernel, GraphEncoding encoding) {
  return make_graph({.kernel = kernel}, hwdesc::Device{}, encoding);
}

KernelGraph make_graph(const analytical::KernelQuery& query, const hwdesc::Device& device,
                       GraphEncoding encoding) {
  TC_CHECK(encoding != GraphEncoding::kText, "a graph of ops or loops");
  const ir::Kernel& kernel = query.kernel;
  const std::size_t nodes = kernel.ops().size();
  if (nodes == 0) throw Error(kernel.name() + ": a kernel without ops has no graph");
  if (encoding == GraphEncoding::kSchedule) {
    return schedule_graph(schedule::loops_of(kernel, query.tile, schedule::target_of(device)));
  }
  KernelGraph graph;
  graph.opcodes.reserve(nodes);
  graph.features.resize(nodes * node_schema(encoding).columns.size());
  const Roles roles(kernel);
  Columns row(graph.features.data());
  for (std::size_t i = 0; i < nodes; ++i) {
    graph.opcodes.push_back(opcode_number(kernel.ops()[i].opcode, encoding));
    add_columns(view(kernel, i, roles), encoding, row);
  }
  EdgeList edges(graph);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (const ir::OpId operand : kernel.ops()[i].operands) {
      edges.add(static_cast<std::int32_t>(operand.index()), static_cast<std::int32_t>(i));
    }
  }
  std::vector<std::int32_t> roots;
  for (const ir::OpId id : kernel.outputs()) roots.push_back(static_cast<std::int32_t>(id.index()));
  order_nodes(roots, graph);
  return graph;
}

}  // namespace tilecast::learned
