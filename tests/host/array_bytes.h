// Arrays in the form of generated code (host/c_kernel.h): dense elements in the physical order of
// the layout.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/interpreter/evaluate.h"

namespace tilecast::host {

// `elements` are in row-major order of the dimensions, as in interpreter::evaluate(), and must be
// values of the type.
[[nodiscard]] std::vector<std::byte> to_bytes(const ir::Shape& shape,
                                              const interpreter::Elements& elements);
[[nodiscard]] interpreter::Elements from_bytes(const ir::Shape& shape,
                                               const std::vector<std::byte>& bytes);

}  // namespace tilecast::host
