#include "ir/stablehlo/print_forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ir/stablehlo/print_bodies.h"
#include "ir/stablehlo/print_values.h"

namespace tilecast::ir::stablehlo {
namespace {

Text plain_body(const OpSite& site) {
  return site.operands;
}

// In StableHLO, scalar selectors and limits are broadcast; only those of full size are printed.
Text same_sizes(const OpSite& site) {
  const Shape& result = site.instruction.shape;
  for (std::size_t i = 0; i < site.instruction.operands.size(); ++i) {
    if (!same_dims(site.operand_shape(i), result)) return std::nullopt;
  }
  return site.operands;
}

// `%x, dims = [0, 1]`
template <const auto& label>
Text with_dims(const OpSite& site) {
  return fmt::format("{}, {} = {}", site.operands, label, int_list(site.instruction.dimensions));
}
constexpr std::string_view kDims = "dims";

Text concatenate_body(const OpSite& site) {
  return fmt::format("{}, dim = {}", site.operands, site.instruction.dimensions.front());
}

Text iota_body(const OpSite& site) {
  return fmt::format("dim = {}", site.instruction.as<IndexAttrs>().index);
}

Text tuple_element_body(const OpSite& site) {
  return fmt::format("{}[{}]", site.operands, site.instruction.as<IndexAttrs>().index);
}

Text constant_body(const OpSite& site) {
  const Literal& literal = site.instruction.as<ConstantAttrs>().literal;
  if (literal.elided && site.instruction.shape.is_array()) return "dense_resource<__elided__>";
  const Text dense = dense_text(literal, site.instruction.shape);
  return dense ? Text(fmt::format("dense<{}>", *dense)) : std::nullopt;
}

Text slice_body(const OpSite& site) {
  std::vector<std::string> ranges;
  for (const SliceDim& dim : site.instruction.as<SliceAttrs>().dims) {
    ranges.push_back(fmt::format("{}:{}{}", dim.start, dim.limit,
                                 dim.stride == 1 ? "" : fmt::format(":{}", dim.stride)));
  }
  return fmt::format("{} [{}]", site.operands, fmt::join(ranges, ", "));
}

Text pad_body(const OpSite& site) {
  Dims low, high, interior;
  for (const PadDim& dim : site.instruction.as<PadAttrs>().dims) {
    low.push_back(dim.low);
    high.push_back(dim.high);
    interior.push_back(dim.interior);
  }
  return fmt::format("{}, low = {}, high = {}, interior = {}", site.operands, int_list(low),
                     int_list(high), int_list(interior));
}

Text dynamic_slice_body(const OpSite& site) {
  return fmt::format("{}, sizes = {}", site.operands,
                     int_list(site.instruction.as<DynamicSliceAttrs>().sizes));
}

Text compare_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CompareAttrs>();
  return fmt::format("{}, {}{}{}", attrs.direction, site.operands, attrs.type.empty() ? "" : ", ",
                     attrs.type);
}

Text dot_general_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<DotAttrs>();
  std::string text = site.operands;
  if (!attrs.dims.lhs_batch.empty()) {
    text += fmt::format(", batching_dims = {} x {}", int_list(attrs.dims.lhs_batch),
                        int_list(attrs.dims.rhs_batch));
  }
  text += fmt::format(", contracting_dims = {} x {}", int_list(attrs.dims.lhs_contracting),
                      int_list(attrs.dims.rhs_contracting));
  if (!attrs.precision.empty()) {
    text += ", precision = " + precision_words(attrs.precision, "{}");
  }
  return text;
}

Text reduce_body(const OpSite& site) {
  return "dimensions = " + int_array(site.instruction.dimensions);
}

Text sort_body(const OpSite& site) {
  return fmt::format("dimension = {} : i64, is_stable = {}", site.instruction.dimensions.front(),
                     raw_or(site.instruction, "is_stable", "false"));
}

Text dimension_body(const OpSite& site) {
  return fmt::format("dimension = {} : i64", site.instruction.dimensions.front());
}

Text fft_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<FftAttrs>();
  return fmt::format("fft_length = {}, fft_type = #stablehlo<fft_type {}>", int_array(attrs.length),
                     attrs.type);
}

Text cholesky_body(const OpSite& site) {
  return fmt::format("lower = {}", site.instruction.as<TriangularAttrs>().lower);
}

Text triangular_solve_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<TriangularAttrs>();
  if (attrs.transpose_a.empty()) return std::nullopt;
  return fmt::format(
      "left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}",
      attrs.left_side, attrs.lower, attrs.transpose_a, attrs.unit_diagonal);
}

// Custom calls with called computations use the fallback form.
Text custom_call_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<CustomCallAttrs>();
  if (!site.instruction.called.empty()) return std::nullopt;
  return fmt::format("call_target_name = {}, has_side_effect = {}", mlir_string(attrs.target),
                     attrs.has_side_effect);
}

Text no_attributes(const OpSite&) {
  return "";
}

