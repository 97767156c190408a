#include "host/c_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "ir/literal.h"

namespace tilecast::host {

namespace {

using ir::DType;
using ir::Op;
using ir::Opcode;
using Text = std::optional<std::string>;

// C pattern of an op with operands {a} and {b}. {v} is the value type, {s} its suffix,
// {w} an unsigned integer type at least as wide, {n} the bits of an element, {m} the suffix of a
// libm name.
struct OpPattern {
  Opcode opcode;
  std::string_view text;
};

constexpr OpPattern kFloatPatterns[] = {
    {Opcode::kNegate, "-{a}"},
    {Opcode::kAbs, "fabs{m}({a})"},
    {Opcode::kCeil, "ceil{m}({a})"},
    {Opcode::kFloor, "floor{m}({a})"},
    {Opcode::kRoundNearestEven, "rint{m}({a})"},
    {Opcode::kSqrt, "sqrt{m}({a})"},
    {Opcode::kRsqrt, "1/sqrt{m}({a})"},
    {Opcode::kRoundNearestAfz, "tc_round_{s}({a})"},
    {Opcode::kSign, "tc_sign_{s}({a})"},
    {Opcode::kExp, "tc_exp_{s}({a})"},
    {Opcode::kExpm1, "tc_expm1_{s}({a})"},
    {Opcode::kLog, "tc_log_{s}({a})"},
    {Opcode::kLog1p, "tc_log1p_{s}({a})"},
    {Opcode::kLogistic, "tc_logistic_{s}({a})"},
    {Opcode::kTanh, "tc_tanh_{s}({a})"},
    {Opcode::kErf, "tc_erf_{s}({a})"},
    {Opcode::kCbrt, "cbrt{m}({a})"},
    {Opcode::kSin, "sin{m}({a})"},
    {Opcode::kCos, "cos{m}({a})"},
    {Opcode::kTan, "tan{m}({a})"},
    {Opcode::kAsin, "asin{m}({a})"},
    {Opcode::kAcos, "acos{m}({a})"},
    {Opcode::kAtan, "atan{m}({a})"},
    {Opcode::kSinh, "sinh{m}({a})"},
    {Opcode::kCosh, "cosh{m}({a})"},
    {Opcode::kAsinh, "asinh{m}({a})"},
    {Opcode::kAcosh, "acosh{m}({a})"},
    {Opcode::kAtanh, "atanh{m}({a})"},
    {Opcode::kAdd, "{a}+{b}"},
    {Opcode::kSubtract, "{a}-{b}"},
    {Opcode::kMultiply, "{a}*{b}"},
    {Opcode::kDivide, "{a}/{b}"},
    {Opcode::kMaximum, "tc_max_{s}({a},{b})"},
    {Opcode::kMinimum, "tc_min_{s}({a},{b})"},
    {Opcode::kRemainder, "fmod{m}({a},{b})"},
    {Opcode::kPower, "pow{m}({a},{b})"},
    {Opcode::kAtan2, "atan2{m}({a},{b})"},
};

// Integers wrap: they are computed in unsigned types of at least 32 bits.
constexpr OpPattern kIntegerPatterns[] = {
    {Opcode::kNegate, "({v})(({w})0-({w}){a})"},
    {Opcode::kNot, "({v})~{a}"},
    {Opcode::kAbs, "({a}<0?({v})(({w})0-({w}){a}):{a})"},
    {Opcode::kSign, "(({a}>0)-({a}<0))"},
    {Opcode::kPopcnt, "tc_popcnt((uint64_t){a},{n})"},
    {Opcode::kClz, "tc_clz((uint64_t){a},{n})"},
    {Opcode::kAdd, "({v})(({w}){a}+({w}){b})"},
    {Opcode::kSubtract, "({v})(({w}){a}-({w}){b})"},
    {Opcode::kMultiply, "({v})(({w}){a}*({w}){b})"},
    {Opcode::kMaximum, "({a}>{b}?{a}:{b})"},
    {Opcode::kMinimum, "({a}<{b}?{a}:{b})"},
    {Opcode::kAnd, "({v})({a}&{b})"},
    {Opcode::kOr, "({v})({a}|{b})"},
    {Opcode::kXor, "({v})({a}^{b})"},
    {Opcode::kDivide, "tc_div_{s}({a},{b})"},
    {Opcode::kRemainder, "tc_rem_{s}({a},{b})"},
    {Opcode::kPower, "tc_pow_{s}({a},{b})"},
    {Opcode::kShiftLeft, "tc_shl_{s}({a},{b})"},
    {Opcode::kShiftRightArithmetic, "tc_sra_{s}({a},{b})"},
    {Opcode::kShiftRightLogical, "tc_srl_{s}({a},{b})"},
};

constexpr OpPattern kPredPatterns[] = {
    // only those that differ from integers
    {Opcode::kNot, "!{a}"},
    {Opcode::kAdd, "({a}|{b})"},
    {Opcode::kMultiply, "({a}&{b})"},
};

const OpPattern* pattern_of(std::span<const OpPattern> patterns, Opcode opcode, bool binary) {
  for (const OpPattern& pattern : patterns) {
    const bool takes_two = pattern.text.find("{b}") != std::string_view::npos;
    if (pattern.opcode == opcode && takes_two == binary) return &pattern;
  }
  return nullptr;
}

// `b`: nullptr for an op with one operand.
Text op_text(Opcode opcode, DType dtype, const std::string& a, const std::string* b) {
  const OpPattern* pattern =
      ir::is_floating(dtype) ? pattern_of(kFloatPatterns, opcode, b != nullptr) : nullptr;
  if (dtype == DType::kPred) pattern = pattern_of(kPredPatterns, opcode, b != nullptr);
  if (pattern == nullptr && !ir::is_floating(dtype)) {
    pattern = pattern_of(kIntegerPatterns, opcode, b != nullptr);
  }
  if (pattern == nullptr) return std::nullopt;
  return fmt::format(
      fmt::runtime(pattern->text), fmt::arg("a", a),
      fmt::arg("b", b != nullptr ? *b : std::string()), fmt::arg("v", value_type(dtype)),
      fmt::arg("s", suffix(dtype)), fmt::arg("w", ir::bits(dtype) == 64 ? "uint64_t" : "uint32_t"),
      fmt::arg("n", ir::bits(dtype)), fmt::arg("m", dtype == DType::kF64 ? "" : "f"));
}

Text compare_text(const Op& op, DType dtype, const std::string& a, const std::string& b) {
  const auto& attrs = op.as<ir::CompareAttrs>();
  std::string x = a, y = b;
  if (attrs.type == "TOTALORDER" && ir::is_floating(dtype)) {
    x = fmt::format("tc_order_{}({})", suffix(dtype), a);
    y = fmt::format("tc_order_{}({})", suffix(dtype), b);
  }
  static const std::map<std::string_view, std::string_view> kSigns = {
      {"EQ", "=="}, {"NE", "!="}, {"LT", "<"}, {"LE", "<="}, {"GT", ">"}, {"GE", ">="}};
  const auto sign = kSigns.find(attrs.direction);
  if (sign == kSigns.end()) return std::nullopt;
  return fmt::format("({}{}{})", x, sign->second, y);
}

Text bitcast_text(DType from, DType to, const std::string& a) {
  if (ir::bits(from) != ir::bits(to) || from == DType::kPred || to == DType::kPred) {
    return std::nullopt;
  }
  if (from == to) return a;
  const std::string bits = stored(from, a);
  if (is_half(from) || is_half(to)) {
    return loaded(to, fmt::format("({})({})", storage_type(to), bits));
  }
  if (!ir::is_floating(from) && !ir::is_floating(to)) return converted(from, to, a);
  return fmt::format("tc_bits_{}_{}({})", suffix(from), suffix(to), a);
}

}  // namespace

Text combined_text(Opcode combiner, DType dtype, const std::string& a, const std::string& b) {
  return op_text(combiner, dtype, a, &b);
}

Text neutral_text(Opcode combiner, DType dtype) {
  const bool floating = ir::is_floating(dtype);
  const int bits = ir::bits(dtype);
  const bool is_signed = ir::is_signed_integer(dtype);
  switch (combiner) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return "0";
    case Opcode::kMultiply:
      return "1";
    case Opcode::kAnd:
      return dtype == DType::kPred ? "1" : fmt::format("({})-1", value_type(dtype));
    case Opcode::kMaximum:
      if (floating) return "-INFINITY";
      return is_signed ? fmt::format("INT{}_MIN", bits) : "0";
    case Opcode::kMinimum:
      if (floating) return "INFINITY";
      if (dtype == DType::kPred) return "1";
      return is_signed ? fmt::format("INT{}_MAX", bits) : fmt::format("UINT{}_MAX", bits);
    default:
      return std::nullopt;
  }
}

