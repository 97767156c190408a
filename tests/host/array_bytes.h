// Arrays as generated code sees them (host/c_kernel.h): elements one after the other in
// the physical order of the layout.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/interpreter/evaluate.h"

namespace tilecast::host {

// `elements` in row-major order of the dimensions, as interpreter::evaluate() has them; numbers of
// the type.
[[nodiscard]] std::vector<std::byte> to_bytes(const ir::Shape& shape,
                                              const interpreter::Elements& elements);
[[nodiscard]] interpreter::Elements from_bytes(const ir::Shape& shape,
                                               const std::vector<std::byte>& bytes);

}  // namespace tilecast::host