Text reduce_precision_body(const OpSite& site) {
  return fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32",
                     raw_or(site.instruction, "exponent_bits", "8"),
                     raw_or(site.instruction, "mantissa_bits", "23"));
}

Text batch_norm_body(const OpSite& site) {
  const auto& attrs = site.instruction.as<BatchNormAttrs>();
  return fmt::format("epsilon = {} : f32, feature_index = {} : i64",
                     mlir_number(fmt::format("{}", attrs.epsilon), DType::kF32),
                     attrs.feature_index);
}

Text rng_bits_body(const OpSite& site) {
  constexpr std::string_view kPrefix = "rng_";
  const std::string algorithm = raw_or(site.instruction, "algorithm", "rng_default");
  if (!algorithm.starts_with(kPrefix)) return std::nullopt;
  return fmt::format("rng_algorithm = #stablehlo<rng_algorithm {}>",
                     upper_case(algorithm.substr(kPrefix.size())));
}

Text top_k_body(const OpSite& site) {
  if (raw_or(site.instruction, "largest", "false") != "true") return std::nullopt;
  return fmt::format("k = {} : i64", site.instruction.as<IndexAttrs>().index);
}

using enum OpForm::Style;
using enum Opcode;
constexpr OpForm kOpForms[] = {
    {kAbs, "stablehlo.abs", kElementwise, plain_body},
    {kAcos, "chlo.acos", kGeneric, no_attributes},
    {kAcosh, "chlo.acosh", kGeneric, no_attributes},
    {kAdd, "stablehlo.add", kElementwise, plain_body},
    {kAfterAll, "stablehlo.after_all", kGeneric, no_attributes},
    {kAllGather, "stablehlo.all_gather", kGeneric, all_gather_body},
    {kAllReduce, "stablehlo.all_reduce", kGeneric, all_reduce_body},
    {kAllToAll, "stablehlo.all_to_all", kGeneric, all_to_all_body},
    {kAnd, "stablehlo.and", kElementwise, plain_body},
    {kAsin, "chlo.asin", kGeneric, no_attributes},
    {kAsinh, "chlo.asinh", kGeneric, no_attributes},
    {kAtan, "chlo.atan", kGeneric, no_attributes},
    {kAtan2, "stablehlo.atan2", kElementwise, plain_body},
    {kAtanh, "chlo.atanh", kGeneric, no_attributes},
    {kBatchNormGrad, "stablehlo.batch_norm_grad", kGeneric, batch_norm_body},
    {kBatchNormInference, "stablehlo.batch_norm_inference", kGeneric, batch_norm_body},
    {kBatchNormTraining, "stablehlo.batch_norm_training", kGeneric, batch_norm_body},
    {kBitcastConvert, "stablehlo.bitcast_convert", kFunction, plain_body},
    {kBroadcast, "stablehlo.broadcast_in_dim", kFunction, with_dims<kDims>},
    {kCall, "func.call", kFunction, plain_body},
    {kCbrt, "stablehlo.cbrt", kElementwise, plain_body},
    {kCeil, "stablehlo.ceil", kElementwise, plain_body},
    {kCholesky, "stablehlo.cholesky", kGeneric, cholesky_body},
    {kClamp, "stablehlo.clamp", kElementwise, same_sizes},
    {kClz, "stablehlo.count_leading_zeros", kElementwise, plain_body},
    {kCollectiveBroadcast, "stablehlo.collective_broadcast", kGeneric, all_reduce_body},
    {kCollectivePermute, "stablehlo.collective_permute", kGeneric, collective_permute_body},
    {kCompare, "stablehlo.compare", kFunction, compare_body},
    {kComplex, "stablehlo.complex", kElementwise, plain_body},
    {kConcatenate, "stablehlo.concatenate", kFunction, concatenate_body},
    {kConditional, "stablehlo.case", kGeneric, no_attributes},
    {kConstant, "stablehlo.constant", kResult, constant_body},
    {kConvert, "stablehlo.convert", kFunction, plain_body},
    {kConvolution, "stablehlo.convolution", kGeneric, convolution_body},
    {kCos, "stablehlo.cosine", kElementwise, plain_body},
    {kCosh, "chlo.cosh", kGeneric, no_attributes},
    {kCustomCall, "stablehlo.custom_call", kGeneric, custom_call_body},
    {kDivide, "stablehlo.divide", kElementwise, plain_body},
    {kDot, "stablehlo.dot_general", kFunction, dot_general_body},
    {kDynamicSlice, "stablehlo.dynamic_slice", kFunction, dynamic_slice_body},
    {kDynamicUpdateSlice, "stablehlo.dynamic_update_slice", kFunction, plain_body},
    {kErf, "chlo.erf", kGeneric, no_attributes},
    {kExp, "stablehlo.exponential", kElementwise, plain_body},
    {kExpm1, "stablehlo.exponential_minus_one", kElementwise, plain_body},
    {kFft, "stablehlo.fft", kGeneric, fft_body},
    {kFloor, "stablehlo.floor", kElementwise, plain_body},
    {kGather, "stablehlo.gather", kGeneric, gather_body},
    {kGetDimensionSize, "stablehlo.get_dimension_size", kGeneric, dimension_body},
    {kGetTupleElement, "stablehlo.get_tuple_element", kFunction, tuple_element_body},
    {kImag, "stablehlo.imag", kElementwise, plain_body},
    {kIota, "stablehlo.iota", kResult, iota_body},
    {kIsFinite, "stablehlo.is_finite", kFunction, plain_body},
    {kLog, "stablehlo.log", kElementwise, plain_body},
    {kLog1p, "stablehlo.log_plus_one", kElementwise, plain_body},
    {kLogistic, "stablehlo.logistic", kElementwise, plain_body},
    {kMap, "stablehlo.map", kGeneric, reduce_body},
    {kMaximum, "stablehlo.maximum", kElementwise, plain_body},
    {kMinimum, "stablehlo.minimum", kElementwise, plain_body},
    {kMulhi, "chlo.mulhi", kGeneric, no_attributes},
    {kMultiply, "stablehlo.multiply", kElementwise, plain_body},
    {kNegate, "stablehlo.negate", kElementwise, plain_body},
    {kNot, "stablehlo.not", kElementwise, plain_body},
    {kOptBarrier, "stablehlo.optimization_barrier", kGeneric, no_attributes},
    {kOr, "stablehlo.or", kElementwise, plain_body},
    {kPad, "stablehlo.pad", kFunction, pad_body},
    {kPartitionId, "stablehlo.partition_id", kResult, no_attributes},
    {kPopcnt, "stablehlo.popcnt", kElementwise, plain_body},
    {kPower, "stablehlo.power", kElementwise, plain_body},
    {kReal, "stablehlo.real", kElementwise, plain_body},
    {kReduce, "stablehlo.reduce", kGeneric, reduce_body},
    {kReducePrecision, "stablehlo.reduce_precision", kGeneric, reduce_precision_body},
    {kReduceScatter, "stablehlo.reduce_scatter", kGeneric, reduce_scatter_body},
    {kReduceWindow, "stablehlo.reduce_window", kGeneric, reduce_window_body},
    {kRemainder, "stablehlo.remainder", kElementwise, plain_body},
    {kReplicaId, "stablehlo.replica_id", kResult, no_attributes},
    {kReshape, "stablehlo.reshape", kFunction, plain_body},
    {kReverse, "stablehlo.reverse", kResult, with_dims<kDims>},
    {kRngBitGenerator, "stablehlo.rng_bit_generator", kGeneric, rng_bits_body},
    {kRoundNearestAfz, "stablehlo.round_nearest_afz", kElementwise, plain_body},
    {kRoundNearestEven, "stablehlo.round_nearest_even", kElementwise, plain_body},
    {kRsqrt, "stablehlo.rsqrt", kElementwise, plain_body},
    {kScatter, "stablehlo.scatter", kGeneric, scatter_body},
    {kSelect, "stablehlo.select", kFunction, same_sizes},
    {kSelectAndScatter, "stablehlo.select_and_scatter", kGeneric, select_and_scatter_body},
    {kSetDimensionSize, "stablehlo.set_dimension_size", kGeneric, dimension_body},
    {kShiftLeft, "stablehlo.shift_left", kElementwise, plain_body},
    {kShiftRightArithmetic, "stablehlo.shift_right_arithmetic", kElementwise, plain_body},
    {kShiftRightLogical, "stablehlo.shift_right_logical", kElementwise, plain_body},
    {kSign, "stablehlo.sign", kElementwise, plain_body},
    {kSin, "stablehlo.sine", kElementwise, plain_body},
    {kSinh, "chlo.sinh", kGeneric, no_attributes},
    {kSlice, "stablehlo.slice", kFunction, slice_body},
    {kSort, "stablehlo.sort", kGeneric, sort_body},
    {kSqrt, "stablehlo.sqrt", kElementwise, plain_body},
    {kSubtract, "stablehlo.subtract", kElementwise, plain_body},
    {kTan, "stablehlo.tan", kElementwise, plain_body},
    {kTanh, "stablehlo.tanh", kElementwise, plain_body},
    {kTopK, "chlo.top_k", kGeneric, top_k_body},
    {kTranspose, "stablehlo.transpose", kFunction, with_dims<kDims>},
    {kTriangularSolve, "stablehlo.triangular_solve", kGeneric, triangular_solve_body},
    {kTuple, "stablehlo.tuple", kResult, plain_body},
    {kWhile, "stablehlo.while", kGeneric, no_attributes},
    {kXor, "stablehlo.xor", kElementwise, plain_body},
};

}  // namespace

const OpForm* find_form(Opcode opcode) {
  const auto* found = std::ranges::find(kOpForms, opcode, &OpForm::opcode);
  return found == std::end(kOpForms) ? nullptr : found;
}

}  // namespace tilecast::ir::stablehlo
