// The number of elements in a value, for estimates.
#pragma once

#include "ir/shape.h"

namespace tilecast::ir {

// Returns a double, for use in ratios; 0 for shapes that are not arrays (tuples, tokens, opaque
// values).
[[nodiscard]] inline double array_elements(const Shape& shape) {
  return shape.is_array() ? static_cast<double>(element_count(shape)) : 0;
}

}  // namespace tilecast::ir
