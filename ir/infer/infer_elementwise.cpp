// Result shapes of operations that map elements one to one.
#include <algorithm>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

DType component_type(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  if (dtype == DType::kC128) return DType::kF64;
  return dtype;
}

// There is no implicit broadcasting in HLO, not even of scalars or dimensions of size 1.
[[noreturn]] void different_sizes(Opcode opcode, const Shape& lhs, const Shape& rhs) {
  bool stretches = lhs.is_scalar() || rhs.is_scalar() || lhs.rank() == rhs.rank();
  fail_if(lhs.rank() != rhs.rank() && !stretches, "Shapes must be equal rank, but are {} and {}",
          human(lhs), human(rhs));
  for (std::size_t i = 0; lhs.rank() == rhs.rank() && i < lhs.dims.size(); ++i) {
    stretches = stretches && (lhs.dims[i] == rhs.dims[i] || lhs.dims[i] == 1 || rhs.dims[i] == 1);
  }
  fail_if(stretches,
          "Implicit broadcast is not allowed in HLO. Found different shapes for instruction {}: {} "
          "and {}",
          name(opcode), human(lhs), human(rhs));
  fail("Binary op {} with incompatible shapes: {} and {}.", name(opcode), human(lhs), human(rhs));
}

// Requires two arrays of equal sizes and of equal types up to floating-point width.
Shape elementwise_binary(const Site& site) {
  const Shape& lhs = site.operand(0);
  const Shape& rhs = site.operand(1);
  fail_if(!same_type_ignoring_fp(lhs.dtype, rhs.dtype),
          "Binary op {} with different element types: {} and {}.", name(site.instruction.opcode),
          human(lhs), human(rhs));
  if (!same_dims(lhs, rhs)) different_sizes(site.instruction.opcode, lhs, rhs);
  Shape result = array_like(lhs, higher_precision(lhs.dtype, rhs.dtype));
  result.dynamic_mask |= rhs.dynamic_mask;
  return result;
}

Shape complex_of(const Site& site) {
  const Shape& lhs = site.operand(0);
  const Shape& rhs = site.operand(1);
  fail_if(!is_floating(lhs.dtype),
          "Expected element type in shape to be floating for complex compose operation; got {}.",
          type_name(lhs.dtype));
  Shape result = elementwise_binary(site);
  if (lhs.dtype == DType::kF32 && rhs.dtype == DType::kF32) {
    result.dtype = DType::kC64;
  } else if (lhs.dtype == DType::kF64 && rhs.dtype == DType::kF64) {
    result.dtype = DType::kC128;
  } else {
    fail("Complex component type is not implemented.");
  }
  return result;
}

void check_unary_type(const Site& site, DType dtype) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  const bool number = is_floating(dtype) || is_complex(dtype);
  const bool is_signed = number || is_signed_integer(dtype);
  const auto expect_type = [&](bool right, std::string_view expected) {
    fail_if(!right, "Expected element type in shape to be {} for {} operation; got {}.", expected,
            name(opcode), type_name(dtype));
  };
  if (is_one_of(opcode, {kFloor, kCeil, kRoundNearestAfz, kRoundNearestEven})) {
    expect_type(is_floating(dtype), "floating");
  } else if (opcode == kIsFinite) {
    expect_type(is_floating(dtype), "floating point");
  } else if (opcode == kAbs) {
    expect_type(is_signed, "floating or complex");
  } else if (opcode == kSign) {
    expect_type(is_signed, "signed or complex");
  } else if (opcode == kNegate) {
    expect_type(number || is_integer(dtype), "integral, floating or complex");
  } else if (is_one_of(opcode, {kClz, kPopcnt})) {
    fail_if(!is_integer(dtype),
            "Expected an integral element type in argument to {} operation; got {}.",
            opcode == kClz ? "Clz" : "PopulationCount", type_name(dtype));
  } else if (opcode == kNot) {
    fail_if(dtype != DType::kPred && !is_integer(dtype),
            "Expected pred or an integral element type in argument to Not operation; got {}.",
            type_name(dtype));
  } else {
    expect_type(number, "floating or complex");
  }
}

}  // namespace

