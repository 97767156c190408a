#include "host/c_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

Text compare_text(const Op& op, std::span<const DType> types, std::span<const std::string> values);
Text convert_text(const Op& op, std::span<const DType> types, std::span<const std::string> values);
Text bitcast_text(const Op& op, std::span<const DType> types, std::span<const std::string> values);

// An element that changes nothing it is combined with, by kind of type.
struct Neutral {
  std::string_view floating = {}, signed_integer = {}, unsigned_integer = {}, pred = {};
};

// An op in C. A pattern has operands {a}, {b} and {c}; {v} is the value type, {s} its suffix, {w}
// an unsigned integer type at least as wide, {n} the bits of an element, {m} the suffix of a libm
// name.
struct COp {
  Opcode opcode;
  std::string_view floating = {};  // pattern
  std::string_view integer = {};   // wraps: computed in unsigned types of at least 32 bits
  std::string_view pred = {};      // empty: as of integers
  bool exact = false;              // a result needs no rounding to the type of the operands
  Neutral neutral = {};
  Text (*write)(const Op& op, std::span<const DType> types,
                std::span<const std::string> values) = nullptr;  // instead of patterns

  constexpr COp of_any_type() const {
    return {opcode, floating, floating, pred, /*exact=*/true, neutral, write};
  }
  constexpr COp keeps_precision() const {
    return {opcode, floating, integer, pred, /*exact=*/true, neutral, write};
  }
  constexpr COp with(const Neutral& given) const {
    return {opcode, floating, integer, pred, exact, given, write};
  }
};

using enum Opcode;

constexpr Neutral kZero{"0", "0", "0", "0"}, kOne{"1", "1", "1", "1"};
constexpr Neutral kAllBits{"({v})-1", "({v})-1", "({v})-1", "1"};
constexpr Neutral kLowest{"-INFINITY", "INT{n}_MIN", "0", "0"};
constexpr Neutral kHighest{"INFINITY", "INT{n}_MAX", "UINT{n}_MAX", "1"};

constexpr COp kOps[] = {
    COp{kNegate, "-{a}", "({v})(({w})0-({w}){a})"}.keeps_precision(),
    COp{kAbs, "fabs{m}({a})", "({a}<0?({v})(({w})0-({w}){a}):{a})"}.keeps_precision(),
    {kCeil, "ceil{m}({a})"},
    {kFloor, "floor{m}({a})"},
    {kRoundNearestEven, "rint{m}({a})"},
    {kSqrt, "sqrt{m}({a})"},
    {kRsqrt, "1/sqrt{m}({a})"},
    {kRoundNearestAfz, "tc_round_{s}({a})"},
    {kSign, "tc_sign_{s}({a})", "(({a}>0)-({a}<0))"},
    {kExp, "tc_exp_{s}({a})"},
    {kExpm1, "tc_expm1_{s}({a})"},
    {kLog, "tc_log_{s}({a})"},
    {kLog1p, "tc_log1p_{s}({a})"},
    {kLogistic, "tc_logistic_{s}({a})"},
    {kTanh, "tc_tanh_{s}({a})"},
    {kErf, "tc_erf_{s}({a})"},
    {kCbrt, "cbrt{m}({a})"},
    {kSin, "sin{m}({a})"},
    {kCos, "cos{m}({a})"},
    {kTan, "tan{m}({a})"},
    {kAsin, "asin{m}({a})"},
    {kAcos, "acos{m}({a})"},
    {kAtan, "atan{m}({a})"},
    {kSinh, "sinh{m}({a})"},
    {kCosh, "cosh{m}({a})"},
    {kAsinh, "asinh{m}({a})"},
    {kAcosh, "acosh{m}({a})"},
    {kAtanh, "atanh{m}({a})"},
    {kNot, {}, "({v})~{a}", "!{a}"},
    {kPopcnt, {}, "tc_popcnt((uint64_t){a},{n})"},
    {kClz, {}, "tc_clz((uint64_t){a},{n})"},
    COp{kAdd, "{a}+{b}", "({v})(({w}){a}+({w}){b})", "({a}|{b})"}.with(kZero),
    {kSubtract, "{a}-{b}", "({v})(({w}){a}-({w}){b})"},
    COp{kMultiply, "{a}*{b}", "({v})(({w}){a}*({w}){b})", "({a}&{b})"}.with(kOne),
    {kDivide, "{a}/{b}", "tc_div_{s}({a},{b})"},
    COp{kMaximum, "tc_max_{s}({a},{b})", "({a}>{b}?{a}:{b})"}.keeps_precision().with(kLowest),
    COp{kMinimum, "tc_min_{s}({a},{b})", "({a}<{b}?{a}:{b})"}.keeps_precision().with(kHighest),
    {kRemainder, "fmod{m}({a},{b})", "tc_rem_{s}({a},{b})"},
    {kPower, "pow{m}({a},{b})", "tc_pow_{s}({a},{b})"},
    {kAtan2, "atan2{m}({a},{b})"},
    COp{kAnd, {}, "({v})({a}&{b})"}.with(kAllBits),
    COp{kOr, {}, "({v})({a}|{b})"}.with(kZero),
    COp{kXor, {}, "({v})({a}^{b})"}.with(kZero),
    {kShiftLeft, {}, "tc_shl_{s}({a},{b})"},
    {kShiftRightArithmetic, {}, "tc_sra_{s}({a},{b})"},
    {kShiftRightLogical, {}, "tc_srl_{s}({a},{b})"},
    COp{kClamp, "tc_min_{s}(tc_max_{s}({a},{b}),{c})",
        "(({a}>{b}?{a}:{b})<{c}?({a}>{b}?{a}:{b}):{c})"}
        .keeps_precision(),
    COp{kSelect, "({a}?{b}:{c})"}.of_any_type(),
    COp{kIsFinite, "({a}-{a}==0)"}.of_any_type(),
    {.opcode = kCompare, .write = compare_text},
    {.opcode = kConvert, .write = convert_text},
    {.opcode = kBitcastConvert, .write = bitcast_text},
};

