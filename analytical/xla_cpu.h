// How XLA:CPU (`fusion: xla_cpu`) writes kernels, where that is unlike the loops of other compilers.
//
// It cuts nothing into tiles: products, reductions and softmaxes are calls of a library (YNN, Eigen),
// all other kernels loops over the rows of their result that compute every operand anew for every
// element. Rates in cycles were seen on one core of an AMD EPYC (Zen 5) with jaxlib 0.10.2; the
// programs are listed in docs/model.md. Thread-safe.
#pragma once

#include "analytical/iteration_space.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

[[nodiscard]] bool is_xla_cpu(const hwdesc::Device& device);

// Whether the kernel is one loop over the rows of its result: no product, no reduction.
[[nodiscard]] bool is_written_in_order(const ir::Kernel& kernel, const IterationSpace& space,
                                       const hwdesc::Device& device);

// Cycles of a convolution in feature groups, one small product for each group, tap and position.
[[nodiscard]] double grouped_product_cycles(const IterationSpace& space,
                                            const hwdesc::Device& device);

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
