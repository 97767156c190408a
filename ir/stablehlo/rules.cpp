// Ops that become one instruction: elementwise ops, and ops whose attributes have fields of their
// own in HLO.
#include "ir/stablehlo/rules.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <numeric>
#include <span>

#include "ir/ops/op_row.h"
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
  Instruction made = lowering.applied(op, opcode);
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
  Instruction made = lowering.applied(op, opcode, 2);
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
  Instruction made = lowering.applied(op, opcode);
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

// Ops of the chlo dialect, expanded as XLA does before optimisation.
//
// If HLO has the op, it is used. XLA expands the special functions (lgamma, digamma ...) to long
// polynomials (MathExpander, ChloLegalizeToHlo). Here they become a chain with as many
// transcendentals and about as many multiplications and additions, which costs the same.

namespace {

struct Expansion {
  std::string_view name;
  int multiply_adds;
  std::vector<Opcode> transcendentals;
};

const std::vector<Expansion>& expansions() {
  using enum Opcode;
  static const std::vector<Expansion> kRows = {
      // Lanczos with eight coefficients, and the reflection for x < 1/2
      {"chlo.lgamma", 22, {kLog1p, kLog, kSin, kLog}},
      {"chlo.digamma", 24, {kLog1p, kCos, kSin}},
      // two polynomials of Giles, nine coefficients each, by the size of log1p(-x * x)
      {"chlo.erf_inv", 20, {kLog1p, kSqrt}},
      // two Chebyshev series of 8 and 25 coefficients
      {"chlo.bessel_i1e", 66, {kRsqrt}},
      // nine terms and the Euler-Maclaurin sum of twelve
      {"chlo.zeta",
       50,
       {kPower, kPower, kPower, kPower, kPower, kPower, kPower, kPower, kPower, kPower, kPower}},
      {"chlo.polygamma",
       80,
       {kLog1p, kLog, kSin, kLog, kPower, kPower, kPower, kPower, kPower, kPower, kPower, kPower,
        kPower, kExp}},
      {"chlo.next_after", 8, {}},  // integer steps and comparisons on the bits
  };
  return kRows;
}

void lower_special(Lowering& lowering, const Operation& op, Opcode) {
  const auto row = std::find_if(expansions().begin(), expansions().end(),
                                [&](const Expansion& each) { return each.name == op.name; });
  const InstrId x = lowering.operand(op, 0);
  const Shape like = lowering.shape(x);
  InstrId value = x;
  const InstrId coefficient = lowering.splat(op, 0.5, like);
  for (std::size_t i = 1; i < op.operands.size(); ++i) {
    value = lowering.emit(op, Opcode::kMultiply, {value, lowering.operand(op, i)});
  }
  for (const Opcode each : row->transcendentals) {
    value = each == Opcode::kPower ? lowering.emit(op, each, {value, coefficient})
                                   : lowering.emit(op, each, {value});
  }
  for (int i = 0; i < row->multiply_adds; ++i) {
    value = lowering.emit(op, Opcode::kMultiply, {value, x});
    value = lowering.emit(op, Opcode::kAdd, {value, coefficient});
  }
  lowering.define(op, value);
}

// 1 - erf(x)
void lower_erfc(Lowering& lowering, const Operation& op, Opcode) {
  const InstrId erf = lowering.emit(op, Opcode::kErf, {lowering.operand(op, 0)});
  const Shape like = lowering.shape(erf);
  lowering.define(op, lowering.emit(op, Opcode::kSubtract, {lowering.splat(op, 1, like), erf}));
}

void lower_square(Lowering& lowering, const Operation& op, Opcode) {
  const InstrId x = lowering.operand(op, 0);
  lowering.define(op, lowering.emit(op, Opcode::kMultiply, {x, x}));
}

void lower_conj(Lowering& lowering, const Operation& op, Opcode) {
  const InstrId x = lowering.operand(op, 0);
  const InstrId imaginary =
      lowering.emit(op, Opcode::kNegate, {lowering.emit(op, Opcode::kImag, {x})});
  lowering.define(
      op, lowering.emit(op, Opcode::kComplex, {lowering.emit(op, Opcode::kReal, {x}), imaginary}));
}

// is_inf, is_pos_inf, is_neg_inf
template <bool either, bool negative>
void lower_is_infinite(Lowering& lowering, const Operation& op, Opcode) {
  InstrId x = lowering.operand(op, 0);
  const Shape like = lowering.shape(x);
  if (either) x = lowering.emit(op, Opcode::kAbs, {x});
  const InstrId infinity = lowering.splat(op, negative ? -INFINITY : INFINITY, like);
  Instruction made = lowering.instruction(op, Opcode::kCompare);
  made.operands = {x, infinity};
  made.attrs = CompareAttrs{"EQ", ""};
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_constant_like(Lowering& lowering, const Operation& op, Opcode) {
  const Attribute& value = lowering.required(op, "value");
  const double number =
      value.kind == Attribute::Kind::kFloat ? value.number : static_cast<double>(value.integer);
  const Shape like = lowering.shape(lowering.operand(op, 0));
  lowering.define(op, lowering.splat(op, number, like));
}

void lower_top_k_op(Lowering& lowering, const Operation& op, Opcode) {
  lower_top_k(lowering, op, lowering.required_integer(op, "k"));
}

// Operands that the region takes whole are carried from step to step; of the others it takes
// slices.
void lower_scan(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode);
  made.called = {lowering.scalar_region(op, 0)};
  const auto arguments = lowering.region_shapes(op, 0);
  if (arguments.size() != made.operands.size()) lowering.fail(op, "not one argument an operand");
  std::int64_t carries = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (lowering.shape(made.operands[i]).rank() == arguments[i].rank()) ++carries;
  }
  made.dimensions = {lowering.required_integer(op, "dimension")};
  made.raw.edit().push_back({"num_carries", std::to_string(carries)});
  if (lowering.flag(op, "is_reverse")) made.raw.edit().push_back({"is_reverse", "true"});
  lowering.define(op, lowering.add(std::move(made)));
}

