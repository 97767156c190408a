// Internals of tests/interpreter/evaluate.h: one function per family of ops, and shared helpers.
// Also used by the check of rounding errors, which evaluates single ops on its own numbers
// (tests/host/rounding_bounds.h).
//
// Ops are those of a well-formed kernel (ir/verify/verifier.h) for which cannot_evaluate_op() is
// empty; sizes are not checked again. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "tests/interpreter/evaluate.h"

namespace tilecast::interpreter {

using namespace ir;  // NOLINT(google-build-using-namespace): uses mostly ops and shapes

struct Value {  // borrowed
  const Shape* shape = nullptr;
  const Elements* elements = nullptr;

  [[nodiscard]] double operator[](std::int64_t i) const {
    return (*elements)[static_cast<std::size_t>(i)];
  }
};
using Values = std::span<const Value>;

[[nodiscard]] std::string cannot_evaluate_op(const Op& op);
// Evaluates any op except parameters. The result has the type and sizes of op.shape.
[[nodiscard]] Elements evaluate_op(const Op& op, Values operands);

[[nodiscard]] Elements elementwise(const Op& op, Values operands);
[[nodiscard]] Elements movement(const Op& op, Values operands);
[[nodiscard]] Elements reduce(const Op& op, Values operands);
[[nodiscard]] Elements dot(const Op& op, Values operands);
[[nodiscard]] Elements convolution(const Op& op, Values operands);

// `value` as a number of the type: rounded (floating-point), nonzero (pred), wrapped (integers).
[[nodiscard]] double as_type(double value, DType dtype);
// The low bits(dtype) of a two's complement number.
[[nodiscard]] double wrapped(std::uint64_t bits, DType dtype);
[[nodiscard]] std::uint64_t integer_bits(double value);
// A binary opcode on two numbers of one type; floating-point results are not rounded.
[[nodiscard]] double combine(Opcode opcode, DType dtype, double a, double b);

[[nodiscard]] inline std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Row-major strides in elements: the last dimension varies fastest.
[[nodiscard]] Dims row_major_strides(const Dims& dims);

// Calls visit(base + sum of index[d] * steps[d]) for every index of `dims`, last dimension fastest.
template <class Visit>
void walk(const Dims& dims, std::int64_t base, const Dims& steps, Visit&& visit) {
  for (const std::int64_t size : dims) {
    if (size == 0) return;
  }
  Dims index(dims.size(), 0);
  std::int64_t position = base;
  for (;;) {
    visit(position);
    std::size_t d = dims.size();
    for (; d > 0; --d) {
      position += steps[d - 1];
      if (++index[d - 1] < dims[d - 1]) break;
      position -= steps[d - 1] * dims[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// The input position, out of `size`, that element k of the window at output position o reads; -1:
// padding or a hole of the base dilation.
[[nodiscard]] inline std::int64_t window_source(const WindowDim& window, std::int64_t o,
                                                std::int64_t k, std::int64_t size) {
  const std::int64_t at = o * window.stride + k * window.window_dilation - window.pad_low;
  if (at < 0 || at % window.base_dilation != 0) return -1;
  const std::int64_t source = at / window.base_dilation;
  return source < size ? source : -1;
}

}  // namespace tilecast::interpreter
