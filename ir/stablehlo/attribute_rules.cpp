// Ops that become one instruction: elementwise ops, and ops whose attributes have fields of their
// own in HLO.
#include <algorithm>
#include <cctype>
#include <numeric>

#include "ir/stablehlo/rules.h"
#include "ir/stablehlo/shape_values.h"

namespace tilecast::ir::stablehlo {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Lowers the op to one instruction over all its operands; `fill` sets its attributes.
template <class Fill>
void one(Lowering& lowering, const Operation& op, Opcode opcode, Fill&& fill) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  fill(made);
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_plain(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [](Instruction&) {});
}

template <class T, std::int64_t T::*field, const auto& name>
void with_integer(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    made.attrs.edit<T>().*field = lowering.required_integer(op, name);
  });
}

template <const auto& name>
void with_dimensions(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode,
      [&](Instruction& made) { made.dimensions = lowering.integers(op, name); });
}

constexpr std::string_view kDimension = "dimension";
constexpr std::string_view kDimensions = "dimensions";
constexpr std::string_view kPermutation = "permutation";
constexpr std::string_view kIotaDimension = "iota_dimension";
constexpr std::string_view kIndex = "index";

void lower_convert(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  InstrId operand = lowering.operand(op, 0);
  if (is_complex(lowering.shape(operand).dtype) && !is_complex(made.shape.dtype)) {
    operand = lowering.emit(op, Opcode::kReal, {operand});
  }
  made.operands = {operand};
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_compare(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    const std::string type = lowering.word(op, "compare_type");
    made.attrs =
        CompareAttrs{lowering.word(op, "comparison_direction"), type == "NOTYPE" ? "" : type};
  });
}

void lower_constant(Lowering& lowering, const Operation& op, Opcode) {
  const TypeId type = lowering.tree().values[op.first_result.index()].type;
  lowering.define(op, lowering.constant(op, lowering.required(op, "value"), type));
}

void lower_slice(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    const Dims start = lowering.integers(op, "start_indices");
    const Dims limit = lowering.integers(op, "limit_indices");
    Dims strides = lowering.integers(op, "strides");
    if (strides.empty()) strides.assign(start.size(), 1);
    if (limit.size() != start.size() || strides.size() != start.size()) {
      lowering.fail(op, "start_indices, limit_indices and strides differ in length");
    }
    auto& dims = made.attrs.edit<SliceAttrs>().dims;
    for (std::size_t i = 0; i < start.size(); ++i) dims.push_back({start[i], limit[i], strides[i]});
  });
}

void lower_pad(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    const Dims low = lowering.integers(op, "edge_padding_low");
    const Dims high = lowering.integers(op, "edge_padding_high");
    Dims interior = lowering.integers(op, "interior_padding");
    if (interior.empty()) interior.assign(low.size(), 0);
    if (high.size() != low.size() || interior.size() != low.size()) {
      lowering.fail(op, "low, high and interior padding differ in length");
    }
    auto& dims = made.attrs.edit<PadAttrs>().dims;
    for (std::size_t i = 0; i < low.size(); ++i) dims.push_back({low[i], high[i], interior[i]});
  });
}

void lower_dynamic_slice(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    made.attrs = DynamicSliceAttrs{lowering.integers(op, "slice_sizes")};
  });
}

void lower_broadcast_in_dim(Lowering& lowering, const Operation& op, Opcode) {
  lowering.define(op, broadcast_in_dim(lowering, op, lowering.operand(op, 0),
                                       lowering.integers(op, "broadcast_dimensions"),
                                       lowering.written(op.first_result)));
}

// The old op, which adds new dimensions in front.
void lower_broadcast(Lowering& lowering, const Operation& op, Opcode) {
  const InstrId operand = lowering.operand(op, 0);
  const auto rank = static_cast<std::int64_t>(lowering.shape(operand).dims.size());
  const auto added = static_cast<std::int64_t>(lowering.integers(op, "broadcast_sizes").size());
  Dims dimensions;
  for (std::int64_t i = 0; i < rank; ++i) dimensions.push_back(added + i);
  lowering.define(
      op, broadcast_in_dim(lowering, op, operand, dimensions, lowering.written(op.first_result)));
}

void lower_fft(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    made.attrs = FftAttrs{lowering.word(op, "fft_type"), lowering.integers(op, "fft_length")};
  });
}

void lower_triangular(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    made.attrs =
        TriangularAttrs{lowering.flag(op, "left_side"), lowering.flag(op, "lower"),
                        lowering.flag(op, "unit_diagonal"), lowering.word(op, "transpose_a")};
  });
}

void lower_batch_norm(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    made.attrs = BatchNormAttrs{lowering.required(op, "epsilon").number,
                                lowering.required_integer(op, "feature_index")};
  });
}

void lower_reduce_precision(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    for (const std::string_view key : {"exponent_bits", "mantissa_bits"}) {
      made.raw.edit().push_back(
          {std::string(key), std::to_string(lowering.required_integer(op, key))});
    }
  });
}

void lower_rng(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0), lowering.operand(op, 1)};
  made.shape = lowering.resolved(op, std::move(made.shape),
                                 op.operands.size() > 2 ? lowering.known(op.operands[2]) : nullptr);
  made.raw.edit().push_back(
      {"distribution", "rng_" + lower_case(lowering.word(op, "rng_distribution"))});
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_rng_bits(Lowering& lowering, const Operation& op, Opcode opcode) {
  one(lowering, op, opcode, [&](Instruction& made) {
    const std::string algorithm = lower_case(lowering.word(op, "rng_algorithm"));
    made.raw.edit().push_back({"algorithm", "rng_" + (algorithm.empty() ? "default" : algorithm)});
  });
}

