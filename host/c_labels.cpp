#include "host/c_labels.h"

#include <fmt/format.h>

#include "host/c_symbols.h"

namespace tilecast::host {
namespace {

using ir::Dims;
using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::OpId;

using Pairs = std::vector<std::pair<int, int>>;  // dimension of the result, of the operand

// The only dimension larger than 1; -1 if there are several or none.
int only_real(const std::vector<int>& group, const Dims& sizes) {
  int found = -1;
  for (const int d : group) {
    if (sizes[static_cast<std::size_t>(d)] == 1) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

Dims logical_order(const ir::Shape& shape) {
  Dims order;
  for (int d = 0; d < shape.rank(); ++d) order.push_back(d);
  return order;
}

// Linear positions follow the order of dimensions; for a bitcast, that of the buffer.
Pairs reshape_pairs(const Op& op, const ir::Shape& from) {
  const bool physical = op.opcode == Opcode::kBitcast;
  const Dims result = physical ? analytical::physical_order(op.shape) : logical_order(op.shape);
  const Dims operand = physical ? analytical::physical_order(from) : logical_order(from);
  Dims result_sizes, operand_sizes;
  for (const std::int64_t d : result) {
    result_sizes.push_back(op.shape.dims[static_cast<std::size_t>(d)]);
  }
  for (const std::int64_t d : operand) {
    operand_sizes.push_back(from.dims[static_cast<std::size_t>(d)]);
  }
  Pairs pairs;
  for (const ReshapeGroup& group : reshape_groups(result_sizes, operand_sizes)) {
    const int r = only_real(group.result, result_sizes);
    const int o = only_real(group.operand, operand_sizes);
    if (r < 0 || o < 0) continue;
    pairs.emplace_back(static_cast<int>(result[static_cast<std::size_t>(r)]),
                       static_cast<int>(operand[static_cast<std::size_t>(o)]));
  }
  return pairs;
}

// A pair means that element i of one dimension corresponds to element i of the other. The caller
// checks that sizes are equal; offsets with equal sizes are checked here.
Pairs related(const Kernel& kernel, const Op& op, std::size_t operand) {
  const ir::Shape& from = kernel.op(op.operands[operand]).shape;
  Pairs pairs;
  if (ir::has(op.opcode, ir::Trait::kReshapes)) return reshape_pairs(op, from);
  const ir::OpClass work = ir::op_class(op.opcode);
  if (work == ir::OpClass::kIndexed || work == ir::OpClass::kSort) return pairs;
  Position result, summed;
  for (int d = 0; d < op.shape.rank(); ++d) result.push_back(Index::of(fmt::format("r{}", d)));
  for (int d = 0; d < from.rank(); ++d) summed.push_back(Index::of(fmt::format("s{}", d)));
  const auto read = schedule::read_position(op, operand, from, result, summed);
  if (!read && from.rank() != op.shape.rank()) return pairs;
  for (int d = 0; d < from.rank(); ++d) {
    for (int r = 0; r < op.shape.rank(); ++r) {
      if (read ? (*read)[at(d)] == result[at(r)] : r == d) pairs.emplace_back(r, d);
    }
  }
  return pairs;
}

void give(std::vector<int>& labels, int dim, int label) {
  auto& own = labels[static_cast<std::size_t>(dim)];
  const bool taken = std::find(labels.begin(), labels.end(), label) != labels.end();
  if (own < 0 && !taken) own = label;
}

}  // namespace

std::vector<ReshapeGroup> reshape_groups(const Dims& result, const Dims& operand) {
  std::vector<ReshapeGroup> groups;
  std::size_t i = 0, j = 0;
  while (i < result.size() || j < operand.size()) {
    ReshapeGroup group;
    std::int64_t left = 1, right = 1;
    do {
      const bool take_left = i < result.size() && (left <= right || j == operand.size());
      if (take_left) {
        left *= result[i];
        group.result.push_back(static_cast<int>(i++));
      } else if (j < operand.size()) {
        right *= operand[j];
        group.operand.push_back(static_cast<int>(j++));
      }
    } while ((left != right || group.operand.empty()) && (i < result.size() || j < operand.size()));
    groups.push_back(std::move(group));
  }
  return groups;
}

Labels::Labels(const Kernel& kernel, const analytical::IterationSpace& space) {
  for (const Op& op : kernel.ops()) labels_.emplace_back(op.shape.dims.size(), -1);
  if (!space.anchor.valid() || space.anchor_loops.size() != labels_[space.anchor.index()].size()) {
    return;
  }
  labels_[space.anchor.index()] = space.anchor_loops;
  const Op& anchor = kernel.op(space.anchor);
  if (space.matrix && anchor.opcode == Opcode::kDot) {
    const ir::DotDims& dims = anchor.as<ir::DotAttrs>().dims;
    for (std::size_t i = 0; i < space.matrix->contraction.size(); ++i) {
      give(labels_[anchor.operands[0].index()], static_cast<int>(dims.lhs_contracting[i]),
           space.matrix->contraction[i]);
      give(labels_[anchor.operands[1].index()], static_cast<int>(dims.rhs_contracting[i]),
           space.matrix->contraction[i]);
    }
  }
  std::vector<std::vector<Pairs>> pairs(labels_.size());  // by op, by operand
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const Op& op = kernel.ops()[i];
    for (std::size_t k = 0; k < op.operands.size(); ++k) pairs[i].push_back(related(kernel, op, k));
  }
  const auto follow = [&](std::size_t i, bool forward) {
    const Op& op = kernel.ops()[i];
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const std::size_t from = op.operands[k].index();
      for (const auto& [result_dim, operand_dim] : pairs[i][k]) {
        const auto r = static_cast<std::size_t>(result_dim);
        const auto o = static_cast<std::size_t>(operand_dim);
        if (r >= op.shape.dims.size() || o >= labels_[from].size()) continue;
        if (op.shape.dims[r] != kernel.ops()[from].shape.dims[o]) continue;
        if (forward && labels_[from][o] >= 0) give(labels_[i], result_dim, labels_[from][o]);
        if (!forward && labels_[i][r] >= 0) give(labels_[from], operand_dim, labels_[i][r]);
      }
    }
  };
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < labels_.size(); ++i) follow(i, /*forward=*/true);
    for (std::size_t i = labels_.size(); i-- > 0;) follow(i, /*forward=*/false);
  }
}

}  // namespace tilecast::host
