#include "ir/library_calls.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "ir/backend_config.h"
#include "ir/infer/shape_inference.h"

namespace tilecast::ir {
namespace {

bool is_library_product(std::string_view target) {
  return target == "__cublas$gemm" || target.starts_with("__cublas$lt$matmul");
}

bool is_library_convolution(std::string_view target) {
  return target == "__cudnn$convForward" || target == "__cudnn$convForwardGraph" ||
         target == "__cudnn$convBiasActivationForward";
}

bool is_library_selection(std::string_view target) {
  return target == "TopK" || target == "__gpu$TopK";
}

// TopK: the k largest elements of a row, with their indices.
std::optional<Instruction> selection(const Instruction& call) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (!attrs || !is_library_selection(attrs->target) || call.operands.size() != 1 ||
      !call.shape.is_tuple() || call.shape.elements.size() != 2) {
    return std::nullopt;
  }
  const Shape& values = call.shape.elements.front();
  if (!values.is_array() || values.dims.empty()) return std::nullopt;
  Instruction op = call;
  op.called.clear();
  op.opcode = Opcode::kTopK;
  op.attrs = IndexAttrs{values.dims.back()};
  return op;
}

// The operation that the call performs; nullopt if it is not a supported one or cannot be
// determined.
std::optional<Instruction> performed(const Module& module, const Computation& computation,
                                     const Instruction& call) {
  const auto* attrs = call.get<CustomCallAttrs>();
  if (call.opcode != Opcode::kCustomCall || !attrs || call.operands.size() < 2) return std::nullopt;
  Instruction op = call;
  op.operands.resize(2);
  op.aliasing.reset();
  op.called.clear();
  if (call.shape.is_tuple()) {
    if (call.shape.elements.empty()) return std::nullopt;
    op.shape = call.shape.elements.front();
  }
  if (is_library_product(attrs->target)) {
    const auto dims = read_gemm_dims(*call.backend_config);
    if (!dims) return std::nullopt;
    op.opcode = Opcode::kDot;
    op.attrs = DotAttrs{.dims = *dims, .algorithm = {}, .precision = {}};
  } else if (is_library_convolution(attrs->target) && attrs->dims) {
    op.opcode = Opcode::kConvolution;
    op.attrs = ConvAttrs{.window = attrs->window,
                         .dims = *attrs->dims,
                         .feature_group_count = attrs->feature_group_count,
                         .batch_group_count = attrs->batch_group_count,
                         .precision = {}};
  } else {
    return std::nullopt;
  }
  try {
    const std::optional<Shape> inferred = infer_shape(module, computation, op);
    if (!inferred || !op.shape.is_array() || inferred->dims != op.shape.dims) {
      return std::nullopt;
    }
  } catch (const Error&) {
    return std::nullopt;  // its dimension numbers do not have the expected meaning
  }
  return op;
}

bool takes_first_result(const Instruction& user) {
  const auto* element = user.get<IndexAttrs>();
  return user.opcode == Opcode::kGetTupleElement && element && element->index == 0;
}

// `is_entry`: the scratch memory in the result of its root is not used by a caller.
bool replace_calls(const Module& module, Computation& computation, bool is_entry) {
  std::vector<Instruction>& instructions = computation.instructions;
  std::vector<bool> only_first(instructions.size(), true);  // only its first result is used
  only_first[computation.root.index()] = is_entry;
  for (const Instruction& user : instructions) {
    if (takes_first_result(user)) continue;
    for (const InstrId operand : user.operands) only_first[operand.index()] = false;
  }
  std::vector<bool> was_tuple(instructions.size());
  bool replaced = false;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (auto selected = selection(instructions[i])) {
      instructions[i] = *std::move(selected);
      replaced = true;
      continue;
    }
    const bool is_tuple = instructions[i].shape.is_tuple();
    if (is_tuple && !only_first[i]) continue;
    std::optional<Instruction> op = performed(module, computation, instructions[i]);
    if (!op) continue;
    instructions[i] = *std::move(op);
    was_tuple[i] = is_tuple;
    replaced = true;
  }
  for (Instruction& user : instructions) {
    if (!takes_first_result(user) || !was_tuple[user.operands.front().index()]) continue;
    user.opcode = Opcode::kBitcast;
    user.attrs = {};
  }
  return replaced;
}

bool has_library_call(const Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const Instruction& op) {
      const auto* call = op.get<CustomCallAttrs>();
      return call && (is_library_product(call->target) || is_library_convolution(call->target) ||
                      is_library_selection(call->target));
    });
  });
}

}  // namespace

std::optional<Module> with_library_calls_replaced(const Module& module) {
  if (!has_library_call(module)) return std::nullopt;
  Module result = module;
  bool replaced = false;
  for (std::size_t i = 0; i < result.computations.size(); ++i) {
    const bool is_entry = ComputationId(i) == module.entry;
    replaced = replace_calls(module, result.computations[i], is_entry) || replaced;
  }
  if (!replaced) return std::nullopt;
  return result;
}

}  // namespace tilecast::ir