Text elementwise_text(const Op& op, std::span<const DType> types,
                      std::span<const std::string> operands) {
  const DType dtype = op.shape.dtype;
  if (operands.empty()) return std::nullopt;
  const DType from = types[0];
  const std::string& a = operands[0];
  switch (op.opcode) {
    case Opcode::kConvert:
      return converted(from, dtype, a);
    case Opcode::kBitcastConvert:
      return bitcast_text(from, dtype, a);
    case Opcode::kCompare:
      return compare_text(op, from, a, operands[1]);
    case Opcode::kSelect:
      return fmt::format("({}?{}:{})", a, operands[1], operands[2]);
    case Opcode::kIsFinite:
      return fmt::format("({}-{}==0)", a, a);
    case Opcode::kClamp: {
      const Text low = combined_text(Opcode::kMaximum, dtype, a, operands[1]);
      return low ? combined_text(Opcode::kMinimum, dtype, *low, operands[2]) : low;
    }
    default:
      break;
  }
  if (operands.size() > 2) return std::nullopt;
  const Text text = op_text(op.opcode, dtype, a, operands.size() == 1 ? nullptr : &operands[1]);
  if (!text) return std::nullopt;
  const bool exact = op.opcode == Opcode::kNegate || op.opcode == Opcode::kAbs ||
                     op.opcode == Opcode::kMaximum || op.opcode == Opcode::kMinimum;
  return exact ? *text : rounded(dtype, *text);
}

