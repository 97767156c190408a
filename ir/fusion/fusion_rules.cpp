#include "ir/fusion/fusion_rules.h"

namespace tilecast::ir {
namespace {

// True for ops that rearrange or select elements and are cheap enough to do while reading a user's
// operand.
bool moves_data(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kBroadcast, kIota, kSlice, kPad, kReverse, kConcatenate, kTranspose,
                            kReshape, kDynamicSlice});
}

bool is_root_only(Opcode opcode) {
  return has(opcode, Trait::kUpdates) || op_class(opcode) == OpClass::kIndexed;
}

}  // namespace

bool is_matrix(const Instruction& op) {
  return has(op.opcode, Trait::kTwoFactors);
}

bool is_reduction(const Instruction& op) {
  return has(op.opcode, Trait::kFolds);
}

bool updates_in_place(const Instruction& op) {
  return has(op.opcode, Trait::kUpdates);
}

bool streams(const Instruction& op) {
  if (!op.shape.is_array() || op.operands.empty()) return false;
  return op.opcode == Opcode::kBitcast || op.opcode == Opcode::kCopy || is_elementwise(op.opcode);
}

bool is_fusible(const Instruction& op) {
  if (!op.control_predecessors->empty()) return false;
  if (op.shape.is_tuple()) return op.opcode == Opcode::kReduce;
  if (!op.shape.is_array()) return false;
  return streams(op) || moves_data(op.opcode) || is_matrix(op) || is_reduction(op) ||
         is_root_only(op.opcode);
}

bool fuses_into_users(const Instruction& op) {
  return is_fusible(op) && op.shape.is_array() && !is_root_only(op.opcode);
}

bool may_be_duplicated(const Computation& computation, const Instruction& op) {
  if (has(op.opcode, Trait::kSpreads)) return true;
  if (op.shape.is_scalar()) return !is_costly(op) && streams(op);
  if (op.opcode == Opcode::kBitcast) return true;
  if (arithmetic(op.opcode) != Arithmetic::kConversion) return false;
  return bits(op.shape.dtype) > bits(computation.at(op.operands[0]).shape.dtype);
}

bool is_costly(const Instruction& op) {
  if (arithmetic(op.opcode) == Arithmetic::kDivision) {
    return is_floating(op.shape.dtype) || is_complex(op.shape.dtype);
  }
  return is_expensive(op.opcode) || op_class(op.opcode) == OpClass::kTranscendental;
}

double elements(const Shape& shape) {
  double count = 1;
  for (const std::int64_t size : shape.dims) count *= static_cast<double>(size);
  return count;
}

double bytes(const Shape& shape) {
  double sum = 0;
  for_each_leaf(shape, [&](const Shape& leaf) {
    if (leaf.is_array()) sum += elements(leaf) * storage_bytes(leaf.dtype);
  });
  return sum;
}

Dims loop_dims(const Shape& shape) {
  Dims dims;
  for (const std::int64_t size : shape.dims) {
    if (size != 1) dims.push_back(size);
  }
  return dims;
}

bool reuses_operand(const Computation& computation, const Instruction& user, std::size_t operand) {
  using enum Opcode;
  if (user.opcode == kBroadcast) {
    return elements(user.shape) > elements(computation.at(user.operands[operand]).shape);
  }
  return is_one_of(user.opcode, {kDot, kConvolution, kReduceWindow, kGather});
}

bool accepts_producer(const Computation& computation, const Instruction& user, std::size_t operand,
                      const Instruction& producer) {
  if (updates_in_place(user) && operand == 0) {
    // Filling and updating takes one pass; any other producer would prevent the in-place update.
    return producer.opcode == Opcode::kBroadcast &&
           computation.at(producer.operands[0]).shape.is_scalar();
  }
  if (is_matrix(user) || user.opcode == Opcode::kReduceWindow) {
    return !is_matrix(producer) && !is_reduction(producer) &&
           producer.opcode != Opcode::kConcatenate;
  }
  if (is_reduction(user) || updates_in_place(user) || user.opcode == Opcode::kGather) {
    return !is_reduction(producer) && (is_reduction(user) || !is_matrix(producer));
  }
  return true;
}

}  // namespace tilecast::ir
