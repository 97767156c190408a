// Implementation of ir/infer/shape_inference.h: one function per family of opcodes, and shared
// helpers. Rules and messages follow XLA's shape inference, so that they are familiar to XLA users.
// Source: the XLA operation semantics.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "ir/hlo.h"
#include "ir/message.h"

namespace tilecast::ir::infer {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}
// The arguments are always evaluated, so pass names, numbers or the lazily formatted texts of
// ir/message.h.
template <class... Args>
void fail_if(bool wrong, fmt::format_string<Args...> format, Args&&... args) {
  if (wrong) [[unlikely]]
    fail(format, std::forward<Args>(args)...);
}

// One instruction with its context. Accessors throw Error if the operand, callee or attribute is
// absent.
struct Site {
  const Module& module;
  const Computation& computation;
  const Instruction& instruction;

  [[nodiscard]] std::size_t count() const { return instruction.operands.size(); }
  [[nodiscard]] const Shape& operand(std::size_t index) const;
  [[nodiscard]] std::vector<Shape> operand_shapes() const;
  [[nodiscard]] const Computation& callee(std::size_t index) const;
  // The result type given in the text, or `fallback` if there is none.
  [[nodiscard]] DType result_type(DType fallback) const;
  // The single entry of `dimensions={d}`.
  [[nodiscard]] std::int64_t single_dimension() const;
  // An integer attribute that has no field of its own.
  [[nodiscard]] std::optional<std::int64_t> raw_integer(std::string_view key) const;

  template <class T>
  [[nodiscard]] const T& attrs() const {
    const T* found = instruction.get<T>();
    if (found == nullptr) fail("{} lacks its attributes", name(instruction.opcode));
    return *found;
  }
};

[[nodiscard]] const Shape& parameter_shape(const Computation& callee, std::size_t number);
[[nodiscard]] const Shape& root_shape(const Computation& callee);

[[nodiscard]] Shape array_like(const Shape& shape, DType dtype);  // same sizes, no layout
[[nodiscard]] DType higher_precision(DType a, DType b);
[[nodiscard]] bool same_type_ignoring_fp(DType a, DType b);
void expect_array(const Shape& shape, std::string_view what);
// The result type of a product of operands 0 and 1: the one given in the text, else the operands'
// higher precision.
[[nodiscard]] DType product_type(const Site& site);
void expect_same_elements(const Shape& from, const Shape& to);
void check_operand_count(const Instruction& instruction);
void check_selector(const Shape& selector);  // operand 0 of conditional
// The dimension and number of carries of a scan; scan_form() checks them.
struct ScanForm {
  std::int64_t dimension;
  std::size_t carries;
};
[[nodiscard]] ScanForm scan_form(const Site& site);
[[nodiscard]] bool contains(const Dims& dims, std::int64_t value);
[[nodiscard]] bool all_unique(const Dims& dims);
[[nodiscard]] bool is_permutation(const Dims& dims, int rank);
// Sums and products that throw Error on overflow.
[[nodiscard]] std::int64_t checked_add(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t checked_multiply(std::int64_t a, std::int64_t b);
void append_dim(Shape& result, const Shape& from, int dim);

// Sizes of `base` (leading window.size() dimensions) after the window; type `dtype`.
[[nodiscard]] Shape window_output(const Shape& base, const Window& window, DType dtype);
// Checks that `reducer` combines the accumulators with as many elements of the given types.
void check_reducer(const Computation& reducer, const std::vector<const Shape*>& init_values,
                   const std::vector<DType>& element_types);

[[nodiscard]] Shape tuple(const Site& site);
[[nodiscard]] Shape tuple_element(const Site& site);
[[nodiscard]] Shape copy_start(const Site& site);
[[nodiscard]] Shape first_element(const Site& site);
[[nodiscard]] Shape first_operand(const Site& site);
[[nodiscard]] Shape callee_root(const Site& site);
[[nodiscard]] Shape conditional(const Site& site);
[[nodiscard]] Shape token(const Site& site);
[[nodiscard]] Shape device_number(const Site& site);
[[nodiscard]] Shape random_state(const Site& site);

[[nodiscard]] Shape convert(const Site& site);
[[nodiscard]] Shape unary(const Site& site);
[[nodiscard]] Shape binary(const Site& site);
[[nodiscard]] Shape clamp(const Site& site);
[[nodiscard]] Shape select(const Site& site);
[[nodiscard]] Shape bitcast_convert(const Site& site);
[[nodiscard]] Shape stochastic_convert(const Site& site);
[[nodiscard]] Shape reduce_precision(const Site& site);
[[nodiscard]] Shape map(const Site& site);
[[nodiscard]] Shape concatenate(const Site& site);
[[nodiscard]] Shape pad(const Site& site);
[[nodiscard]] Shape slice(const Site& site);
[[nodiscard]] Shape dynamic_slice(const Site& site);
[[nodiscard]] Shape dynamic_update_slice(const Site& site);
[[nodiscard]] Shape transpose(const Site& site);
[[nodiscard]] Shape reverse(const Site& site);
[[nodiscard]] Shape get_dimension_size(const Site& site);
[[nodiscard]] Shape set_dimension_size(const Site& site);
// The result shape is given in the text; these check it against the operand and return none.
[[nodiscard]] Shape check_broadcast(const Site& site);
[[nodiscard]] Shape check_reshape(const Site& site);
[[nodiscard]] Shape reduce(const Site& site);
[[nodiscard]] Shape reduce_window(const Site& site);
[[nodiscard]] Shape select_and_scatter(const Site& site);
[[nodiscard]] Shape sort(const Site& site);
[[nodiscard]] Shape top_k(const Site& site);
[[nodiscard]] Shape scan(const Site& site);
[[nodiscard]] Shape dot(const Site& site);
[[nodiscard]] Shape scaled_dot(const Site& site);
[[nodiscard]] Shape ragged_dot(const Site& site);
[[nodiscard]] Shape convolution(const Site& site);
[[nodiscard]] Shape fft(const Site& site);
[[nodiscard]] Shape cholesky(const Site& site);
[[nodiscard]] Shape triangular_solve(const Site& site);
[[nodiscard]] Shape batch_norm_training(const Site& site);
[[nodiscard]] Shape batch_norm_inference(const Site& site);
[[nodiscard]] Shape batch_norm_grad(const Site& site);
[[nodiscard]] Shape gather(const Site& site);
[[nodiscard]] Shape scatter(const Site& site);

[[nodiscard]] Shape all_reduce(const Site& site);
[[nodiscard]] Shape all_gather(const Site& site);
[[nodiscard]] Shape all_gather_start(const Site& site);
[[nodiscard]] Shape reduce_scatter(const Site& site);
[[nodiscard]] Shape all_to_all(const Site& site);
[[nodiscard]] Shape ragged_all_to_all(const Site& site);
[[nodiscard]] Shape collective_broadcast(const Site& site);
[[nodiscard]] Shape collective_permute(const Site& site);
[[nodiscard]] Shape collective_permute_start(const Site& site);
[[nodiscard]] Shape second_element(const Site& site);  // of the tuple that the start op returns
[[nodiscard]] Shape send(const Site& site);
[[nodiscard]] Shape recv_done(const Site& site);

}  // namespace tilecast::ir::infer
