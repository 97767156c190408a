// How XLA:CPU (`fusion: xla_cpu`) writes kernels, where that is unlike the loops of other
// compilers.
//
// It cuts nothing into tiles: products, reductions and softmaxes are calls of a library (YNN,
// Eigen), all other kernels loops over the rows of their result that compute every operand anew for
// every element. Rates in cycles were seen on one core of an AMD EPYC (Zen 5) with jaxlib 0.10.2;
// the programs are listed in docs/model.md. Thread-safe.
#pragma once

#include <vector>

#include "analytical/iteration_space.h"
#include "analytical/product_type.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

[[nodiscard]] bool is_xla_cpu(const hwdesc::Device& device);

// Whether the kernel is one loop over the rows of its result: no product, no reduction.
[[nodiscard]] bool is_written_in_order(const ir::Kernel& kernel, const IterationSpace& space,
                                       const hwdesc::Device& device);

// Cycles of a product or convolution by a library: whole vectors of columns at the unit's rate,
// taps and input features one depth. In feature groups each group, tap and position is a product of
// its own.
[[nodiscard]] double library_product_cycles(const IterationSpace& space,
                                            const hwdesc::Device& device, const ProductType& type);

// The calls of a fusion that XLA:CPU hands to a library with several products (attention); empty
// otherwise.
[[nodiscard]] std::vector<ir::Kernel> library_calls(const ir::Kernel& kernel,
                                                    const hwdesc::Device& device);

// Cycles per element to convert to or from bf16, which takes integer arithmetic, and f16, for which
// there are instructions; 0 for other types.
[[nodiscard]] double rounding_cycles(ir::DType from, ir::DType to);

// Cycles per element of a reduction of several arrays together (an argmax): a chain of selections.
inline constexpr double kTogetherCycles = 18;

// Cycles per element of a window that a reduce-window combines: scalar code, with two tests or more
// per element where several dimensions are padded.
[[nodiscard]] double window_element_cycles(const ir::Op& reduce_window);

// Cycles to sort `count` rows of `length` by a merge sort that calls the comparator for each
// comparison, or by plain comparisons for one operand of integers.
struct SortedRows {
  double count = 1, length = 1, selected = 0;  // selected per row; 0: all are sorted
  std::size_t operands = 1;
  bool integers = false;
};
[[nodiscard]] double sort_cycles(const SortedRows& rows);

}  // namespace tilecast::analytical
