#include "ir/infer/shape_inference.h"

#include <array>
#include <span>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

bool is_unbounded_array(const Shape& shape) {
  return shape.is_array() && contains(shape.dims, kUnboundedSize);
}

bool any_unbounded(const Site& site) {
  for (std::size_t i = 0; i < site.count(); ++i) {
    if (is_unbounded_array(site.operand(i))) return true;
  }
  return is_unbounded_array(site.instruction.shape);
}

Shape tuple(const Site& site) {
  return Shape::tuple(site.operand_shapes());
}

Shape tuple_element(const Site& site) {
  const Shape& operand = site.operand(0);
  const std::int64_t index = site.attrs<IndexAttrs>().index;
  fail_if(!operand.is_tuple(), "Cannot infer shape: attempting to index into non-tuple: {}.",
          human(operand));
  fail_if(index < 0 || static_cast<std::size_t>(index) >= operand.elements.size(),
          "Cannot infer shape: attempt to index out of tuple bounds: {} >= {} in shape {}.", index,
          operand.elements.size(), human(operand));
  return operand.elements[static_cast<std::size_t>(index)];
}

Shape copy_start(const Site& site) {
  return Shape::tuple({site.operand(0), site.operand(0), Shape::array(DType::kU32, {})});
}

Shape first_element(const Site& site) {
  const Shape& operand = site.operand(0);
  fail_if(!operand.is_tuple() || operand.elements.size() < 2,
          "{} expects the tuple of its start; got {}", name(site.instruction.opcode),
          human(operand));
  return operand.elements[0];
}

Shape first_operand(const Site& site) {
  return site.operand(0);
}
Shape callee_root(const Site& site) {
  return root_shape(site.callee(0));
}
Shape conditional(const Site& site) {
  check_selector(site.operand(0));
  return callee_root(site);
}
Shape token(const Site&) {
  return Shape::token();
}
Shape device_number(const Site&) {
  return Shape::array(DType::kU32, {});
}
Shape random_state(const Site&) {
  return Shape::array(DType::kU64, {2});
}

Shape convert(const Site& site) {
  const Shape& operand = site.operand(0);
  fail_if(!operand.is_array(), "Convert does not allow non-arrays, so cannot convert from {}.",
          human(operand));
  return array_like(operand, site.result_type(operand.dtype));
}

using Rule = Shape (*)(const Site&);
struct Row {
  Opcode opcode;
  Rule rule;
};

