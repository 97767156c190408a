// Evaluates a kernel op by op in the simplest way: the reference for generated code. Deliberately
// slow.
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

// Takes one array per parameter and returns one per output. Throws Error if cannot_evaluate() is
// not empty or an input has the wrong number of elements.
[[nodiscard]] std::vector<Elements> evaluate(const ir::Kernel& kernel,
                                             std::span<const Elements> inputs);
// The first unsupported item ("sort", "a constant whose value the dump left out"); empty if there
// is none.
[[nodiscard]] std::string cannot_evaluate(const ir::Kernel& kernel);

}  // namespace tilecast::interpreter
