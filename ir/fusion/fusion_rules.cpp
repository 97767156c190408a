#include "ir/fusion/fusion_rules.h"

#include <algorithm>

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

bool is_called_alone(const Instruction& op, bool beside_product) {
  if (op.opcode == Opcode::kBitcast) return false;
  return beside_product || is_matrix(op) || is_reduction(op);
}

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

bool is_light(const Computation& computation, const Instruction& op) {
  using enum Opcode;
  if (is_one_of(op.opcode, {kBitcast, kReshape, kTranspose, kConvert, kBroadcast, kCopy}))
    return true;
  if (!is_one_of(op.opcode, {kAdd, kMultiply, kSubtract, kDivide, kMaximum, kMinimum}))
    return false;
  return std::ranges::any_of(op.operands, [&](InstrId id) {
    const Instruction& operand = computation.at(id);
    return operand.opcode == kBroadcast &&
           computation.at(operand.operands.front()).shape.rank() <= 1;
  });
}

namespace {

// Whether `kept`, in increasing order, are the major dimensions of the shape that have more than
// one element, and some minor ones are left.
bool are_major(const Shape& shape, Dims kept) {
  const auto single = [&](std::int64_t d) { return shape.dims[static_cast<std::size_t>(d)] == 1; };
  kept.erase(std::remove_if(kept.begin(), kept.end(), single), kept.end());
  std::size_t next = 0, left = 0;
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] == 1) continue;
    if (next < kept.size() && kept[next] == static_cast<std::int64_t>(d)) {
      if (left > 0) return false;
      ++next;
    } else {
      ++left;
    }
  }
  return next == kept.size() && left > 0;
}

}  // namespace

bool reads_what_changes(const Instruction& producer, const Instruction& update) {
  if (std::ranges::find(producer.operands, update.operands[0]) == producer.operands.end()) {
    return false;
  }
  const bool same_slice = update.opcode == Opcode::kDynamicUpdateSlice &&
                          producer.opcode == Opcode::kDynamicSlice &&
                          std::equal(producer.operands.begin() + 1, producer.operands.end(),
                                     update.operands.begin() + 2, update.operands.end());
  return !same_slice;
}

bool keeps_elements(const Computation& computation, const Instruction& op) {
  return op.shape.is_array() &&
         is_one_of(op.opcode, {Opcode::kReshape, Opcode::kBroadcast, Opcode::kReduce}) &&
         elements(op.shape) == elements(computation.at(op.operands.front()).shape);
}

bool repeats_rows(const Computation& computation, const Instruction& broadcast) {
  if (broadcast.opcode != Opcode::kBroadcast) return false;
  const Shape& rows = computation.at(broadcast.operands.front()).shape;
  Dims kept;  // of size one in the operand: repeated, too
  for (std::size_t d = 0; d < rows.dims.size(); ++d) {
    if (rows.dims[d] != 1) kept.push_back(broadcast.dimensions[d]);
  }
  return !kept.empty() && are_major(broadcast.shape, kept);
}

bool reduces_rows(const Computation& computation, const Instruction& reduction) {
  if (reduction.opcode != Opcode::kReduce || reduction.shape.is_tuple()) return false;
  const Shape& read = computation.at(reduction.operands.front()).shape;
  Dims kept;
  for (std::int64_t d = 0; d < std::ssize(read.dims); ++d) {
    if (std::ranges::find(reduction.dimensions, d) == reduction.dimensions.end()) kept.push_back(d);
  }
  return are_major(read, kept);
}

bool picks_elements(const Instruction& op) {
  using enum Opcode;
  if (op.opcode == kSlice) {
    return std::ranges::any_of(op.as<SliceAttrs>().dims,
                               [](const auto& d) { return d.stride > 1; });
  }
  return is_one_of(op.opcode, {kPad, kConcatenate, kDynamicSlice, kReduceWindow, kGather});
}

bool is_depthwise(const Computation& computation, const Instruction& op) {
  const auto* conv = op.get<ConvAttrs>();
  if (conv == nullptr || conv->feature_group_count <= 1) return false;
  const Shape& filter = computation.at(op.operands[1]).shape;
  return filter.dims[static_cast<std::size_t>(conv->dims.kernel_input_feature)] == 1;
}

bool stands_alone(const Computation& computation, const Instruction& op) {
  if (op.opcode == Opcode::kCopy) {
    const Shape& read = computation.at(op.operands[0]).shape;
    return read.layout != op.shape.layout;
  }
  return op.opcode == Opcode::kPad &&
         std::ranges::any_of(op.as<PadAttrs>().dims, [](const auto& d) { return d.interior > 0; });
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

Dims reduced_loop(const Computation& computation, const Instruction& reduction) {
  return loop_dims(computation.at(reduction.operands[0]).shape);
}

Dims reduced_dims(const Computation& computation, const Instruction& reduction) {
  if (reduction.opcode == Opcode::kReduce) {
    Dims dims = reduction.dimensions;
    std::sort(dims.begin(), dims.end());
    return dims;
  }
  return {-1 - (&reduction - computation.instructions.data())};
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
    const bool apart = !is_depthwise(computation, producer) && !is_depthwise(computation, user);
    return !(is_matrix(producer) && apart) && !is_reduction(producer) &&
           producer.opcode != Opcode::kConcatenate;
  }
  if (is_reduction(user) || updates_in_place(user) || user.opcode == Opcode::kGather) {
    return !is_reduction(producer) && (is_reduction(user) || !is_matrix(producer));
  }
  return true;
}

}  // namespace tilecast::ir
