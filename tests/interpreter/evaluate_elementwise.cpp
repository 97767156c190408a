// Ops on single numbers. Integers are computed in 64 bits and wrapped; division by zero, excessive
// shifts and conversions out of range give the results of XLA's operation semantics and evaluator.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "ir/literal.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::interpreter {
namespace {

std::int64_t as_signed(double value) {
  return static_cast<std::int64_t>(integer_bits(value));
}

std::uint64_t low_bits(double value, DType dtype) {
  const int width = bits(dtype);
  const std::uint64_t all = integer_bits(value);
  return width >= 64 ? all : all & ((std::uint64_t{1} << width) - 1);
}

double divide(DType dtype, double a, double b) {
  if (b == 0) return wrapped(~std::uint64_t{0}, dtype);
  if (!is_signed_integer(dtype)) return wrapped(integer_bits(a) / integer_bits(b), dtype);
  if (b == -1) return wrapped(-integer_bits(a), dtype);  // the minimum is unchanged
  return wrapped(static_cast<std::uint64_t>(as_signed(a) / as_signed(b)), dtype);
}

double remainder(DType dtype, double a, double b) {
  if (b == 0) return a;
  if (!is_signed_integer(dtype)) return wrapped(integer_bits(a) % integer_bits(b), dtype);
  if (b == -1) return 0;
  return wrapped(static_cast<std::uint64_t>(as_signed(a) % as_signed(b)), dtype);
}

// By squaring; with a negative exponent only +-1 gives an integer, other results truncate to 0.
double integer_power(DType dtype, double base, double exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return std::fmod(exponent, 2) == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t result = 1, square = integer_bits(base);
  for (std::uint64_t left = integer_bits(exponent); left > 0; left >>= 1U) {
    if ((left & 1U) != 0) result *= square;
    square *= square;
  }
  return wrapped(result, dtype);
}

double shift(Opcode opcode, DType dtype, double value, double amount) {
  const auto width = static_cast<std::uint64_t>(bits(dtype));
  const std::uint64_t by = low_bits(amount, dtype);
  if (opcode == Opcode::kShiftRightArithmetic) {
    const std::uint64_t sign_bit = std::uint64_t{1} << (width - 1);
    std::uint64_t extended = low_bits(value, dtype);
    if ((extended & sign_bit) != 0) extended |= ~(sign_bit - 1);
    return wrapped(static_cast<std::uint64_t>(static_cast<std::int64_t>(extended) >>
                                              std::min<std::uint64_t>(by, width - 1)),
                   dtype);
  }
  if (by >= width) return 0;
  const std::uint64_t all = low_bits(value, dtype);
  return wrapped(opcode == Opcode::kShiftLeft ? all << by : all >> by, dtype);
}

double integer_binary(Opcode opcode, DType dtype, double a, double b) {
  switch (opcode) {
    case Opcode::kAdd:
      return wrapped(integer_bits(a) + integer_bits(b), dtype);
    case Opcode::kSubtract:
      return wrapped(integer_bits(a) - integer_bits(b), dtype);
    case Opcode::kMultiply:
      return wrapped(integer_bits(a) * integer_bits(b), dtype);
    case Opcode::kDivide:
      return divide(dtype, a, b);
    case Opcode::kRemainder:
      return remainder(dtype, a, b);
    case Opcode::kPower:
      return integer_power(dtype, a, b);
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kAnd:
      return wrapped(integer_bits(a) & integer_bits(b), dtype);
    case Opcode::kOr:
      return wrapped(integer_bits(a) | integer_bits(b), dtype);
    case Opcode::kXor:
      return wrapped(integer_bits(a) ^ integer_bits(b), dtype);
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return shift(opcode, dtype, a, b);
    default:
      throw Error("no evaluation of " + std::string(name(opcode)) + " on integers");
  }
}

double float_binary(Opcode opcode, double a, double b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a / b;
    case Opcode::kRemainder:
      return std::fmod(a, b);
    case Opcode::kPower:
      return std::pow(a, b);
    case Opcode::kAtan2:
      return std::atan2(a, b);
    case Opcode::kMaximum:
      return std::isnan(a) || a > b ? a : b;
    case Opcode::kMinimum:
      return std::isnan(a) || a < b ? a : b;
    default:
      throw Error("no evaluation of " + std::string(name(opcode)) + " on floating-point numbers");
  }
}