// These pass shapes through, including unbounded dimensions.
constexpr Row kControl[] = {
    {Opcode::kTuple, tuple},
    {Opcode::kGetTupleElement, tuple_element},
    {Opcode::kCopy, first_operand},
    {Opcode::kDomain, first_operand},
    {Opcode::kOptBarrier, first_operand},
    {Opcode::kAddDependency, first_operand},
    {Opcode::kWhile, first_operand},
    {Opcode::kCall, callee_root},
    {Opcode::kFusion, callee_root},
    {Opcode::kConditional, conditional},
    {Opcode::kCopyStart, copy_start},
    {Opcode::kCopyDone, first_element},
    {Opcode::kAfterAll, token},
    {Opcode::kOutfeed, token},
    {Opcode::kPartitionId, device_number},
    {Opcode::kReplicaId, device_number},
    {Opcode::kRngGetAndUpdateState, random_state},
};
constexpr Row kComputed[] = {
    {Opcode::kConcatenate, concatenate},
    {Opcode::kPad, pad},
    {Opcode::kSlice, slice},
    {Opcode::kDynamicSlice, dynamic_slice},
    {Opcode::kDynamicUpdateSlice, dynamic_update_slice},
    {Opcode::kTranspose, transpose},
    {Opcode::kReverse, reverse},
    {Opcode::kGetDimensionSize, get_dimension_size},
    {Opcode::kSetDimensionSize, set_dimension_size},
    {Opcode::kGather, gather},
    {Opcode::kScatter, scatter},
    {Opcode::kDot, dot},
    {Opcode::kScaledDot, scaled_dot},
    {Opcode::kRaggedDot, ragged_dot},
    {Opcode::kConvolution, convolution},
    {Opcode::kReduce, reduce},
    {Opcode::kReduceWindow, reduce_window},
    {Opcode::kSelectAndScatter, select_and_scatter},
    {Opcode::kSort, sort},
    {Opcode::kTopK, top_k},
    {Opcode::kScan, scan},
    {Opcode::kFft, fft},
    {Opcode::kCholesky, cholesky},
    {Opcode::kTriangularSolve, triangular_solve},
    {Opcode::kBatchNormTraining, batch_norm_training},
    {Opcode::kBatchNormInference, batch_norm_inference},
    {Opcode::kBatchNormGrad, batch_norm_grad},
    {Opcode::kConvert, convert},
    {Opcode::kBitcastConvert, bitcast_convert},
    {Opcode::kStochasticConvert, stochastic_convert},
    {Opcode::kReducePrecision, reduce_precision},
    {Opcode::kClamp, clamp},
    {Opcode::kSelect, select},
    {Opcode::kMap, map},
    {Opcode::kAllReduce, all_reduce},
    {Opcode::kAllReduceStart, all_reduce},
    {Opcode::kAllReduceDone, first_operand},
    {Opcode::kAllGather, all_gather},
    {Opcode::kAllGatherStart, all_gather_start},
    {Opcode::kAllGatherDone, second_element},
    {Opcode::kReduceScatter, reduce_scatter},
    {Opcode::kAllToAll, all_to_all},
    {Opcode::kRaggedAllToAll, ragged_all_to_all},
    {Opcode::kCollectiveBroadcast, collective_broadcast},
    {Opcode::kCollectivePermute, collective_permute},
    {Opcode::kCollectivePermuteStart, collective_permute_start},
    {Opcode::kCollectivePermuteDone, second_element},
    {Opcode::kSend, send},
    {Opcode::kSendDone, token},
    {Opcode::kRecvDone, recv_done},
};

using Rules = std::array<Rule, 256>;  // by opcode
constexpr Rules by_opcode(std::span<const Row> rows) {
  Rules rules{};
  for (const Row& row : rows) rules[static_cast<std::size_t>(row.opcode)] = row.rule;
  return rules;
}
constexpr Rules kControlRules = by_opcode(kControl);
constexpr Rules kComputedRules = by_opcode(kComputed);

}  // namespace
}  // namespace tilecast::ir::infer

namespace tilecast::ir {

std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                 const Instruction& instruction) {
  const infer::Site site{module, computation, instruction};
  const Opcode opcode = instruction.opcode;
  infer::check_operand_count(instruction);
  if (const infer::Rule rule = infer::kControlRules[static_cast<std::size_t>(opcode)])
    return rule(site);
  if (infer::any_unbounded(site)) return std::nullopt;
  if (const infer::Rule rule = infer::kComputedRules[static_cast<std::size_t>(opcode)])
    return rule(site);
  const bool has_shape = instruction.shape.dtype != DType::kInvalid;
  if (opcode == Opcode::kBroadcast && has_shape) infer::check_broadcast(site);
  if (opcode == Opcode::kReshape && has_shape) infer::check_reshape(site);
  if (!is_elementwise(opcode)) return std::nullopt;
  return info(opcode).arity == 1 ? infer::unary(site) : infer::binary(site);
}

std::int64_t window_output_size(std::int64_t size, const WindowDim& window) {
  infer::fail_if(window.stride <= 0, "Window has a non-positive stride: {}.", window.stride);
  const auto dilated = [](std::int64_t extent, std::int64_t dilation) {
    if (extent <= 0) return std::int64_t{0};
    return infer::checked_add(infer::checked_multiply(extent - 1, dilation), 1);
  };
  const std::int64_t edges = infer::checked_add(window.pad_low, window.pad_high);
  const std::int64_t padded = infer::checked_add(dilated(size, window.base_dilation), edges);
  const std::int64_t covered = dilated(window.size, window.window_dilation);
  if (padded <= 0 || covered > padded) return 0;
  return (padded - covered) / window.stride + 1;
}

}  // namespace tilecast::ir