Shape unary(const Site& site) {
  const Shape& operand = site.operand(0);
  expect_array(operand, "operand of unary operation");
  check_unary_type(site, operand.dtype);
  using enum Opcode;
  DType result = operand.dtype;
  if (site.instruction.opcode == kIsFinite) result = DType::kPred;
  if (is_one_of(site.instruction.opcode, {kAbs, kReal, kImag})) result = component_type(result);
  return array_like(operand, result);
}

Shape binary(const Site& site) {
  const Shape& lhs = site.operand(0);
  const Shape& rhs = site.operand(1);
  const Opcode opcode = site.instruction.opcode;
  if (!lhs.is_array()) expect_array(lhs, fmt::format("lhs of binary operation {}", name(opcode)));
  if (!rhs.is_array()) expect_array(rhs, fmt::format("rhs of binary operation {}", name(opcode)));
  using enum Opcode;
  if (opcode == kComplex) return complex_of(site);
  const bool arithmetic =
      is_one_of(opcode, {kSubtract, kAtan2, kPower, kDivide, kRemainder, kShiftLeft,
                         kShiftRightArithmetic, kShiftRightLogical});
  fail_if(arithmetic && (lhs.dtype == DType::kPred || rhs.dtype == DType::kPred),
          "Expected element type in shape to be arithmetic type for operation {}; got PRED.",
          name(opcode));
  fail_if(
      is_one_of(opcode, {kAnd, kOr, kXor}) && lhs.dtype != DType::kPred && !is_integer(lhs.dtype),
      "Expected pred or integral type in argument to and/or operation; got {}.",
      type_name(lhs.dtype));
  Shape result = elementwise_binary(site);
  if (opcode == kCompare) result.dtype = DType::kPred;
  return result;
}

Shape clamp(const Site& site) {
  const Shape& low = site.operand(0);
  const Shape& operand = site.operand(1);
  const Shape& high = site.operand(2);
  expect_array(low, "clamp min");
  expect_array(operand, "clamp operand");
  expect_array(high, "clamp max");
  for (const Shape* bound : {&low, &high}) {
    fail_if(!same_type_ignoring_fp(bound->dtype, operand.dtype) || !same_dims(*bound, operand),
            "Clamp with different shapes: {}, {}, {}.", human(low), human(operand), human(high));
  }
  return array_like(operand, operand.dtype);
}

Shape select(const Site& site) {
  const Shape& predicate = site.operand(0);
  const Shape& on_true = site.operand(1);
  const Shape& on_false = site.operand(2);
  expect_array(predicate, "select pred");
  expect_array(on_true, "select on-true");
  expect_array(on_false, "select on-false");
  fail_if(!same_type_ignoring_fp(on_true.dtype, on_false.dtype) || !same_dims(on_true, on_false),
          "Operands to select must be the same shape; got {} and {}.", human(on_true),
          human(on_false));
  fail_if(predicate.dtype != DType::kPred,
          "Select's pred operand must have PRED element type; got {}.", human(predicate));
  fail_if(!predicate.is_scalar() && !same_dims(predicate, on_true),
          "Operands to select and predicate must be the same shape; got {} and {}.", human(on_true),
          human(predicate));
  return array_like(on_true, higher_precision(on_true.dtype, on_false.dtype));
}