double integer_unary(Opcode opcode, DType dtype, double x) {
  switch (opcode) {
    case Opcode::kAbs:
      return x < 0 ? wrapped(-integer_bits(x), dtype) : x;
    case Opcode::kNegate:
      return wrapped(-integer_bits(x), dtype);
    case Opcode::kSign:
      return x == 0 ? 0 : std::copysign(1.0, x);
    case Opcode::kNot:
      return dtype == DType::kPred ? (x == 0 ? 1 : 0) : wrapped(~integer_bits(x), dtype);
    case Opcode::kPopcnt:
      return std::popcount(low_bits(x, dtype));
    case Opcode::kClz:
      return std::countl_zero(low_bits(x, dtype)) - (64 - bits(dtype));
    default:
      throw Error("no evaluation of " + std::string(name(opcode)));
  }
}

// A function of one floating-point number; nullptr for other opcodes.
using Unary = double (*)(double);

Unary float_unary(Opcode opcode) {
  static const std::map<Opcode, Unary> kFunctions = {
      {Opcode::kAbs, std::abs},
      {Opcode::kNegate, [](double x) { return -x; }},
      {Opcode::kSign, [](double x) { return x == 0 || std::isnan(x) ? x : std::copysign(1.0, x); }},
      {Opcode::kCeil, std::ceil},
      {Opcode::kFloor, std::floor},
      {Opcode::kRoundNearestAfz, std::round},
      {Opcode::kRoundNearestEven, std::nearbyint},
      {Opcode::kIsFinite, [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }},
      {Opcode::kExp, std::exp},
      {Opcode::kExpm1, std::expm1},
      {Opcode::kLog, std::log},
      {Opcode::kLog1p, std::log1p},
      {Opcode::kLogistic, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Opcode::kSqrt, std::sqrt},
      {Opcode::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {Opcode::kCbrt, std::cbrt},
      {Opcode::kErf, std::erf},
      {Opcode::kTanh, std::tanh},
      {Opcode::kSin, std::sin},
      {Opcode::kCos, std::cos},
      {Opcode::kTan, std::tan},
      {Opcode::kAsin, std::asin},
      {Opcode::kAcos, std::acos},
      {Opcode::kAtan, std::atan},
      {Opcode::kSinh, std::sinh},
      {Opcode::kCosh, std::cosh},
      {Opcode::kAsinh, std::asinh},
      {Opcode::kAcosh, std::acosh},
      {Opcode::kAtanh, std::atanh}};
  const auto found = kFunctions.find(opcode);
  return found == kFunctions.end() ? nullptr : found->second;
}

// A total order of all numbers, with NaNs at the ends: -nan, -inf ... -0, 0 ... inf, nan.
std::int64_t total_order(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}

template <class T>
bool holds(std::string_view direction, T a, T b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  throw Error("no evaluation of compare with direction " + std::string(direction));
}

bool compares(const CompareAttrs& attrs, double a, double b) {
  if (attrs.type == "TOTALORDER") return holds(attrs.direction, total_order(a), total_order(b));
  return holds(attrs.direction, a, b);
}

double convert(DType from, DType to, double x) {
  if (!is_floating(from) || !is_integer(to)) return as_type(x, to);
  if (std::isnan(x)) return 0;
  const int magnitude = bits(to) - (is_signed_integer(to) ? 1 : 0);
  const double end = std::ldexp(1.0, magnitude);  // 2^63 - 1 is no double: use the next lower one
  const double highest = magnitude > 53 ? std::nextafter(end, 0.0) : end - 1;
  return std::clamp(std::trunc(x), is_signed_integer(to) ? -end : 0, highest);
}

// The bits of a number of at most 32 bits, and back.
std::uint32_t to_bits(DType dtype, double x) {
  if (!is_floating(dtype)) return static_cast<std::uint32_t>(low_bits(x, dtype));
  const auto all = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return dtype == DType::kBF16 ? all >> 16U : all;
}
double from_bits(DType dtype, std::uint32_t all) {
  if (!is_floating(dtype)) return wrapped(all, dtype);
  return std::bit_cast<float>(dtype == DType::kBF16 ? all << 16U : all);
}

// Any op but a function of one floating-point number.
double apply(const Op& op, DType from, double a, double b, double c) {
  const DType to = op.shape.dtype;
  switch (op.opcode) {
    case Opcode::kSelect:
      return a != 0 ? b : c;
    case Opcode::kClamp: {
      const double raised = combine(Opcode::kMaximum, to, b, a);
      return combine(Opcode::kMinimum, to, raised, c);
    }
    case Opcode::kCompare:
      return compares(op.as<CompareAttrs>(), a, b) ? 1 : 0;
    case Opcode::kConvert:
      return convert(from, to, a);
    case Opcode::kBitcastConvert:
      return from == to ? a : from_bits(to, to_bits(from, a));
    default:
      break;
  }
  if (op.operands.size() == 2) return combine(op.opcode, from, a, b);
  return integer_unary(op.opcode, from, a);
}

}  // namespace

