// What the shape rules share: access to operands, text for messages, checked arithmetic.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {

const Shape& Site::operand(std::size_t index) const {
  if (index >= count()) {
    fail("{} expects more operands; got {}, operand {} is missing", name(instruction.opcode),
         count(), index);
  }
  return computation.at(instruction.operands[index]).shape;
}

const Computation& Site::callee(std::size_t index) const {
  if (index >= instruction.called.size()) {
    fail("{} expects a called computation", name(instruction.opcode));
  }
  return module.at(instruction.called[index]);
}

DType Site::result_type(DType fallback) const {
  return instruction.shape.dtype == DType::kInvalid ? fallback : instruction.shape.dtype;
}

std::int64_t Site::single_dimension() const {
  if (instruction.dimensions.size() != 1) {
    fail("{} expects exactly one dimension; got {}", name(instruction.opcode),
         instruction.dimensions.size());
  }
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

std::string human(const Shape& shape) {
  return to_string(shape, /*with_layout=*/false);
}

std::string type_name(DType dtype) {
  std::string text(name(dtype));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string join(const Dims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) {
    if (!text.empty()) text += ", ";
    text += std::to_string(dim);
  }
  return text;
}

const Shape& parameter_shape(const Computation& callee, std::size_t number) {
  if (number >= callee.parameters.size()) {
    fail("computation {} has no parameter {}", callee.name, number);
  }
  return callee.at(callee.parameters[number]).shape;
}

const Shape& root_shape(const Computation& callee) {
  if (!callee.root.valid()) fail("computation {} has no root", callee.name);
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
  if (!shape.is_array()) {
    fail("Expected array argument for {}, but got {}.", what, human(shape));
  }
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
  if (dims.size() != static_cast<std::size_t>(rank) || rank > 32) return false;
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= rank || (seen >> dim & 1U) != 0) return false;
    seen |= std::uint64_t{1} << dim;
  }
  return true;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail("size overflows 64 bits: {} + {}", a, b);
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail("size overflows 64 bits: {} * {}", a, b);
  return product;
}

void append_dim(Shape& result, const Shape& from, int dim) {
  if (from.is_dynamic(dim) && result.rank() < 32) {
    result.dynamic_mask |= std::uint32_t{1} << result.rank();
  }
  result.dims.push_back(from.dims[static_cast<std::size_t>(dim)]);
}

}  // namespace tilecast::ir::infer