// chlo.broadcast_add and similar ops: the operand of lower rank gets dimensions in front.
void lower_broadcasting(Lowering& lowering, const Operation& op, Opcode opcode) {
  std::vector<InstrId> operands = lowering.operands(op);
  Dims sizes;
  for (const InstrId id : operands) {
    const Dims& dims = lowering.shape(id).dims;
    if (dims.size() > sizes.size()) sizes.insert(sizes.begin(), dims.size() - sizes.size(), 1);
    const std::size_t skip = sizes.size() - dims.size();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (sizes[skip + i] == 1) sizes[skip + i] = dims[i];
    }
  }
  Instruction made = lowering.instruction(op, opcode);
  for (InstrId& id : operands) {
    const Shape from = lowering.shape(id);
    if (from.dims == sizes) continue;
    Dims dimensions;
    for (std::size_t i = 0; i < from.dims.size(); ++i) {
      dimensions.push_back(static_cast<std::int64_t>(sizes.size() - from.dims.size() + i));
    }
    id = broadcast_in_dim(lowering, op, id, dimensions, row_major(from.dtype, sizes));
  }
  made.operands = std::move(operands);
  if (opcode == Opcode::kCompare) {
    made.attrs =
        CompareAttrs{lowering.word(op, "comparison_direction"), lowering.word(op, "compare_type")};
  }
  lowering.define(op, lowering.add(std::move(made)));
}

