// Bounds the difference between a correct program and interpreter::evaluate() per element: a
// running error bound propagated through the kernel's ops (Higham, Accuracy and Stability of
// Numerical Algorithms, second edition, sections 3.1 and 3.3).
//
// u(T) is the unit roundoff of a type: 2^-53, 2^-24, 2^-11, 2^-8 for f64, f32, f16, bf16; c(T) is
// that of the type used for computing: f64 for f64, else f32. Both the program and the evaluator
// may be off by these amounts, hence the factors of 2. With r the result and e the bounds of the
// operands:
//   elementwise   the largest change of the result over the corners of the box operands +- e,
//                 + 2 u(T) |r| + 2 c(T) |r|; library functions: + 8 c(T) |r| (4 ulp)
//   movement      the operands' bounds, moved
//   sums          sum of e + 2 (n + 1) c(T) (sum of |x| + e) + 2 u(T) |r|, n terms and the initial
//                 value; products the same way, relative to the product of the |x| + e
//   dot, conv     (|a| + e)(|b| + e) - |a||b| + 2 (n + 1) c(T) (|a| + e)(|b| + e) + 2 u(T) |r|,
//                 each product summed as the op sums, n terms
// and half of the type's smallest subnormal number. Integers and pred have bound 0 unless rounding
// upstream can flip them (compare, floor, convert near a step): the corners of the box show that.
// An infinite bound means that rounding alone can make the result anything.
#pragma once

#include <span>
#include <vector>

#include "tests/interpreter/evaluate.h"

namespace tilecast::host {

struct Bounded {
  interpreter::Elements value, bound;
};

// One per output.
[[nodiscard]] std::vector<Bounded> evaluate_with_bounds(
    const ir::Kernel& kernel, std::span<const interpreter::Elements> inputs);
// Whether `got` is the value within the bound (a NaN for a NaN).
[[nodiscard]] bool agrees(double got, double value, double bound);
[[nodiscard]] double unit_roundoff(ir::DType dtype);  // 0 for integers

}  // namespace tilecast::host