const COp* c_op(Opcode opcode) {
  const auto* found = std::ranges::find(kOps, opcode, &COp::opcode);
  return found == std::end(kOps) ? nullptr : found;
}

// The column of a type: patterns, or elements that change nothing.
std::string_view pattern_of(const COp& op, DType dtype) {
  if (ir::is_floating(dtype)) return op.floating;
  return dtype == DType::kPred && !op.pred.empty() ? op.pred : op.integer;
}
std::string_view pattern_of(const Neutral& neutral, DType dtype) {
  if (ir::is_floating(dtype)) return neutral.floating;
  if (dtype == DType::kPred) return neutral.pred;
  return ir::is_signed_integer(dtype) ? neutral.signed_integer : neutral.unsigned_integer;
}

// nullopt if the pattern is empty or takes another number of values.
Text filled(std::string_view pattern, DType dtype, std::span<const std::string> values) {
  const bool has_b = pattern.find("{b}") != std::string_view::npos;
  const bool has_c = pattern.find("{c}") != std::string_view::npos;
  const std::size_t takes = has_c ? 3 : has_b ? 2 : 1;
  if (pattern.empty() || values.size() != takes) return std::nullopt;
  return fmt::format(
      fmt::runtime(pattern), fmt::arg("a", values[0]),
      fmt::arg("b", has_b ? values[1] : std::string()),
      fmt::arg("c", has_c ? values[2] : std::string()), fmt::arg("v", value_type(dtype)),
      fmt::arg("s", suffix(dtype)), fmt::arg("w", ir::bits(dtype) == 64 ? "uint64_t" : "uint32_t"),
      fmt::arg("n", ir::bits(dtype)), fmt::arg("m", dtype == DType::kF64 ? "" : "f"));
}

Text compare_text(const Op& op, std::span<const DType> types, std::span<const std::string> values) {
  const auto& attrs = op.as<ir::CompareAttrs>();
  std::string x = values[0], y = values[1];
  if (attrs.type == "TOTALORDER" && ir::is_floating(types[0])) {
    x = fmt::format("tc_order_{}({})", suffix(types[0]), x);
    y = fmt::format("tc_order_{}({})", suffix(types[0]), y);
  }
  static const std::map<std::string_view, std::string_view> kSigns = {
      {"EQ", "=="}, {"NE", "!="}, {"LT", "<"}, {"LE", "<="}, {"GT", ">"}, {"GE", ">="}};
  const auto sign = kSigns.find(attrs.direction);
  if (sign == kSigns.end()) return std::nullopt;
  return fmt::format("({}{}{})", x, sign->second, y);
}

Text convert_text(const Op& op, std::span<const DType> types, std::span<const std::string> values) {
  return converted(types[0], op.shape.dtype, values[0]);
}

Text bitcast_text(const Op& op, std::span<const DType> types, std::span<const std::string> values) {
  const DType from = types[0], to = op.shape.dtype;
  const std::string& a = values[0];
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
  const COp* op = c_op(combiner);
  if (op == nullptr) return std::nullopt;
  return filled(pattern_of(*op, dtype), dtype, std::array{a, b});
}

Text neutral_text(Opcode combiner, DType dtype) {
  const COp* op = c_op(combiner);
  if (op == nullptr) return std::nullopt;
  return filled(pattern_of(op->neutral, dtype), dtype, std::array{std::string()});
}

Text elementwise_text(const Op& op, std::span<const DType> types,
                      std::span<const std::string> operands) {
  const COp* known = c_op(op.opcode);
  if (known == nullptr || operands.empty()) return std::nullopt;
  if (known->write != nullptr) return known->write(op, types, operands);
  const DType dtype = op.shape.dtype;
  const Text text = filled(pattern_of(*known, dtype), dtype, operands);
  return text && !known->exact ? rounded(dtype, *text) : text;
}

char infix_operator(Opcode opcode) {
  const COp* op = c_op(opcode);
  constexpr std::string_view kForm = "{a}?{b}";
  const bool infix = op != nullptr && op->floating.size() == kForm.size() &&
                     op->floating.starts_with("{a}") && op->floating.ends_with("{b}");
  return infix ? op->floating[kForm.find('?')] : '\0';
}

int element_cost(const Op& op) {
  const ir::Arithmetic arithmetic = ir::arithmetic(op.opcode);
  switch (ir::op_class(op.opcode)) {
    case ir::OpClass::kTranscendental:
      return 10;
    case ir::OpClass::kElementwise:
      if (arithmetic == ir::Arithmetic::kConversion) return is_half(op.shape.dtype) ? 2 : 0;
      return arithmetic == ir::Arithmetic::kDivision ? 5 : 1;
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
