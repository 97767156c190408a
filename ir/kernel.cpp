#include "ir/kernel.h"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>

#include "base/error.h"

namespace tilecast::ir {
namespace {

// Edges run from an op to its users, so a topological order has operands first.
using UserGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Edge = std::pair<std::uint32_t, std::uint32_t>;

[[noreturn]] void fail(const std::string& kernel, const std::string& what) {
  throw Error("kernel " + kernel + ": " + what);
}

std::vector<Edge> user_edges(const std::string& kernel, const std::vector<Op>& ops) {
  std::size_t count = 0;
  for (const Op& op : ops) count += op.operands.size();
  std::vector<Edge> edges;
  edges.reserve(count);
  for (std::size_t user = 0; user < ops.size(); ++user) {
    for (const OpId operand : ops[user].operands) {
      if (!operand.valid() || operand.index() >= ops.size()) {
        fail(kernel, "op " + ops[user].name + " has an operand that is not an op of the kernel");
      }
      edges.emplace_back(operand.value, static_cast<std::uint32_t>(user));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

bool operands_come_first(const std::vector<Op>& ops) {
  for (std::size_t user = 0; user < ops.size(); ++user) {
    for (const OpId operand : ops[user].operands) {
      if (operand.index() >= user) return false;
    }
  }
  return true;
}

// Position of every op in an order that has operands first; the given order when it already does.
std::vector<OpId> evaluation_positions(const std::string& kernel, const UserGraph& graph,
                                       const std::vector<Op>& ops) {
  std::vector<UserGraph::vertex_descriptor> users_first;
  users_first.reserve(ops.size());
  try {
    boost::topological_sort(graph, std::back_inserter(users_first));
  } catch (const boost::not_a_dag&) {
    fail(kernel, "its ops form a cycle; an op cannot use its own result");
  }
  std::vector<OpId> position(ops.size());
  const bool keep = operands_come_first(ops);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (keep) {
      position[i] = OpId(i);
    } else {
      position[users_first[ops.size() - 1 - i]] = OpId(i);
    }
  }
  return position;
}

}  // namespace

struct Kernel::Graph {
  UserGraph users;
  // The graph's adjacency again, as ids: what users() hands out spans of.
  std::vector<OpId> targets;
  std::vector<std::uint32_t> first;

  Graph(const std::vector<Edge>& edges, std::size_t ops)
      : users(boost::edges_are_sorted, edges.begin(), edges.end(),
              static_cast<std::uint32_t>(ops)) {}

  void index() {
    const std::size_t ops = boost::num_vertices(users);
    targets.reserve(boost::num_edges(users));
    first.reserve(ops + 1);
    for (std::uint32_t op = 0; op < ops; ++op) {
      first.push_back(static_cast<std::uint32_t>(targets.size()));
      const auto [begin, end] = boost::adjacent_vertices(op, users);
      for (auto user = begin; user != end; ++user) targets.emplace_back(OpId(*user));
    }
    first.push_back(static_cast<std::uint32_t>(targets.size()));
  }
};

std::span<const OpId> Kernel::users(OpId id) const {
  const std::uint32_t begin = graph_->first[id.index()];
  return std::span(graph_->targets).subspan(begin, graph_->first[id.index() + 1] - begin);
}

KernelBuilder::KernelBuilder(std::string name, Opcode opcode) {
  kernel_.name_ = std::move(name);
  kernel_.opcode_ = opcode;
}

OpId KernelBuilder::parameter(Shape shape, std::string name) {
  Op op;
  op.opcode = Opcode::kParameter;
  op.shape = std::move(shape);
  op.attrs = ParameterAttrs{static_cast<std::int64_t>(kernel_.parameters_.size()), {}};
  op.name = name.empty() ? "p" + std::to_string(kernel_.parameters_.size()) : std::move(name);
  const OpId id = add(std::move(op));
  kernel_.parameters_.push_back(id);
  return id;
}

OpId KernelBuilder::add(Op op) {
  kernel_.ops_.push_back(std::move(op));
  return OpId(kernel_.ops_.size() - 1);
}

void KernelBuilder::set_opcode(Opcode opcode) {
  kernel_.opcode_ = opcode;
}
void KernelBuilder::set_op_name(std::string op_name) {
  kernel_.op_name_ = std::move(op_name);
}
void KernelBuilder::set_work(WorkCounts work) {
  kernel_.work_ = std::move(work);
}
void KernelBuilder::set_compiler_tile(CompilerTile tile) {
  kernel_.compiler_tile_ = std::move(tile);
}
void KernelBuilder::set_custom_call_cost(CustomCallCost cost) {
  kernel_.custom_cost_ = cost;
}
void KernelBuilder::set_group_size(std::int64_t devices) {
  kernel_.group_size_ = devices;
}
void KernelBuilder::add_in_place(std::size_t output, std::size_t parameter) {
  kernel_.in_place_.emplace_back(output, parameter);
}

void KernelBuilder::check_edges(const std::vector<OpId>& outputs) const {
  const std::string& name = kernel_.name_;
  for (const OpId id : kernel_.parameters_) {
    if (!kernel_.ops_[id.index()].shape.is_array()) {
      fail(name, "parameter " + kernel_.ops_[id.index()].name + " is " +
                     to_string(kernel_.ops_[id.index()].shape, false) + ", expected an array");
    }
  }
  for (const OpId id : outputs) {
    if (!id.valid() || id.index() >= kernel_.ops_.size()) {
      fail(name, "an output is not an op of the kernel");
    }
    if (!kernel_.ops_[id.index()].shape.is_array()) {
      fail(name, "output " + kernel_.ops_[id.index()].name + " is " +
                     to_string(kernel_.ops_[id.index()].shape, false) + ", expected an array");
    }
  }
  for (const auto& [output, parameter] : kernel_.in_place_) {
    if (output >= outputs.size() || parameter >= kernel_.parameters_.size()) {
      fail(name, "an in-place pair names an output or parameter that does not exist");
    }
  }
}

Kernel KernelBuilder::build(std::vector<OpId> outputs) {
  check_edges(outputs);
  std::vector<Edge> edges = user_edges(kernel_.name_, kernel_.ops_);
  auto graph = std::make_shared<Kernel::Graph>(edges, kernel_.ops_.size());
  const auto position = evaluation_positions(kernel_.name_, graph->users, kernel_.ops_);
  const auto moved = [&](OpId& id) { id = position[id.index()]; };
  if (!operands_come_first(kernel_.ops_)) {
    std::vector<Op> ordered(kernel_.ops_.size());
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      for (OpId& operand : kernel_.ops_[i].operands) moved(operand);
      ordered[position[i].index()] = std::move(kernel_.ops_[i]);
    }
    kernel_.ops_ = std::move(ordered);
    for (OpId& id : kernel_.parameters_) moved(id);
    for (OpId& id : outputs) moved(id);
    edges = user_edges(kernel_.name_, kernel_.ops_);
    graph = std::make_shared<Kernel::Graph>(edges, kernel_.ops_.size());
  }
  graph->index();
  kernel_.graph_ = std::move(graph);
  kernel_.outputs_ = std::move(outputs);
  return std::move(kernel_);
}

}  // namespace tilecast::ir
