// Helpers for shape rules: access to operands, text for messages, checked arithmetic.
#include <algorithm>
#include <charconv>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {

const Shape& Site::operand(std::size_t index) const {
  fail_if(index >= count(), "{} expects more operands; got {}, operand {} is missing",
          name(instruction.opcode), count(), index);
  return computation.at(instruction.operands[index]).shape;
}

std::vector<Shape> Site::operand_shapes() const {
  std::vector<Shape> shapes;
  shapes.reserve(count());
  for (std::size_t i = 0; i < count(); ++i) shapes.push_back(operand(i));
  return shapes;
}

const Computation& Site::callee(std::size_t index) const {
  fail_if(index >= instruction.called.size(), "{} expects a called computation",
          name(instruction.opcode));
  return module.at(instruction.called[index]);
}

DType Site::result_type(DType fallback) const {
  return instruction.shape.dtype == DType::kInvalid ? fallback : instruction.shape.dtype;
}

std::int64_t Site::single_dimension() const {
  fail_if(instruction.dimensions.size() != 1, "{} expects exactly one dimension; got {}",
          name(instruction.opcode), instruction.dimensions.size());
  return instruction.dimensions[0];
}

std::optional<std::int64_t> Site::raw_integer(std::string_view key) const {
  const std::string* text = instruction.find_raw(key);
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

const Shape& parameter_shape(const Computation& callee, std::size_t number) {
  fail_if(number >= callee.parameters.size(), "computation {} has no parameter {}", callee.name,
          number);
  return callee.at(callee.parameters[number]).shape;
}

const Shape& root_shape(const Computation& callee) {
  fail_if(!callee.root.valid(), "computation {} has no root", callee.name);
  return callee.root_instruction().shape;
}

Shape array_like(const Shape& shape, DType dtype) {
  Shape result;
  result.dtype = dtype;
  result.dims = shape.dims;
  result.dynamic_mask = shape.dynamic_mask;
  return result;
}

DType higher_precision(DType a, DType b) {
  return bits(b) > bits(a) ? b : a;
}

bool same_type_ignoring_fp(DType a, DType b) {
  return a == b || (is_floating(a) && is_floating(b));
}

void expect_array(const Shape& shape, std::string_view what) {
  fail_if(!shape.is_array(), "Expected array argument for {}, but got {}.", what, human(shape));
}

DType product_type(const Site& site) {
  const DType natural = higher_precision(site.operand(0).dtype, site.operand(1).dtype);
  const DType preferred = site.result_type(natural);
  fail_if(preferred != natural && !is_floating(natural) && bits(preferred) < bits(natural),
          "`preferred_element_type` must not be narrower than the original type.");
  return preferred;
}

void expect_same_elements(const Shape& from, const Shape& to) {
  fail_if(element_count(from) != element_count(to),
          "Reshape operation has mismatched element counts: from={} ({}) to={} ({}).",
          element_count(from), human(from), element_count(to), human(to));
}

void check_operand_count(const Instruction& instruction) {
  const int arity = info(instruction.opcode).arity;
  fail_if(arity >= 0 && instruction.operands.size() != static_cast<std::size_t>(arity),
          "Expected {} operands for {} instruction: {} has {}", arity, name(instruction.opcode),
          instruction.name, instruction.operands.size());
}

void check_selector(const Shape& selector) {
  fail_if(!selector.is_scalar(), "The first operand of conditional must be a scalar. Got {}",
          human(selector));
  fail_if(selector.dtype != DType::kPred && selector.dtype != DType::kS32,
          "The first operand of indexed conditional must be a scalar of S32. Got type {}.",
          type_name(selector.dtype));
}

ScanForm scan_form(const Site& site) {
  const Dims& dimensions = site.instruction.dimensions;
  fail_if(dimensions.size() != 1, "Scan instruction has {} dimensions, expected exactly one.",
          dimensions.size());
  fail_if(dimensions[0] < 0, "Scan dimension {} should be non-negative", dimensions[0]);
  const std::int64_t carries = site.raw_integer("num_carries").value_or(0);
  fail_if(carries < 0, "Scan instruction has {} carries, expected 0 or more", carries);
  return {dimensions[0], static_cast<std::size_t>(carries)};
}

bool contains(const Dims& dims, std::int64_t value) {
  return std::find(dims.begin(), dims.end(), value) != dims.end();
}

bool all_unique(const Dims& dims) {
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

bool is_permutation(const Dims& dims, int rank) {
  if (dims.size() != static_cast<std::size_t>(rank) || rank > Shape::kMaxRank) return false;
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= rank || (seen >> dim & 1U) != 0) return false;
    seen |= std::uint64_t{1} << dim;
  }
  return true;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  fail_if(__builtin_add_overflow(a, b, &sum), "size overflows 64 bits: {} + {}", a, b);
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  fail_if(__builtin_mul_overflow(a, b, &product), "size overflows 64 bits: {} * {}", a, b);
  return product;
}

void append_dim(Shape& result, const Shape& from, int dim) {
  if (from.is_dynamic(dim)) result.set_dynamic(result.rank());
  result.dims.push_back(from.dims[static_cast<std::size_t>(dim)]);
}

}  // namespace tilecast::ir::infer
