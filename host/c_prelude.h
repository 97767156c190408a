// Parts of c_prelude() (c_kernel.h), the C text at the start of every generated file.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::host {

// Bit casts, integer operations, conversions between numbers. Requires macro TC to be defined.
[[nodiscard]] std::string prelude_numbers();
[[nodiscard]] std::string_view prelude_math();  // vectorisable exponentials, logarithms ...
[[nodiscard]] std::string prelude_matrix();     // the loops of matrix products

}  // namespace tilecast::host
