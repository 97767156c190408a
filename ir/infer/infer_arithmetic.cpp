// Result shapes of operations that map elements one to one.
#include <algorithm>

#include "ir/infer/infer_rules.h"
#include "ir/infer/shape_inference.h"

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

// Result shapes of reductions, windows, sorts and scans.

namespace {

// The reducer's result, or the elements of its result tuple.
std::vector<const Shape*> accumulators(const Computation& reducer, std::size_t inputs) {
  const Shape& result = root_shape(reducer);
  std::vector<const Shape*> shapes;
  if (result.is_array()) {
    fail_if(inputs != 1,
            "Reduction function must produce a tuple with {} elements, but produces a scalar",
            inputs);
    shapes.push_back(&result);
  } else if (result.is_tuple()) {
    fail_if(result.elements.size() != inputs,
            "Reduction function must produce a tuple with {} elements, but has {} elements", inputs,
            result.elements.size());
    for (const Shape& element : result.elements) shapes.push_back(&element);
  } else {
    fail("Reduction function must produce a scalar or tuple of scalars, but has shape: {}",
         human(result));
  }
  for (const Shape* shape : shapes) {
    fail_if(!shape->is_scalar(),
            "Reduction function must return a scalar or tuple of scalars but returns shape: {}",
            human(result));
  }
  return shapes;
}

bool scalar_like(const Shape& shape, DType dtype) {
  return shape.is_scalar() && same_type_ignoring_fp(shape.dtype, dtype);
}

// Checks operands 0..n-1 and n..2n-1 of reduce and reduce-window; returns n.
std::size_t reduction_inputs(const Site& site, std::string_view what) {
  fail_if(site.count() == 0 || site.count() % 2 != 0,
          "Expected an even number of operands for {} instruction; {} must have an even number of "
          "arguments, has {}",
          name(site.instruction.opcode), what, site.count());
  const std::size_t inputs = site.count() / 2;
  const Shape& first = site.operand(0);
  for (std::size_t i = 0; i < inputs; ++i) {
    const Shape& other = site.operand(i);
    if (!other.is_array()) {
      expect_array(other, fmt::format("operand of {}", name(site.instruction.opcode)));
    }
    fail_if(
        other.dims != first.dims,
        "All reduced tensors must have the same dimension. Tensor 0 has shape {}, Tensor {} has "
        "shape {}",
        human(first), i, human(other));
  }
  return inputs;
}

void check_reduction(const Site& site, std::size_t inputs) {
  std::vector<const Shape*> init_values;
  std::vector<DType> types;
  for (std::size_t i = 0; i < inputs; ++i) {
    types.push_back(site.operand(i).dtype);
    init_values.push_back(&site.operand(inputs + i));
  }
  check_reducer(site.callee(0), init_values, types);
}

// One array per accumulator of the reducer, with the dimensions of `sizes`.
Shape per_accumulator(const Computation& reducer, const Shape& sizes) {
  const Shape& result = root_shape(reducer);
  if (!result.is_tuple()) return array_like(sizes, result.dtype);
  std::vector<Shape> elements;
  for (const Shape& element : result.elements) elements.push_back(array_like(sizes, element.dtype));
  return Shape::tuple(std::move(elements));
}

// The number of arrays in a tuple; 1 for an array.
std::size_t part_count(const Shape& shape) {
  return shape.is_tuple() ? shape.elements.size() : 1;
}
const Shape& part(const Shape& shape, std::size_t index) {
  return shape.is_tuple() ? shape.elements[index] : shape;
}

std::int64_t scan_extent(const Site& site, std::size_t inputs, std::size_t dim) {
  const Shape& given = site.instruction.shape;
  const Shape& source = inputs > 0 ? site.operand(0) : part(given, 0);
  fail_if(!source.is_array() || dim >= source.dims.size(),
          "Scan dimension {} out of bounds for operand 0", dim);
  return source.dims[dim];
}

}  // namespace

void check_reducer(const Computation& reducer, const std::vector<const Shape*>& init_values,
                   const std::vector<DType>& element_types) {
  const std::size_t inputs = element_types.size();
  fail_if(reducer.parameters.size() != inputs * 2,
          "Reduction function must take {} parameters, but takes {} parameter(s).", inputs * 2,
          reducer.parameters.size());
  const std::vector<const Shape*> results = accumulators(reducer, inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const Shape& accumulator = parameter_shape(reducer, i);
    const Shape& element = parameter_shape(reducer, inputs + i);
    const Shape& result = *results[i];
    fail_if(!accumulator.is_scalar() || accumulator.dtype != result.dtype,
            "Reduction function's {}-th parameter shape differs from the result shape: {} vs {}", i,
            human(accumulator), human(result));
    fail_if(!scalar_like(*init_values[i], result.dtype),
            "Reduction function's accumulator shape at index {} differs from the init_value shape: "
            "{} vs {}",
            i, human(result), human(*init_values[i]));
    fail_if(!scalar_like(element, element_types[i]),
            "Reduction function's {}-th parameter shape differs from the input type element type: "
            "{} vs {}",
            inputs + i, human(element), type_name(element_types[i]));
    fail_if(!scalar_like(element, result.dtype),
            "Reduction function's {}-th parameter shape must match the result shape, but got {} vs "
            "{}.",
            inputs + i, human(element), human(result));
  }
}

