// Result shapes of reductions, windows, sorts and scans.
#include "ir/infer/infer_rules.h"
#include "ir/infer/shape_inference.h"

namespace tilecast::ir::infer {
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
