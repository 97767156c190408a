#include "host/c_elementwise.h"

#include <fmt/format.h>

#include <cmath>

#include "host/c_types.h"
#include "ir/literal.h"

namespace tilecast::host {
namespace {

using ir::DType;
using ir::Op;
using ir::Opcode;
using Text = std::optional<std::string>;

// Integers wrap: they are computed without sign and at least 32 bits wide.
std::string wrapping(DType dtype, const std::string& a, const char* sign, const std::string& b) {
  const char* wide = ir::bits(dtype) == 64 ? "uint64_t" : "uint32_t";
  return fmt::format("({})(({}){}{}({}){})", value_type(dtype), wide, a, sign, wide, b);
}

std::string call(const std::string& function, DType dtype, const std::string& a) {
  return fmt::format("{}_{}({})", function, suffix(dtype), a);
}

std::string call(const std::string& function, DType dtype, const std::string& a,
                 const std::string& b) {
  return fmt::format("{}_{}({},{})", function, suffix(dtype), a, b);
}

Text libm(const char* function, DType dtype, const std::string& arguments) {
  return fmt::format("{}{}({})", function, dtype == DType::kF64 ? "" : "f", arguments);
}

Text float_unary(Opcode opcode, DType dtype, const std::string& a) {
  switch (opcode) {
    case Opcode::kNegate:
      return "-" + a;
    case Opcode::kAbs:
      return libm("fabs", dtype, a);
    case Opcode::kCeil:
      return libm("ceil", dtype, a);
    case Opcode::kFloor:
      return libm("floor", dtype, a);
    case Opcode::kRoundNearestEven:
      return libm("rint", dtype, a);
    case Opcode::kSqrt:
      return libm("sqrt", dtype, a);
    case Opcode::kRsqrt:
      return "1/" + *libm("sqrt", dtype, a);
    case Opcode::kRoundNearestAfz:
      return call("tc_round", dtype, a);
    case Opcode::kSign:
      return call("tc_sign", dtype, a);
    case Opcode::kExp:
      return call("tc_exp", dtype, a);
    case Opcode::kExpm1:
      return call("tc_expm1", dtype, a);
    case Opcode::kLog:
      return call("tc_log", dtype, a);
    case Opcode::kLog1p:
      return call("tc_log1p", dtype, a);
    case Opcode::kLogistic:
      return call("tc_logistic", dtype, a);
    case Opcode::kTanh:
      return call("tc_tanh", dtype, a);
    case Opcode::kErf:
      return call("tc_erf", dtype, a);
    case Opcode::kCbrt:
      return libm("cbrt", dtype, a);
    case Opcode::kSin:
      return libm("sin", dtype, a);
    case Opcode::kCos:
      return libm("cos", dtype, a);
    case Opcode::kTan:
      return libm("tan", dtype, a);
    case Opcode::kAsin:
      return libm("asin", dtype, a);
    case Opcode::kAcos:
      return libm("acos", dtype, a);
    case Opcode::kAtan:
      return libm("atan", dtype, a);
    case Opcode::kSinh:
      return libm("sinh", dtype, a);
    case Opcode::kCosh:
      return libm("cosh", dtype, a);
    case Opcode::kAsinh:
      return libm("asinh", dtype, a);
    case Opcode::kAcosh:
      return libm("acosh", dtype, a);
    case Opcode::kAtanh:
      return libm("atanh", dtype, a);
    default:
      return std::nullopt;
  }
}

Text float_binary(Opcode opcode, DType dtype, const std::string& a, const std::string& b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + "+" + b;
    case Opcode::kSubtract:
      return a + "-" + b;
    case Opcode::kMultiply:
      return a + "*" + b;
    case Opcode::kDivide:
      return a + "/" + b;
    case Opcode::kMaximum:
      return call("tc_max", dtype, a, b);
    case Opcode::kMinimum:
      return call("tc_min", dtype, a, b);
    case Opcode::kRemainder:
      return libm("fmod", dtype, a + "," + b);
    case Opcode::kPower:
      return libm("pow", dtype, a + "," + b);
    case Opcode::kAtan2:
      return libm("atan2", dtype, a + "," + b);
    default:
      return std::nullopt;
  }
}

Text integer_unary(Opcode opcode, DType dtype, const std::string& a) {
  switch (opcode) {
    case Opcode::kNegate:
      return wrapping(dtype, "0", "-", a);
    case Opcode::kNot:
      if (dtype == DType::kPred) return "!" + a;
      return fmt::format("({})~{}", value_type(dtype), a);
    case Opcode::kAbs:
      return fmt::format("({}<0?{}:{})", a, wrapping(dtype, "0", "-", a), a);
    case Opcode::kSign:
      return fmt::format("(({}>0)-({}<0))", a, a);
    case Opcode::kPopcnt:
      return fmt::format("tc_popcnt((uint64_t){},{})", a, ir::bits(dtype));
    case Opcode::kClz:
      return fmt::format("tc_clz((uint64_t){},{})", a, ir::bits(dtype));
    default:
      return std::nullopt;
  }
}

Text integer_binary(Opcode opcode, DType dtype, const std::string& a, const std::string& b) {
  const bool pred = dtype == DType::kPred;
  switch (opcode) {
    case Opcode::kAdd:
      return pred ? fmt::format("({}|{})", a, b) : wrapping(dtype, a, "+", b);
    case Opcode::kSubtract:
      return wrapping(dtype, a, "-", b);
    case Opcode::kMultiply:
      return pred ? fmt::format("({}&{})", a, b) : wrapping(dtype, a, "*", b);
    case Opcode::kMaximum:
      return fmt::format("({}>{}?{}:{})", a, b, a, b);
    case Opcode::kMinimum:
      return fmt::format("({}<{}?{}:{})", a, b, a, b);
    case Opcode::kAnd:
      return fmt::format("({})({}&{})", value_type(dtype), a, b);
    case Opcode::kOr:
      return fmt::format("({})({}|{})", value_type(dtype), a, b);
    case Opcode::kXor:
      return fmt::format("({})({}^{})", value_type(dtype), a, b);
    case Opcode::kDivide:
      return call("tc_div", dtype, a, b);
    case Opcode::kRemainder:
      return call("tc_rem", dtype, a, b);
    case Opcode::kPower:
      return call("tc_pow", dtype, a, b);
    case Opcode::kShiftLeft:
      return call("tc_shl", dtype, a, b);
    case Opcode::kShiftRightArithmetic:
      return call("tc_sra", dtype, a, b);
    case Opcode::kShiftRightLogical:
      return call("tc_srl", dtype, a, b);
    default:
      return std::nullopt;
  }
}

Text compare_text(const Op& op, DType dtype, const std::string& a, const std::string& b) {
  const auto& attrs = op.as<ir::CompareAttrs>();
  std::string x = a, y = b;
  if (attrs.type == "TOTALORDER" && ir::is_floating(dtype)) {
    x = call("tc_order", dtype, a);
    y = call("tc_order", dtype, b);
  }
  const char* sign = attrs.direction == "EQ"   ? "=="
                     : attrs.direction == "NE" ? "!="
                     : attrs.direction == "LT" ? "<"
                     : attrs.direction == "LE" ? "<="
                     : attrs.direction == "GT" ? ">"
                     : attrs.direction == "GE" ? ">="
                                               : nullptr;
  if (sign == nullptr) return std::nullopt;
  return fmt::format("({}{}{})", x, sign, y);
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
  return ir::is_floating(dtype) ? float_binary(combiner, dtype, a, b)
                                : integer_binary(combiner, dtype, a, b);
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
  Text text;
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
  if (ir::is_floating(dtype)) {
    text = operands.size() == 1 ? float_unary(op.opcode, dtype, a)
                                : float_binary(op.opcode, dtype, a, operands[1]);
  } else {
    text = operands.size() == 1 ? integer_unary(op.opcode, dtype, a)
                                : integer_binary(op.opcode, dtype, a, operands[1]);
  }
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

}  // namespace tilecast::host
