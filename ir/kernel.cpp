#include "ir/kernel.h"

#include <algorithm>

#include "base/error.h"
#include "ir/graph_order.h"

namespace tilecast::ir {
namespace {

[[noreturn]] void fail(const std::string& kernel, const std::string& what) {
  throw Error("kernel " + kernel + ": " + what);
}

// Edges from every op to its users, sorted, without duplicates.
std::vector<GraphEdge> user_edges(const Kernel& kernel, const std::vector<Op>& ops) {
  std::vector<GraphEdge> edges;
  for (std::size_t user = 0; user < ops.size(); ++user) {
    for (const OpId operand : ops[user].operands) {
      if (!operand.valid() || operand.index() >= ops.size()) {
        fail(kernel.name(), "op " + kernel.name_of(OpId(user)) +
                                " has an operand that is not an op of the kernel");
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

// Position of every op in a topological order.
std::vector<OpId> evaluation_positions(const std::string& kernel, std::size_t ops,
                                       const std::vector<GraphEdge>& edges) {
  const DepthFirst users_first = depth_first(ops, edges);
  if (users_first.on_cycle) fail(kernel, "its ops form a cycle; an op cannot use its own result");
  std::vector<OpId> position(ops);
  for (std::size_t i = 0; i < ops; ++i) position[users_first.post_order[ops - 1 - i]] = OpId(i);
  return position;
}

}  // namespace

const DeviceGroups& Kernel::device_groups() const {
  static const DeviceGroups kNone;
  return device_groups_ ? *device_groups_ : kNone;
}

KernelBuilder::KernelBuilder(std::string name, Opcode opcode) {
  kernel_.name_ = std::move(name);
  content_.opcode = opcode;
}

void KernelBuilder::reserve(std::size_t ops) {
  content_.ops.reserve(ops);
  kernel_.op_names_.reserve(ops);
}

void KernelBuilder::set_device_groups(DeviceGroups groups) {
  if (groups == DeviceGroups{}) return;
  kernel_.device_groups_ = std::move(groups);
}

OpId KernelBuilder::parameter(Shape shape, std::string name) {
  const std::size_t number = content_.parameters.size();
  Op op;
  op.opcode = Opcode::kParameter;
  op.shape = std::move(shape);
  op.attrs = ParameterAttrs{static_cast<std::int64_t>(number), {}};
  const OpId id = add(std::move(op), name.empty() ? "p" + std::to_string(number) : std::move(name));
  content_.parameters.push_back(id);
  return id;
}

OpId KernelBuilder::add(Op op, std::string name) {
  content_.ops.push_back(std::move(op));
  kernel_.op_names_.push_back(std::move(name));
  return OpId(content_.ops.size() - 1);
}

void KernelBuilder::check_edges(const std::vector<OpId>& outputs) const {
  const std::string& name = kernel_.name_;
  const auto expect_array = [&](const char* what, OpId id) {
    if (op(id).shape.is_array()) return;
    fail(name, std::string(what) + " " + name_of(id) + " is " + to_string(op(id).shape, false) +
                   ", expected an array");
  };
  for (const OpId id : content_.parameters) expect_array("parameter", id);
  for (const OpId id : outputs) {
    if (!id.valid() || id.index() >= size()) fail(name, "an output is not an op of the kernel");
    expect_array("output", id);
  }
  for (const auto& [output, parameter] : content_.in_place) {
    if (output >= outputs.size() || parameter >= content_.parameters.size()) {
      fail(name, "an in-place pair names an output or parameter that does not exist");
    }
  }
}

Kernel KernelBuilder::build(std::vector<OpId> outputs) {
  check_edges(outputs);
  std::vector<Op>& ops = content_.ops;
  std::vector<GraphEdge> edges = user_edges(kernel_, ops);
  if (!operands_come_first(ops)) {
    const std::vector<OpId> position = evaluation_positions(kernel_.name_, ops.size(), edges);
    const auto moved = [&](OpId& id) { id = position[id.index()]; };
    std::vector<Op> ordered(ops.size());
    std::vector<std::string> names(ops.size());
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      for (OpId& operand : ops[i].operands) moved(operand);
      ordered[position[i].index()] = std::move(ops[i]);
      names[position[i].index()] = std::move(kernel_.op_names_[i]);
    }
    ops = std::move(ordered);
    kernel_.op_names_ = std::move(names);
    for (OpId& id : content_.parameters) moved(id);
    for (OpId& id : outputs) moved(id);
    edges = user_edges(kernel_, ops);
  }
  content_.first_user.assign(ops.size() + 1, 0);
  content_.users.reserve(edges.size());
  for (const auto& [operand, user] : edges) {
    content_.users.emplace_back(user);
    ++content_.first_user[operand + 1];
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    content_.first_user[i + 1] += content_.first_user[i];
  }
  content_.outputs = std::move(outputs);
  kernel_.content_ = std::move(content_);
  return std::move(kernel_);
}

}  // namespace tilecast::ir
