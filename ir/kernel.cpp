#include "ir/kernel.h"

#include <algorithm>

#include "base/error.h"
#include "ir/graph_order.h"

namespace tilecast::ir {
namespace {

[[noreturn]] void fail(const std::string& kernel, const std::string& what) {
  throw Error("kernel " + kernel + ": " + what);
}

// From every op to its users, sorted, each pair once.
std::vector<GraphEdge> user_edges(const std::string& kernel, const std::vector<Op>& ops) {
  std::vector<GraphEdge> edges;
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

// Position of every op in an order that has operands first.
std::vector<OpId> evaluation_positions(const std::string& kernel, std::size_t ops,
                                       const std::vector<GraphEdge>& edges) {
  const DepthFirst users_first = depth_first(ops, edges);
  if (users_first.on_cycle) fail(kernel, "its ops form a cycle; an op cannot use its own result");
  std::vector<OpId> position(ops);
  for (std::size_t i = 0; i < ops; ++i) position[users_first.post_order[ops - 1 - i]] = OpId(i);
  return position;
}

}  // namespace

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

void KernelBuilder::check_edges(const std::vector<OpId>& outputs) const {
  const std::string& name = kernel_.name_;
  const auto expect_array = [&](std::string_view what, const Op& op) {
    if (op.shape.is_array()) return;
    fail(name, std::string(what) + " " + op.name + " is " + to_string(op.shape, false) +
                   ", expected an array");
  };
  for (const OpId id : kernel_.parameters_) expect_array("parameter", kernel_.op(id));
  for (const OpId id : outputs) {
    if (!id.valid() || id.index() >= kernel_.ops_.size()) {
      fail(name, "an output is not an op of the kernel");
    }
    expect_array("output", kernel_.op(id));
  }
  for (const auto& [output, parameter] : kernel_.in_place_) {
    if (output >= outputs.size() || parameter >= kernel_.parameters_.size()) {
      fail(name, "an in-place pair names an output or parameter that does not exist");
    }
  }
}

Kernel KernelBuilder::build(std::vector<OpId> outputs) {
  check_edges(outputs);
  std::vector<Op>& ops = kernel_.ops_;
  std::vector<GraphEdge> edges = user_edges(kernel_.name_, ops);
  if (!operands_come_first(ops)) {
    const std::vector<OpId> position = evaluation_positions(kernel_.name_, ops.size(), edges);
    const auto moved = [&](OpId& id) { id = position[id.index()]; };
    std::vector<Op> ordered(ops.size());
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      for (OpId& operand : ops[i].operands) moved(operand);
      ordered[position[i].index()] = std::move(ops[i]);
    }
    ops = std::move(ordered);
    for (OpId& id : kernel_.parameters_) moved(id);
    for (OpId& id : outputs) moved(id);
    edges = user_edges(kernel_.name_, ops);
  }
  kernel_.first_user_.assign(ops.size() + 1, 0);
  kernel_.users_.reserve(edges.size());
  for (const auto& [operand, user] : edges) {
    kernel_.users_.emplace_back(user);
    ++kernel_.first_user_[operand + 1];
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    kernel_.first_user_[i + 1] += kernel_.first_user_[i];
  }
  kernel_.outputs_ = std::move(outputs);
  return std::move(kernel_);
}

}  // namespace tilecast::ir