int element_cost(const Op& op) {
  switch (ir::op_class(op.opcode)) {
    case ir::OpClass::kTranscendental:
      return 10;
    case ir::OpClass::kElementwise:
      if (op.opcode == Opcode::kConvert) return is_half(op.shape.dtype) ? 2 : 0;
      return op.opcode == Opcode::kDivide || op.opcode == Opcode::kRemainder ? 5 : 1;
    default:
      return 0;
  }
}

std::string number_text(DType dtype, double value) {
  if (!ir::is_floating(dtype)) return number_text(dtype, static_cast<std::int64_t>(value));
  const double kept = ir::round_to(value, dtype);
  const bool wide = dtype == DType::kF64;
  if (std::isnan(kept)) return wide ? "(double)NAN" : "NAN";
  if (std::isinf(kept)) return kept < 0 ? "(-INFINITY)" : "INFINITY";
  const std::string digits = fmt::format("{:.17g}", kept);
  const bool whole = digits.find_first_of(".en") == std::string::npos;
  const std::string text = digits + (whole ? ".0" : "") + (wide ? "" : "f");
  return std::signbit(kept) ? "(" + text + ")" : text;
}

std::string number_text(DType dtype, std::int64_t value) {
  if (ir::is_floating(dtype)) return number_text(dtype, static_cast<double>(value));
  if (dtype == DType::kPred) return value != 0 ? "1" : "0";
  return fmt::format("(({})UINT64_C({}))", value_type(dtype), static_cast<std::uint64_t>(value));
}