using enum Opcode;
constexpr NamedRule kRules[] = {
    {"after_all create_token", {kAfterAll, lower_plain}},
    {"batch_norm_grad", {kBatchNormGrad, lower_batch_norm}},
    {"batch_norm_inference", {kBatchNormInference, lower_batch_norm}},
    {"batch_norm_training", {kBatchNormTraining, lower_batch_norm}},
    {"broadcast", {kBroadcast, lower_broadcast}},
    {"broadcast_in_dim", {kBroadcast, lower_broadcast_in_dim}},
    {"cholesky", {kCholesky, lower_triangular}},
    {"compare", {kCompare, lower_compare}},
    {"concatenate", {kConcatenate, with_dimensions<kDimension>}},
    {"constant arith.constant sdy.constant util.unfoldable_constant", {kConstant, lower_constant}},
    {"convert", {kConvert, lower_convert}},
    {"dynamic_slice", {kDynamicSlice, lower_dynamic_slice}},
    {"dynamic_update_slice", {kDynamicUpdateSlice, lower_plain}},
    {"fft", {kFft, lower_fft}},
    {"get_dimension_size", {kGetDimensionSize, with_dimensions<kDimension>}},
    {"get_tuple_element", {kGetTupleElement, with_integer<IndexAttrs, &IndexAttrs::index, kIndex>}},
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
    {"trace sdy.sharding_group", {kConstant, lower_nothing}},
    {"transpose", {kTranspose, with_dimensions<kPermutation>}},
    {"triangular_solve", {kTriangularSolve, lower_triangular}},
    {"tuple", {kTuple, lower_plain}},
    {"chlo.conj", {kComplex, lower_conj}},
    {"chlo.constant_like", {kConstant, lower_constant_like}},
    {"chlo.erfc", {kErf, lower_erfc}},
    {"chlo.is_inf", {kCompare, lower_is_infinite<true, false>}},
    {"chlo.is_neg_inf", {kCompare, lower_is_infinite<false, true>}},
    {"chlo.is_pos_inf", {kCompare, lower_is_infinite<false, false>}},
    {"chlo.scan", {kScan, lower_scan}},
    {"chlo.square", {kMultiply, lower_square}},
    {"chlo.tan", {kTan, lower_elementwise}},
    {"chlo.top_k", {kTopK, lower_top_k_op}},
    {"chlo.lgamma chlo.digamma chlo.erf_inv chlo.bessel_i1e chlo.zeta chlo.polygamma "
     "chlo.next_after",
     {kMultiply, lower_special}},
};

using Table = std::unordered_map<std::string_view, Rule>;

Table make_table() {
  Table table;
  static std::deque<std::string> names;  // the views point into it
  const auto add = [&table](std::string name, const Rule& rule) {
    table.emplace(names.emplace_back(std::move(name)), rule);
  };
  const auto add_both = [&add](std::string_view name, const Rule& rule) {
    if (name.find('.') != std::string_view::npos) return add(std::string(name), rule);
    add(fmt::format("stablehlo.{}", name), rule);
    add(fmt::format("mhlo.{}", name), rule);
  };
  for (const std::span<const NamedRule> rules :
       {std::span<const NamedRule>(kRules), control_rules(), window_rules()}) {
    for (const NamedRule& each : rules) {
      std::string_view rest = each.names;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        add_both(rest.substr(0, end), each.rule);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  }
  // The other elementwise ops have no attributes and are named as in HLO, or as CHLO has them.
  for (std::size_t i = 0; i < kOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!is_elementwise(opcode) || opcode == Opcode::kMap) continue;
    std::string name(ir::name(opcode));
    std::replace(name.begin(), name.end(), '-', '_');
    add_both(name, {opcode, lower_elementwise});
    if (info(opcode).arity > 1) add("chlo.broadcast_" + name, {opcode, lower_broadcasting});
    const std::string_view own = op_row(opcode).form.name;
    if (!own.empty()) add_both(own, {opcode, lower_elementwise});
  }
  return table;
}

}  // namespace

const Rule* find_rule(std::string_view name) {
  static const Table kTable = make_table();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : &found->second;
}

}  // namespace tilecast::ir::stablehlo
