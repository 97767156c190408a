// How many elements a value holds, for estimates.
#pragma once

#include "ir/shape.h"

namespace tilecast::ir {

// As a double, for ratios; 0 for what is no array (tuples, tokens, opaque values).
[[nodiscard]] inline double array_elements(const Shape& shape) {
  return shape.is_array() ? static_cast<double>(element_count(shape)) : 0;
}

}  // namespace tilecast::ir