namespace {

using ValueType = std::pair<DType, std::string_view>;
constexpr ValueType kValueTypes[] = {
    {DType::kPred, "_Bool"},   {DType::kS8, "int8_t"},    {DType::kS16, "int16_t"},
    {DType::kS32, "int32_t"},  {DType::kS64, "int64_t"},  {DType::kU8, "uint8_t"},
    {DType::kU16, "uint16_t"}, {DType::kU32, "uint32_t"}, {DType::kU64, "uint64_t"},
    {DType::kF16, "float"},    {DType::kBF16, "float"},   {DType::kF32, "float"},
    {DType::kF64, "double"}};

}  // namespace

std::string_view storage_type(DType dtype) {
  if (dtype == DType::kPred) return "uint8_t";
  return is_half(dtype) ? "uint16_t" : value_type(dtype);
}

std::string_view value_type(DType dtype) {
  const auto* known = std::ranges::find(kValueTypes, dtype, &ValueType::first);
  return known == std::end(kValueTypes) ? "float" : known->second;
}

bool is_generated(DType dtype) {
  return std::ranges::find(kValueTypes, dtype, &ValueType::first) != std::end(kValueTypes);
}

std::string_view accumulator_type(DType dtype) {
  return dtype == DType::kPred ? "uint8_t" : value_type(dtype);
}

std::string_view product_type(DType dtype) {
  if (ir::is_floating(dtype)) return dtype == DType::kF64 ? "double" : "float";
  return ir::bits(dtype) == 64 ? "int64_t" : "int32_t";
}

std::string product_suffix(DType dtype) {
  const std::string_view type = product_type(dtype);
  if (type == "float") return "f";
  if (type == "double") return "d";
  return type == "int64_t" ? "i64" : "i32";
}

int bytes_of(std::string_view c_type) {
  if (c_type == "float") return 4;
  if (c_type == "double") return 8;
  for (const int bits : {8, 16, 32, 64}) {
    const std::string width = std::to_string(bits) + "_t";
    if (c_type == "int" + width || c_type == "uint" + width) return bits / 8;
  }
  TC_CHECK(false, "a C type of known size");
}

std::string loaded(DType dtype, const std::string& place) {
  if (dtype == DType::kBF16) return "tc_from_bf16(" + place + ")";
  if (dtype == DType::kF16) return "tc_from_f16(" + place + ")";
  if (dtype == DType::kPred) return "(" + place + "!=0)";
  return place;
}

std::string stored(DType dtype, const std::string& value) {
  if (dtype == DType::kBF16) return "tc_store_bf16(" + value + ")";
  if (dtype == DType::kF16) return "tc_to_f16(" + value + ")";
  return value;
}

std::string rounded(DType dtype, const std::string& value) {
  if (dtype == DType::kBF16) return "tc_round_bf16(" + value + ")";
  if (dtype == DType::kF16) return "tc_round_f16(" + value + ")";
  return value;
}

std::string converted(DType from, DType to, const std::string& value) {
  if (from == to) return value;
  if (to == DType::kPred) return "(" + value + "!=0)";
  if (ir::is_floating(to)) {
    const bool exact = is_half(from) && !is_half(to);
    const std::string plain = "(" + std::string(value_type(to)) + ")(" + value + ")";
    return exact ? plain : rounded(to, plain);
  }
  if (ir::is_floating(from)) {
    return "tc_" + suffix(to) + "_of_" + suffix(from) + "(" + value + ")";
  }
  return "(" + std::string(value_type(to)) + ")(" + value + ")";
}

std::string suffix(DType dtype) {
  if (dtype == DType::kF64) return "d";
  if (ir::is_floating(dtype)) return "f";
  const std::string bits = std::to_string(ir::bits(dtype));
  return (ir::is_signed_integer(dtype) ? "i" : "u") + bits;
}

}  // namespace tilecast::host