std::uint64_t integer_bits(double value) {
  constexpr double kSigned = 0x1p63, kUnsigned = 0x1p64;
  if (value >= kUnsigned) return ~std::uint64_t{0};
  if (value >= kSigned) return static_cast<std::uint64_t>(value);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(value, -kSigned)));
}

double wrapped(std::uint64_t all, DType dtype) {
  const int width = bits(dtype);
  if (dtype == DType::kPred) return all != 0 ? 1 : 0;
  if (width < 64) all &= (std::uint64_t{1} << width) - 1;
  if (!is_signed_integer(dtype)) return static_cast<double>(all);
  const std::uint64_t sign_bit = std::uint64_t{1} << (width - 1);
  if ((all & sign_bit) != 0) all |= ~(sign_bit - 1);
  return static_cast<double>(static_cast<std::int64_t>(all));
}

double as_type(double value, DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return value != 0 ? 1 : 0;
    case DType::kF32:
      return static_cast<float>(value);
    case DType::kF64:
      return value;
    default:
      return is_floating(dtype) ? round_to(value, dtype) : wrapped(integer_bits(value), dtype);
  }
}

double combine(Opcode opcode, DType dtype, double a, double b) {
  return is_floating(dtype) ? float_binary(opcode, a, b) : integer_binary(opcode, dtype, a, b);
}

Elements elementwise(const Op& op, Values operands) {
  Elements result(static_cast<std::size_t>(element_count(op.shape)));
  // select and clamp also take scalars
  const auto element = [&](std::size_t operand, std::size_t i) -> double {
    if (operand >= operands.size()) return 0;
    const Elements& values = *operands[operand].elements;
    return values[operands[operand].shape->is_scalar() ? 0 : i];
  };
  const DType from = operands[0].shape->dtype;
  const Unary function =
      operands.size() == 1 && is_floating(from) ? float_unary(op.opcode) : nullptr;
  const bool rounds = is_floating(op.shape.dtype);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double value = function != nullptr
                             ? function(element(0, i))
                             : apply(op, from, element(0, i), element(1, i), element(2, i));
    result[i] = rounds ? as_type(value, op.shape.dtype) : value;
  }
  return result;
}

}  // namespace tilecast::interpreter
