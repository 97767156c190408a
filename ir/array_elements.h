// Counts over a shape: elements, for estimates, and leaves.
#pragma once

#include <optional>

#include "ir/shape.h"

namespace tilecast::ir {

// Returns a double, for use in ratios; 0 for shapes that are not arrays (tuples, tokens, opaque
// values).
[[nodiscard]] inline double array_elements(const Shape& shape) {
  return shape.is_array() ? static_cast<double>(element_count(shape)) : 0;
}

[[nodiscard]] inline std::size_t leaf_count(const Shape& shape) {
  std::size_t count = 0;
  for_each_leaf(shape, [&](const Shape&) { ++count; });
  return count;
}

// Leaves before element `index` of a tuple.
[[nodiscard]] inline std::size_t leaves_before(const Shape& tuple, std::size_t index) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < index; ++i) count += leaf_count(tuple.elements[i]);
  return count;
}

// The depth-first number of the leaf at `index`; nullopt if there is no such leaf.
[[nodiscard]] inline std::optional<std::size_t> leaf_at(const Shape& shape, const Dims& index) {
  std::size_t position = 0;
  const Shape* at = &shape;
  for (const std::int64_t step : index) {
    if (step < 0 || step >= std::ssize(at->elements)) return std::nullopt;
    position += leaves_before(*at, static_cast<std::size_t>(step));
    at = &at->elements[static_cast<std::size_t>(step)];
  }
  return position;
}

}  // namespace tilecast::ir
