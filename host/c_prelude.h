// The parts of c_prelude() (c_kernel.h): C text that every generated file starts with.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::host {

// Bits, integer operations, conversions between numbers; the text defines TC before it.
[[nodiscard]] std::string prelude_numbers();
[[nodiscard]] std::string_view prelude_math();  // exponentials, logarithms ... that vectorise
[[nodiscard]] std::string prelude_matrix();     // the loops of matrix products

}  // namespace tilecast::host
