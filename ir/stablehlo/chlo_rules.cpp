// Ops of the chlo dialect, expanded as XLA does before optimisation.
//
// If HLO has the op, it is used. XLA expands the special functions (lgamma, digamma ...) to long
// polynomials (MathExpander, ChloLegalizeToHlo). Here they become a chain with as many
// transcendentals and about as many multiplications and additions, which costs the same.
#include <algorithm>
#include <cmath>

#include "ir/stablehlo/rules.h"

namespace tilecast::ir::stablehlo {
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
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
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
    Shape to = Shape::array(from.dtype, sizes);
    to.layout = default_layout(to.rank());
    id = broadcast_in_dim(lowering, op, id, dimensions, std::move(to));
  }
  made.operands = std::move(operands);
  if (opcode == Opcode::kCompare) {
    made.attrs =
        CompareAttrs{lowering.word(op, "comparison_direction"), lowering.word(op, "compare_type")};
  }
  lowering.define(op, lowering.add(std::move(made)));
}

}  // namespace

std::vector<NamedRule> chlo_rules() {
  using enum Opcode;
  std::vector<NamedRule> rules = {
      {"chlo.acos", {kAcos, lower_elementwise}},
      {"chlo.acosh", {kAcosh, lower_elementwise}},
      {"chlo.asin", {kAsin, lower_elementwise}},
      {"chlo.asinh", {kAsinh, lower_elementwise}},
      {"chlo.atan", {kAtan, lower_elementwise}},
      {"chlo.atanh", {kAtanh, lower_elementwise}},
      {"chlo.conj", {kComplex, lower_conj}},
      {"chlo.constant_like", {kConstant, lower_constant_like}},
      {"chlo.cosh", {kCosh, lower_elementwise}},
      {"chlo.erf", {kErf, lower_elementwise}},
      {"chlo.erfc", {kErf, lower_erfc}},
      {"chlo.is_inf", {kCompare, lower_is_infinite<true, false>}},
      {"chlo.is_neg_inf", {kCompare, lower_is_infinite<false, true>}},
      {"chlo.is_pos_inf", {kCompare, lower_is_infinite<false, false>}},
      {"chlo.mulhi", {kMulhi, lower_elementwise}},
      {"chlo.scan", {kScan, lower_scan}},
      {"chlo.sinh", {kSinh, lower_elementwise}},
      {"chlo.square", {kMultiply, lower_square}},
      {"chlo.tan", {kTan, lower_elementwise}},
      {"chlo.top_k", {kTopK, lower_top_k_op}},
  };
  for (const Expansion& row : expansions()) rules.push_back({row.name, {kMultiply, lower_special}});
  static constexpr std::pair<std::string_view, Opcode> kBroadcasting[] = {
      {"chlo.broadcast_add", kAdd},           {"chlo.broadcast_and", kAnd},
      {"chlo.broadcast_atan2", kAtan2},       {"chlo.broadcast_compare", kCompare},
      {"chlo.broadcast_complex", kComplex},   {"chlo.broadcast_divide", kDivide},
      {"chlo.broadcast_maximum", kMaximum},   {"chlo.broadcast_minimum", kMinimum},
      {"chlo.broadcast_multiply", kMultiply}, {"chlo.broadcast_or", kOr},
      {"chlo.broadcast_power", kPower},       {"chlo.broadcast_remainder", kRemainder},
      {"chlo.broadcast_select", kSelect},     {"chlo.broadcast_subtract", kSubtract},
      {"chlo.broadcast_xor", kXor},
  };
  for (const auto& [name, opcode] : kBroadcasting) {
    rules.push_back({name, {opcode, lower_broadcasting}});
  }
  return rules;
}

}  // namespace tilecast::ir::stablehlo