Shape window_output(const Shape& base, const Window& window, DType dtype) {
  fail_if(window.size() != base.dims.size(),
          "Window has dimension {} but base shape has dimension {}.", window.size(), base.rank());
  Shape result = array_like(base, dtype);
  for (std::size_t i = 0; i < window.size(); ++i) {
    const WindowDim& dim = window[i];
    fail_if(dim.size <= 0, "Window has a non-positive dimension: size {}.", dim.size);
    fail_if(dim.stride <= 0, "Window has a non-positive stride: {}.", dim.stride);
    fail_if(dim.base_dilation < 1, "Window has a non-positive base area dilation factor: {}.",
            dim.base_dilation);
    fail_if(dim.window_dilation < 1, "Window has a non-positive window dilation factor: {}.",
            dim.window_dilation);
    result.dims[i] = window_output_size(base.dims[i], dim);
  }
  return result;
}

Shape reduce(const Site& site) {
  const std::size_t inputs = reduction_inputs(site, "Reduce");
  const Shape& operand = site.operand(0);
  const Dims& dimensions = site.instruction.dimensions;
  for (const std::int64_t dim : dimensions) {
    fail_if(dim < 0 || dim >= operand.rank(), "Reducing out-of-bounds dimension {} in shape {}.",
            dim, human(operand));
  }
  check_reduction(site, inputs);
  fail_if(!all_unique(dimensions), "Duplicate reduction dimension: {}", join(dimensions));
  Shape sizes;
  for (int i = 0; i < operand.rank(); ++i) {
    if (!contains(dimensions, i)) append_dim(sizes, operand, i);
  }
  return per_accumulator(site.callee(0), sizes);
}

Shape reduce_window(const Site& site) {
  const std::size_t inputs = reduction_inputs(site, "Reduce-window");
  check_reduction(site, inputs);
  const Window& window = site.attrs<WindowAttrs>().window;
  const Shape sizes = window_output(site.operand(0), window, site.operand(0).dtype);
  const Shape& result = root_shape(site.callee(0));
  if (!result.is_tuple()) return array_like(sizes, site.operand(inputs).dtype);
  std::vector<Shape> elements;
  for (std::size_t i = 0; i < inputs; ++i) {
    elements.push_back(array_like(sizes, site.operand(inputs + i).dtype));
  }
  return Shape::tuple(std::move(elements));
}

Shape select_and_scatter(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& source = site.operand(1);
  const Computation& select = site.callee(0);
  expect_array(operand, "operand of select-and-scatter");
  expect_array(source, "source of select-and-scatter");
  fail_if(select.parameters.size() != 2,
          "Select function must take 2 parameters, but takes {} parameter(s).",
          select.parameters.size());
  fail_if(!root_shape(select).is_scalar() || root_shape(select).dtype != DType::kPred,
          "Select function must have rank-0 PRED result.");
  for (std::size_t i = 0; i < 2; ++i) {
    fail_if(!scalar_like(parameter_shape(select, i), operand.dtype),
            "Select function's {} parameter shape currently must match the operand element shape, "
            "but got {} vs {}.",
            i == 0 ? "first" : "second", human(parameter_shape(select, i)),
            type_name(operand.dtype));
  }
  check_reducer(site.callee(1), {&site.operand(2)}, {source.dtype});
  const Window& window = site.attrs<WindowAttrs>().window;
  const Shape windowed = window_output(operand, window, operand.dtype);
  fail_if(source.dims != windowed.dims || !same_type_ignoring_fp(source.dtype, operand.dtype),
          "Source shape does not match the shape of window-reduced operand: source({}), "
          "window-reduced operand({}).",
          human(source), human(windowed));
  return array_like(operand, operand.dtype);
}

Shape sort(const Site& site) {
  fail_if(site.count() < 1, "Expected at least 1 operand for sort instruction");
  const Shape& keys = site.operand(0);
  std::vector<Shape> elements;
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& values = site.operand(i);
    expect_array(values, "operand of sort");
    fail_if(values.dims != keys.dims,
            "Expected sort to have to have the same dimensions for all operands. Sort keys and "
            "values dimensions must match. Keys shape is: {}, Values shape (operand index {}) is: "
            "{}",
            human(keys), i, human(values));
    elements.push_back(array_like(values, values.dtype));
  }
  return elements.size() == 1 ? elements[0] : Shape::tuple(std::move(elements));
}

Shape top_k(const Site& site) {
  const Shape& operand = site.operand(0);
  expect_array(operand, "operand of top-k operation");
  fail_if(operand.dims.empty(), "top-k expects an operand of rank 1 or more; got {}",
          human(operand));
  const IndexAttrs* attrs = site.instruction.get<IndexAttrs>();
  const std::int64_t k = attrs != nullptr ? attrs->index : site.raw_integer("k").value_or(0);
  if (k < 0 || k > operand.dims.back()) {
    fail("k={} is larger than the last dimension of size={}", k, operand.dims.back());
  }
  Shape values = array_like(operand, operand.dtype);
  values.dims.back() = k;
  Shape indices = array_like(values, DType::kS32);
  return Shape::tuple({std::move(values), std::move(indices)});
}

Shape scan(const Site& site) {
  const Shape& root = root_shape(site.callee(0));
  const auto [dim, carries] = scan_form(site);
  fail_if(site.count() < carries, "Scan instruction has {} carries, but only {} operands.", carries,
          site.count());
  fail_if(part_count(root) < carries, "Scan instruction has {} carries, but only {} results.",
          carries, part_count(root));
  const std::size_t outputs = part_count(root) - carries;
  const auto axis = static_cast<std::size_t>(dim);
  std::vector<Shape> results;
  for (std::size_t i = 0; i < part_count(root); ++i) {
    const Shape& element = part(root, i);
    Shape result = array_like(element, element.dtype);
    if (i < outputs) {
      fail_if(axis > result.dims.size(), "Scan dimension {} out of bounds for result {}", dim, i);
      result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(axis),
                         scan_extent(site, site.count() - carries, axis));
    }
    results.push_back(std::move(result));
  }
  return root.is_tuple() ? Shape::tuple(std::move(results)) : results.at(0);
}

}  // namespace tilecast::ir::infer
