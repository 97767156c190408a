// What a kernel computes, op by op, in the plainest way: the reference that generated code is
// checked against. Slow on purpose.
//
// Elements are doubles in row-major order of the dimensions, whatever the layout (integers are
// exact to 2^53; wider results wrap as their type does). Every result is rounded to its type
// (ir/literal.h); sums and products inside dot, convolution and reduce are not rounded in between.
// Semantics: openxla.org/xla/operation_semantics. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::interpreter {

using Elements = std::vector<double>;

// One per parameter in, one per output out. Throws Error where cannot_evaluate() says something or
// an input has the wrong number of elements.
[[nodiscard]] std::vector<Elements> evaluate(const ir::Kernel& kernel,
                                             std::span<const Elements> inputs);
// The first thing that has no evaluation here ("sort", "a constant whose value the dump left out");
// empty: none.
[[nodiscard]] std::string cannot_evaluate(const ir::Kernel& kernel);

}  // namespace tilecast::interpreter
