#include <algorithm>

#include "ir/array_elements.h"
#include "measured/samples.h"

namespace tilecast::measured {
namespace {

using ir::Op;
using ir::OpClass;
using ir::Opcode;

// Elements that an op processes: the size of its result or its largest operand.
double extent(const ir::Kernel& kernel, const Op& op) {
  double most = ir::array_elements(op.shape);
  for (const ir::OpId id : op.operands) {
    most = std::max(most, ir::array_elements(kernel.op(id).shape));
  }
  return most;
}

// Largest extent of the ops for which `is` holds.
template <class Predicate>
double largest(const ir::Kernel& kernel, Predicate&& is) {
  double most = 0;
  for (const Op& op : kernel.ops()) {
    if (is(op)) most = std::max(most, extent(kernel, op));
  }
  return most;
}

bool has(const ir::Kernel& kernel, Opcode opcode) {
  return std::ranges::any_of(kernel.ops(), [&](const Op& op) { return op.opcode == opcode; });
}

}  // namespace

std::string op_class(const ir::Kernel& kernel) {
  if (kernel.opcode() != Opcode::kFusion) return std::string(ir::name(kernel.opcode()));
  if (has(kernel, Opcode::kConvolution)) return "convolution_fusion";
  if (has(kernel, Opcode::kDot)) return "matmul_fusion";
  // A reduction or transpose dominates if its extent is at least a quarter of the largest array.
  constexpr double kDominates = 0.25;
  const double whole = largest(kernel, [](const Op&) { return true; });
  const auto dominates = [&](auto&& is) { return largest(kernel, is) >= kDominates * whole; };
  const auto reduces = [](const Op& op) { return ir::op_class(op.opcode) == OpClass::kReduction; };
  const auto moves = [](const Op& op) {
    return op.opcode == Opcode::kTranspose || op.opcode == Opcode::kCopy;
  };
  if (std::ranges::any_of(kernel.ops(), reduces) && dominates(reduces)) return "reduce_fusion";
  if (std::ranges::any_of(kernel.ops(), moves) && dominates(moves)) return "transpose_fusion";
  return "loop_fusion";
}

}  // namespace tilecast::measured
