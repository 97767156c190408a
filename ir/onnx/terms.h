// Arithmetic on graph values: `logistic(x) * x + 1.0` emits the corresponding HLO instructions.
//
// Binary operations broadcast as in NumPy (dimensions are aligned at the end, sizes of 1 repeat); a
// number takes the other operand's type. Axes may be negative only where stated. Throws Error if
// operands do not fit.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "ir/onnx/emitter.h"

namespace tilecast::ir::onnx_reader {

[[nodiscard]] Term unary(Opcode opcode, Term x);
[[nodiscard]] Term binary(Opcode opcode, Term a, Term b);
[[nodiscard]] Term compare(const char* direction, Term a, Term b);
[[nodiscard]] Term select(Term condition, Term a, Term b);
[[nodiscard]] Term convert(Term x, DType dtype);
// A scalar of type `dtype`.
[[nodiscard]] Term scalar(Emitter& emitter, DType dtype, double value);
[[nodiscard]] inline Term like(Term x, double value) {
  return scalar(*x.emitter, x.dtype(), value);
}
[[nodiscard]] Term integers(Emitter& emitter, DType dtype, const Dims& values);  // rank 1

[[nodiscard]] inline Term operator+(Term a, Term b) {
  return binary(Opcode::kAdd, a, b);
}
[[nodiscard]] inline Term operator-(Term a, Term b) {
  return binary(Opcode::kSubtract, a, b);
}
[[nodiscard]] inline Term operator*(Term a, Term b) {
  return binary(Opcode::kMultiply, a, b);
}
[[nodiscard]] inline Term operator/(Term a, Term b) {
  return binary(Opcode::kDivide, a, b);
}
[[nodiscard]] inline Term operator+(Term a, double b) {
  return a + like(a, b);
}
[[nodiscard]] inline Term operator-(Term a, double b) {
  return a - like(a, b);
}
[[nodiscard]] inline Term operator*(Term a, double b) {
  return a * like(a, b);
}
[[nodiscard]] inline Term operator/(Term a, double b) {
  return a / like(a, b);
}
[[nodiscard]] inline Term operator-(double a, Term b) {
  return like(b, a) - b;
}
[[nodiscard]] inline Term operator-(Term a) {
  return unary(Opcode::kNegate, a);
}
[[nodiscard]] inline Term maximum(Term a, Term b) {
  return binary(Opcode::kMaximum, a, b);
}
[[nodiscard]] inline Term maximum(Term a, double b) {
  return maximum(a, like(a, b));
}
[[nodiscard]] inline Term minimum(Term a, Term b) {
  return binary(Opcode::kMinimum, a, b);
}
[[nodiscard]] inline Term minimum(Term a, double b) {
  return minimum(a, like(a, b));
}

// Dimension i of `x` becomes dimension `dimensions[i]` of the result.
[[nodiscard]] Term broadcast_in(Term x, const Dims& dims, const Dims& dimensions);
[[nodiscard]] Term broadcast_to(Term x, const Dims& dims);  // as NumPy does
[[nodiscard]] Dims broadcast_dims(const Dims& a, const Dims& b);
// Broadcasts a vector along `axis` to the sizes of `x`.
[[nodiscard]] inline Term along(Term vector, Term x, std::int64_t axis) {
  return broadcast_in(vector, x.dims(), {axis});
}
[[nodiscard]] Term full(Emitter& emitter, DType dtype, const Dims& dims, double value);
[[nodiscard]] Term iota(Emitter& emitter, DType dtype, const Dims& dims, std::int64_t axis);
[[nodiscard]] Term reshape(Term x, const Dims& dims);
[[nodiscard]] Term transpose(Term x, const Dims& permutation);
[[nodiscard]] Term slice(Term x, std::int64_t axis, const SliceDim& range);
[[nodiscard]] Term pad(Term x, std::vector<PadDim> dims, Term value);
[[nodiscard]] Term concatenate(const Terms& parts, std::int64_t axis);
// Reduces over `axes` with an opcode (add, multiply, maximum, minimum, and, or). If `keep`, the
// reduced axes remain with size 1.
[[nodiscard]] Term reduce(Opcode opcode, Term x, const Dims& axes, bool keep);
[[nodiscard]] Term mean(Term x, const Dims& axes);               // keeps the axes
[[nodiscard]] double lowest(DType dtype, bool highest = false);  // lowest or highest number
// `type`: accumulator type; kInvalid: that of the operands.
[[nodiscard]] Term dot(Term a, Term b, DotDims dims, DType type = DType::kInvalid);
// The slices of `x` along `axis` at `indices` (not negative), like NumPy's take.
[[nodiscard]] Term take(Term x, Term indices, std::int64_t axis);
[[nodiscard]] Terms elements_of(Term tuple);
// A loop. `body` receives the counter, the state and the captured values, and returns the next
// state.
using LoopBody =
    std::function<Terms(Emitter&, Term counter, const Terms& state, const Terms& captured)>;
struct Turns {
  std::optional<std::int64_t> most;  // number of iterations, unless by_condition
  bool by_condition = false;         // run while the first element of the state is true
};
[[nodiscard]] Terms counted_loop(const Turns& turns, const Terms& state, const Terms& captured,
                                 const LoopBody& body);
// The slice of size 1 at `at` along `axis`, and its inverse.
[[nodiscard]] Term dynamic_slice(Term x, std::int64_t axis, Term at);
[[nodiscard]] Term dynamic_update(Term x, Term part, std::int64_t axis, Term at);

// Returns the term; throws Error unless its rank is in the range.
[[nodiscard]] Term of_rank(Term x, int least, int most = 32);
// Returns the number; throws Error unless it is at least `least` and fits 32 bits, so that sums of
// sizes cannot overflow.
[[nodiscard]] std::int64_t bounded(std::int64_t value, std::int64_t least = INT32_MIN);

// Helpers on sizes.
[[nodiscard]] std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);  // may be negative
[[nodiscard]] Dims normal_axes(Dims axes, std::int64_t rank);                  // sorted
[[nodiscard]] Dims range(std::int64_t begin, std::int64_t end);
[[nodiscard]] std::int64_t product(const Dims& dims, std::size_t begin = 0,
                                   std::size_t end = SIZE_MAX);
[[nodiscard]] std::int64_t to_integer(double value);  // saturates

}  // namespace tilecast::ir::onnx_reader