Shape bitcast_convert(const Site& site) {
  const Shape& operand = site.operand(0);
  const DType to = site.result_type(operand.dtype);
  fail_if(is_complex(operand.dtype) != is_complex(to),
          "Conversion between complex and real type {} => {}.", human(operand), type_name(to));
  fail_if(!operand.is_array() || !is_array_element(to),
          "Cannot convert from or to tuple type; requested conversion: {} => {}.", human(operand),
          type_name(to));
  const int from_bits = bits(operand.dtype);
  const int to_bits = bits(to);
  const int ratio = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
  fail_if(std::max(from_bits, to_bits) % std::min(from_bits, to_bits) != 0,
          "Cannot bitcast types with undivisible bit-widths: {} => {}.", type_name(operand.dtype),
          type_name(to));
  Shape result = array_like(operand, to);
  if (from_bits > to_bits) {
    result.dims.push_back(ratio);
  } else if (from_bits < to_bits) {
    if (result.dims.empty() || result.dims.back() != ratio) {
      fail(
          "Last dimension of input shape={} is not equal to ratio of bit-widths={} for "
          "bitcast-convert from {} to {}",
          result.dims.empty() ? 0 : result.dims.back(), ratio, human(operand), type_name(to));
    }
    result.dims.pop_back();
    result.dynamic_mask &= (std::uint32_t{1} << result.rank()) - 1;
  }
  return result;
}

Shape stochastic_convert(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& random = site.operand(1);
  expect_array(operand, "lhs of stochastic convert operation");
  expect_array(random, "rhs of stochastic convert operation");
  fail_if(!is_unsigned_integer(random.dtype),
          "Random numbers for stochastic convert must be unsigned integers, but got: {}",
          human(random));
  fail_if(!is_floating(operand.dtype),
          "Stochastic convert supports only floating point operand conversion, but got: {}",
          human(operand));
  fail_if(
      bits(operand.dtype) != bits(random.dtype),
      "The random number is required to have same bits as the operand. But got random bits: {}, "
      "operand bits: {}",
      bits(random.dtype), bits(operand.dtype));
  fail_if(!same_dims(operand, random),
          "Stochastic convert operand shape does not match random tensor shape: {} vs {}.",
          human(operand), human(random));
  return array_like(operand, site.result_type(operand.dtype));
}

Shape reduce_precision(const Site& site) {
  const Shape& operand = site.operand(0);
  fail_if(!is_floating(operand.dtype),
          "Expected element type in shape to be floating point for ReducePrecision operation; got "
          "{}.",
          type_name(operand.dtype));
  if (const auto exponent = site.raw_integer("exponent_bits"); exponent && *exponent < 1) {
    fail("Expected exponent_bits >= 1; got {}.", *exponent);
  }
  if (const auto mantissa = site.raw_integer("mantissa_bits"); mantissa && *mantissa < 0) {
    fail("Expected non-negative mantissa_bits; got {}.", *mantissa);
  }
  return array_like(operand, operand.dtype);
}

Shape map(const Site& site) {
  fail_if(site.count() == 0, "Map expects at least one argument.");
  const Shape* argument = &site.operand(0);
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& other = site.operand(i);
    expect_array(other, "operand of map");
    if (same_dims(other, *argument) || other.is_scalar()) continue;
    fail_if(!argument->is_scalar(),
            "Map operation requires all operands to have the same shape; got: {}, {}.",
            human(*argument), human(other));
    argument = &other;
  }
  const Computation& callee = site.callee(0);
  fail_if(callee.parameters.size() != site.count(),
          "Map applied function arity must match number of arguments; got: arity: {}, arguments: "
          "{}.",
          callee.parameters.size(), site.count());
  const Shape& output = root_shape(callee);
  fail_if(!output.is_scalar(), "Mapped computation's result has to be a scalar; got: {}.",
          human(output));
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& parameter = parameter_shape(callee, i);
    fail_if(!parameter.is_scalar(),
            "Mapped computation's parameter has to be a scalar; got parameter {} shape: {}.", i,
            human(parameter));
    fail_if(!same_type_ignoring_fp(parameter.dtype, site.operand(i).dtype),
            "Mapped computation's parameter type has to match argument element type; got parameter "
            "{} shape: {}, argument shape: {}.",
            i, human(parameter), human(site.operand(i)));
  }
  return array_like(*argument, output.dtype);
}

}  // namespace tilecast::ir::infer
