// Ops that map elements one to one: arithmetic, comparisons, activations, casts.
// Formulas: onnx.ai/onnx/operators; com.microsoft: ONNX Runtime's contrib operators.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

template <Opcode opcode>
Terms one(const NodeSite& s) {
  return {unary(opcode, s[0])};
}
// Before version 7 the second operand could be aligned with chosen dimensions of the first.
Term second_operand(const NodeSite& s) {
  const Term a = s[0], b = s[1];
  if (s.version >= 7 || s.find("axis") == nullptr) return b;
  Dims dims = b.dims();
  const std::int64_t behind = a.rank() - s.axis("axis", 0, a.rank()) - b.rank();
  dims.insert(dims.end(), static_cast<std::size_t>(std::max<std::int64_t>(behind, 0)), 1);
  return reshape(b, dims);
}
template <Opcode opcode>
Terms two(const NodeSite& s) {
  return {binary(opcode, s[0], second_operand(s))};
}
template <const char* direction>
Terms compared_inputs(const NodeSite& s) {
  return {compare(direction, s[0], second_operand(s))};
}
constexpr char kEq[] = "EQ", kLt[] = "LT", kLe[] = "LE", kGt[] = "GT", kGe[] = "GE";

template <Opcode opcode>
Term all_inputs(const NodeSite& s) {
  Term result = s[0];
  for (std::size_t i = 1; i < s.count(); ++i) result = binary(opcode, result, s[i]);
  return result;
}

Term sigmoid(Term x) {
  return unary(Opcode::kLogistic, x);
}
Term exponential(Term x) {
  return unary(Opcode::kExp, x);
}
Term softplus(Term x) {
  return maximum(x, 0) + unary(Opcode::kLog1p, exponential(-unary(Opcode::kAbs, x)));
}
Term positive(Term x) {
  return compare("GT", x, like(x, 0));
}
Term clamped(Term x, double low, double high) {
  return minimum(maximum(x, low), high);
}