void lower_barrier(Lowering& lowering, const Operation& op, Opcode opcode) {
  if (op.operands.empty()) return;
  const InstrId whole = lowering.one_value(op, operand_values(op));
  lowering.define(op, lowering.emit(op, opcode, {whole}));
}

void lower_nothing(Lowering&, const Operation&, Opcode) {}

}  // namespace

InstrId broadcast_in_dim(Lowering& lowering, const Operation& op, InstrId operand,
                         const Dims& dimensions, Shape result) {
  const Shape from = lowering.shape(operand);
  if (dimensions.size() != from.dims.size()) {
    lowering.fail(op, "has {} broadcast dimensions for an operand of rank {}", dimensions.size(),
                  from.dims.size());
  }
  // HLO's broadcast needs ascending dimensions.
  if (!std::is_sorted(dimensions.begin(), dimensions.end())) {
    Dims order(dimensions.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return dimensions[static_cast<std::size_t>(a)] < dimensions[static_cast<std::size_t>(b)];
    });
    Instruction transpose;
    transpose.opcode = Opcode::kTranspose;
    transpose.operands = {operand};
    transpose.dimensions = order;
    transpose.offset = op.offset;
    Dims sorted = dimensions;
    std::sort(sorted.begin(), sorted.end());
    return broadcast_in_dim(lowering, op, lowering.add(std::move(transpose)), sorted,
                            std::move(result));
  }
  // Dimensions of size 1 that are repeated are dropped first: HLO's broadcast only adds dimensions.
  Shape kept = Shape::array(from.dtype, {});
  Dims positions;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const auto at = static_cast<std::size_t>(dimensions[i]);
    if (dimensions[i] < 0 || at >= result.dims.size()) {
      lowering.fail(op, "broadcast dimension {} is outside of the result", dimensions[i]);
    }
    if (result.dims[at] == kUnboundedSize && from.dims[i] != 1) result.dims[at] = from.dims[i];
    if (from.dims[i] == 1 && result.dims[at] != 1) continue;
    kept.dims.push_back(from.dims[i]);
    positions.push_back(dimensions[i]);
  }
  if (kept.dims.size() != from.dims.size()) {
    kept.layout = default_layout(kept.rank());
    operand = lowering.emit(op, Opcode::kReshape, {operand}, std::move(kept));
  }
  Instruction made = lowering.instruction(op, Opcode::kBroadcast);
  made.shape = lowering.resolved(op, std::move(result), nullptr);
  made.operands = {operand};
  made.dimensions = std::move(positions);
  return lowering.add(std::move(made));
}

void lower_elementwise(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  // Scalar operands of select and clamp are broadcast.
  if (made.operands.size() == 3) {
    const Shape like = lowering.shape(made.operands[1]);
    made.operands[0] = lowering.broadcast_scalar(op, made.operands[0], like);
    if (opcode == Opcode::kClamp) {
      made.operands[2] = lowering.broadcast_scalar(op, made.operands[2], like);
    }
  }
  lowering.define(op, lowering.add(std::move(made)));
}

std::vector<NamedRule> attribute_rules() {
  using enum Opcode;
  return {
      {"after_all", {kAfterAll, lower_plain}},
      {"batch_norm_grad", {kBatchNormGrad, lower_batch_norm}},
      {"batch_norm_inference", {kBatchNormInference, lower_batch_norm}},
      {"batch_norm_training", {kBatchNormTraining, lower_batch_norm}},
      {"broadcast", {kBroadcast, lower_broadcast}},
      {"broadcast_in_dim", {kBroadcast, lower_broadcast_in_dim}},
      {"cholesky", {kCholesky, lower_triangular}},
      {"compare", {kCompare, lower_compare}},
      {"concatenate", {kConcatenate, with_dimensions<kDimension>}},
      {"constant", {kConstant, lower_constant}},
      {"convert", {kConvert, lower_convert}},
      {"create_token", {kAfterAll, lower_plain}},
      {"dynamic_slice", {kDynamicSlice, lower_dynamic_slice}},
      {"dynamic_update_slice", {kDynamicUpdateSlice, lower_plain}},
      {"fft", {kFft, lower_fft}},
      {"get_dimension_size", {kGetDimensionSize, with_dimensions<kDimension>}},
      {"get_tuple_element",
       {kGetTupleElement, with_integer<IndexAttrs, &IndexAttrs::index, kIndex>}},
      {"iota", {kIota, with_integer<IndexAttrs, &IndexAttrs::index, kIotaDimension>}},
      {"optimization_barrier", {kOptBarrier, lower_barrier}},
      {"pad", {kPad, lower_pad}},
      {"partition_id", {kPartitionId, lower_plain}},
      {"reduce_precision", {kReducePrecision, lower_reduce_precision}},
      {"replica_id", {kReplicaId, lower_plain}},
      {"reshape", {kReshape, lower_plain}},
      {"reverse", {kReverse, with_dimensions<kDimensions>}},
      {"rng", {kRng, lower_rng}},
      {"rng_bit_generator", {kRngBitGenerator, lower_rng_bits}},
      {"set_dimension_size", {kSetDimensionSize, with_dimensions<kDimension>}},
      {"slice", {kSlice, lower_slice}},
      {"trace", {kConstant, lower_nothing}},
      {"transpose", {kTranspose, with_dimensions<kPermutation>}},
      {"triangular_solve", {kTriangularSolve, lower_triangular}},
      {"tuple", {kTuple, lower_plain}},
      {"arith.constant", {kConstant, lower_constant}},
      {"sdy.constant", {kConstant, lower_constant}},
      {"util.unfoldable_constant", {kConstant, lower_constant}},
      {"sdy.sharding_group", {kConstant, lower_nothing}},
  };
}

}  // namespace tilecast::ir::stablehlo
