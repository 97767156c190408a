#include "ir/counts/scalar_arithmetic.h"

#include <algorithm>

namespace tilecast::ir {
namespace {

using Unsigned = std::uint64_t;

bool compares(std::string_view direction, std::int64_t a, std::int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  return direction == "GT" ? a > b : a >= b;
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<Unsigned>(a)) : a / b;
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

// `a` of `type` shifted by `by` bits; a shift by the width or more gives zeros, or the sign.
Unsigned shifted(Opcode opcode, std::int64_t a, std::int64_t by, DType type) {
  const int width = bits(type);
  const bool out = by < 0 || by >= width;
  if (opcode == Opcode::kShiftRightArithmetic) {
    return static_cast<Unsigned>(a >> (out ? 63 : by));
  }
  if (out) return 0;
  if (opcode == Opcode::kShiftLeft) return static_cast<Unsigned>(a) << by;
  const Unsigned mask = width == 64 ? ~Unsigned{0} : (Unsigned{1} << width) - 1;
  return (static_cast<Unsigned>(a) & mask) >> by;
}

Unsigned binary(Opcode opcode, std::int64_t a, std::int64_t b, DType type) {
  using enum Opcode;
  const auto x = static_cast<Unsigned>(a);
  const auto y = static_cast<Unsigned>(b);
  switch (opcode) {
    case kAdd:
      return x + y;
    case kSubtract:
      return x - y;
    case kMultiply:
      return x * y;
    case kDivide:
      return static_cast<Unsigned>(quotient(a, b));
    case kRemainder:
      return static_cast<Unsigned>(remainder(a, b));
    case kMaximum:
      return static_cast<Unsigned>(std::max(a, b));
    case kMinimum:
      return static_cast<Unsigned>(std::min(a, b));
    case kAnd:
      return x & y;
    case kOr:
      return x | y;
    case kXor:
      return x ^ y;
    default:
      return shifted(opcode, a, b, type);
  }
}

ScalarValue compared(const Instruction& op, const ScalarValues& operands) {
  const auto* attrs = op.get<CompareAttrs>();
  const ScalarValue& a = operands[0];
  const ScalarValue& b = operands[1];
  if (attrs == nullptr || a.type == DType::kInvalid || b.type == DType::kInvalid ||
      a.compare != nullptr || b.compare != nullptr) {
    return {};
  }
  if (a.is_known() && b.is_known()) {
    return integer_value(DType::kPred, compares(attrs->direction, a.value, b.value) ? 1 : 0);
  }
  return {.type = DType::kPred, .compare = attrs, .elements = operands};
}

ScalarValue converted(const ScalarValue& value, DType to) {
  if (value.is_known()) {
    const bool truth = to == DType::kPred;
    return integer_value(to,
                         truth ? Unsigned{value.value != 0} : static_cast<Unsigned>(value.value));
  }
  if (value.element < 0 || value.compare != nullptr) return {};
  const bool widens =
      fits(__int128{1} << (bits(value.type) - 1), to) ||
      (is_signed_integer(value.type) == is_signed_integer(to) && bits(to) >= bits(value.type));
  if (!widens) return {};
  ScalarValue result = value;
  result.type = to;
  return result;
}

// The sum or difference of a loop-state element and a number.
ScalarValue moved(Opcode opcode, const ScalarValue& a, const ScalarValue& b) {
  const bool swapped = b.element >= 0;
  const ScalarValue& base = swapped ? b : a;
  const ScalarValue& by = swapped ? a : b;
  const bool adds = opcode == Opcode::kAdd;
  if (base.element < 0 || base.compare != nullptr || !by.is_known()) return {};
  if (!adds && (opcode != Opcode::kSubtract || swapped)) return {};
  ScalarValue result = base;
  const bool overflows = adds ? __builtin_add_overflow(base.value, by.value, &result.value)
                              : __builtin_sub_overflow(base.value, by.value, &result.value);
  return overflows ? ScalarValue{} : result;
}

ScalarValue unary(Opcode opcode, const ScalarValue& value) {
  if (!value.is_known()) return {};
  const auto x = static_cast<Unsigned>(value.value);
  if (opcode == Opcode::kNot) {
    return integer_value(value.type, value.type == DType::kPred ? x ^ 1 : ~x);
  }
  const bool negates = opcode == Opcode::kNegate || value.value < 0;  // else abs
  return integer_value(value.type, negates ? 0 - x : x);
}

}  // namespace

ScalarValue integer_value(DType type, std::uint64_t value_bits) {
  if (type == DType::kPred) return {.type = type, .value = value_bits != 0 ? 1 : 0};
  if (!is_integer(type)) return {};
  const int unused = 64 - bits(type);
  const Unsigned top = value_bits << unused;
  if (is_signed_integer(type)) {
    return {.type = type, .value = static_cast<std::int64_t>(top) >> unused};
  }
  const Unsigned number = top >> unused;
  if (number > static_cast<Unsigned>(INT64_MAX)) return {};
  return {.type = type, .value = static_cast<std::int64_t>(number)};
}

bool fits(__int128 value, DType type) {
  const int width = bits(type);
  if (is_signed_integer(type)) {
    const __int128 end = __int128{1} << (width - 1);
    return value >= -end && value < end;
  }
  return is_unsigned_integer(type) && value >= 0 && value < __int128{1} << width;
}

bool has_scalar_value(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kAdd,
                            kSubtract,
                            kMultiply,
                            kDivide,
                            kRemainder,
                            kMaximum,
                            kMinimum,
                            kAnd,
                            kOr,
                            kXor,
                            kShiftLeft,
                            kShiftRightArithmetic,
                            kShiftRightLogical,
                            kNegate,
                            kAbs,
                            kNot,
                            kConvert,
                            kCompare,
                            kSelect,
                            kClamp});
}

ScalarValue scalar_result(const Instruction& op, const ScalarValues& operands) {
  using enum Opcode;
  const auto known = [&](std::size_t i) { return operands[i].is_known(); };
  switch (op.opcode) {
    case kConvert:
      return converted(operands[0], op.shape.dtype);
    case kCompare:
      return compared(op, operands);
    case kNegate:
    case kAbs:
    case kNot:
      return unary(op.opcode, operands[0]);
    case kSelect:
      return known(0) ? operands[operands[0].value != 0 ? 1 : 2] : ScalarValue{};
    case kClamp:
      if (!known(0) || !known(1) || !known(2)) return {};
      return integer_value(operands[1].type,
                           static_cast<Unsigned>(std::min(
                               std::max(operands[0].value, operands[1].value), operands[2].value)));
    case kAnd:  // 0 and anything is 0
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (known(i) && operands[i].value == 0) return operands[i];
      }
      break;
    default:
      break;
  }
  if (!known(0) || !known(1)) return moved(op.opcode, operands[0], operands[1]);
  return integer_value(op.shape.dtype,
                       binary(op.opcode, operands[0].value, operands[1].value, op.shape.dtype));
}

}  // namespace tilecast::ir