Term gelu(Term x) {
  return x * 0.5 * (unary(Opcode::kErf, x * std::numbers::sqrt2 / 2.0) + 1.0);
}
Term fast_gelu(Term x) {
  const Term inner = (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * (unary(Opcode::kTanh, inner) + 1.0);
}
Term biased(const NodeSite& s) {
  return s.has(1) ? s[0] + s[1] : s[0];
}

Terms pow(const NodeSite& s) {
  return {binary(Opcode::kPower, s[0], convert(s[1], s[0].dtype()))};
}

// Integers: the result has the sign of the divisor (as in Python) unless fmod.
Terms mod(const NodeSite& s) {
  const Term rest = binary(Opcode::kRemainder, s[0], s[1]);
  if (s.flag("fmod") || is_unsigned_integer(rest.dtype())) return {rest};
  const Term zero = like(rest, 0);
  const Term other_sign = compare("NE", compare("LT", rest, zero), compare("LT", s[1], zero));
  const Term wrong = binary(Opcode::kAnd, compare("NE", rest, zero), other_sign);
  return {select(wrong, rest + s[1], rest)};
}

Terms clip(const NodeSite& s) {
  Term x = s[0];
  if (s.find("min") != nullptr) x = maximum(x, s.number("min", 0));
  if (s.find("max") != nullptr) x = minimum(x, s.number("max", 0));
  if (s.has(1)) x = maximum(x, s[1]);
  if (s.has(2)) x = minimum(x, s[2]);
  return {x};
}

Terms cast(const NodeSite& s) {
  return {convert(s[0], element_type(s.integer("to", 0)))};
}

// Before version 7, slopes per channel are a vector.
Terms prelu(const NodeSite& s) {
  const Term x = s[0];
  const bool by_channel = s.version < 7 && s[1].rank() == 1 && s[1].dim(0) != 1;
  return {select(positive(x), x, x * (by_channel ? along(s[1], x, 1) : s[1]))};
}

Terms is_infinite(const NodeSite& s) {
  const Term x = s[0];
  const Term up = compare("EQ", x, like(x, INFINITY)), down = compare("EQ", x, like(x, -INFINITY));
  if (s.integer("detect_positive", 1) == 0) return {down};
  return {s.integer("detect_negative", 1) == 0 ? up : binary(Opcode::kOr, up, down)};
}

Terms bit_shift(const NodeSite& s) {
  const bool left = s.text("direction", "LEFT") == "LEFT";
  return {binary(left ? Opcode::kShiftLeft : Opcode::kShiftRightLogical, s[0], s[1])};
}

Terms shrink(const NodeSite& s) {
  const double bound = s.number("lambd", 0.5), bias = s.number("bias", 0);
  const Term x = s[0];
  const Term above = select(compare("GT", x, like(x, bound)), x - bias, like(x, 0));
  return {select(compare("LT", x, like(x, -bound)), x + bias, above)};
}

Terms elu(const NodeSite& s) {
  const Term x = s[0];
  const double alpha = s.number("alpha", 1);
  return {select(positive(x), x, unary(Opcode::kExpm1, x) * alpha)};
}

Terms selu(const NodeSite& s) {
  const Term x = s[0];
  const double alpha = s.number("alpha", 1.67326319217681884765625);
  return {select(positive(x), x, unary(Opcode::kExpm1, x) * alpha) *
          s.number("gamma", 1.05070102214813232421875)};
}

constexpr OpRow kElementwise[] = {
    {"Abs", one<Opcode::kAbs>},
    {"Neg", one<Opcode::kNegate>},
    {"Exp", one<Opcode::kExp>},
    {"Log", one<Opcode::kLog>},
    {"Sqrt", one<Opcode::kSqrt>},
    {"Tanh", one<Opcode::kTanh>},
    {"Sigmoid", one<Opcode::kLogistic>},
    {"Erf", one<Opcode::kErf>},
    {"Floor", one<Opcode::kFloor>},
    {"Ceil", one<Opcode::kCeil>},
    {"Round", one<Opcode::kRoundNearestEven>},
    {"Sign", one<Opcode::kSign>},
    {"Sin", one<Opcode::kSin>},
    {"Cos", one<Opcode::kCos>},
    {"Tan", one<Opcode::kTan>},
    {"Asin", one<Opcode::kAsin>},
    {"Acos", one<Opcode::kAcos>},
    {"Atan", one<Opcode::kAtan>},
    {"Sinh", one<Opcode::kSinh>},
    {"Cosh", one<Opcode::kCosh>},
    {"Asinh", one<Opcode::kAsinh>},
    {"Acosh", one<Opcode::kAcosh>},
    {"Atanh", one<Opcode::kAtanh>},
    {"Not", one<Opcode::kNot>},
    {"BitwiseNot", one<Opcode::kNot>},
    {"Add", two<Opcode::kAdd>},
    {"Sub", two<Opcode::kSubtract>},
    {"Mul", two<Opcode::kMultiply>},
    {"Div", two<Opcode::kDivide>},
    {"And", two<Opcode::kAnd>},
    {"Or", two<Opcode::kOr>},
    {"Xor", two<Opcode::kXor>},
    {"BitwiseAnd", two<Opcode::kAnd>},
    {"BitwiseOr", two<Opcode::kOr>},
    {"BitwiseXor", two<Opcode::kXor>},
    {"Pow", pow},
    {"Mod", mod},
    {"BitShift", bit_shift},
    {"Equal", compared_inputs<kEq>},
    {"Less", compared_inputs<kLt>},
    {"LessOrEqual", compared_inputs<kLe>},
    {"Greater", compared_inputs<kGt>},
    {"GreaterOrEqual", compared_inputs<kGe>},
    {"Max", [](const NodeSite& s) -> Terms { return {all_inputs<Opcode::kMaximum>(s)}; }},
    {"Min", [](const NodeSite& s) -> Terms { return {all_inputs<Opcode::kMinimum>(s)}; }},
    {"Sum", [](const NodeSite& s) -> Terms { return {all_inputs<Opcode::kAdd>(s)}; }},
    {"Mean",
     [](const NodeSite& s) -> Terms {
       return {all_inputs<Opcode::kAdd>(s) / static_cast<double>(s.count())};
     }},
    {"Where", [](const NodeSite& s) -> Terms { return {select(s[0], s[1], s[2])}; }},
    {"Cast", cast},
    {"CastLike", [](const NodeSite& s) -> Terms { return {convert(s[0], s[1].dtype())}; }},
    {"Reciprocal", [](const NodeSite& s) -> Terms { return {like(s[0], 1) / s[0]}; }},
    {"IsNaN", [](const NodeSite& s) -> Terms { return {compare("NE", s[0], s[0])}; }},
    {"IsInf", is_infinite},
    {"Clip", clip},
    {"PRelu", prelu},
    {"Shrink", shrink},
    {"Relu", [](const NodeSite& s) -> Terms { return {maximum(s[0], 0)}; }},
    {"LeakyRelu",
     [](const NodeSite& s) -> Terms {
       return {select(positive(s[0]), s[0], s[0] * s.number("alpha", 0.01))};
     }},
    {"ThresholdedRelu",
     [](const NodeSite& s) -> Terms {
       const Term above = compare("GT", s[0], like(s[0], s.number("alpha", 1)));
       return {select(above, s[0], like(s[0], 0))};
     }},
    {"Elu", elu},
    {"Selu", selu},
    {"Celu",
     [](const NodeSite& s) -> Terms {
       const double alpha = s.number("alpha", 1);
       return {maximum(s[0], 0) + minimum(unary(Opcode::kExpm1, s[0] / alpha) * alpha, 0)};
     }},
    {"HardSigmoid",
     [](const NodeSite& s) -> Terms {
       return {clamped(s[0] * s.number("alpha", 0.2) + s.number("beta", 0.5), 0, 1)};
     }},
    {"HardSwish",
     [](const NodeSite& s) -> Terms { return {s[0] * clamped(s[0] / 6.0 + 0.5, 0, 1)}; }},
    {"Softplus", [](const NodeSite& s) -> Terms { return {softplus(s[0])}; }},
    {"Softsign",
     [](const NodeSite& s) -> Terms { return {s[0] / (unary(Opcode::kAbs, s[0]) + 1.0)}; }},
    {"Mish",
     [](const NodeSite& s) -> Terms { return {s[0] * unary(Opcode::kTanh, softplus(s[0]))}; }},
    {"Swish",
     [](const NodeSite& s) -> Terms { return {s[0] * sigmoid(s[0] * s.number("alpha", 1))}; }},
    {"Gelu",
     [](const NodeSite& s) -> Terms {
       return {s.text("approximate", "none") == "tanh" ? fast_gelu(s[0]) : gelu(s[0])};
     }},
    {"com.microsoft:Gelu", [](const NodeSite& s) -> Terms { return {gelu(s[0])}; }},
    {"com.microsoft:BiasGelu", [](const NodeSite& s) -> Terms { return {gelu(biased(s))}; }},
    {"com.microsoft:FastGelu", [](const NodeSite& s) -> Terms { return {fast_gelu(biased(s))}; }},
    {"com.microsoft:QuickGelu",
     [](const NodeSite& s) -> Terms { return {s[0] * sigmoid(s[0] * s.number("alpha", 1.702))}; }},
};

}  // namespace

std::span<const OpRow> elementwise_rows() {
  return kElementwise;
}

}  // namespace tilecast::ir::onnx_reader
