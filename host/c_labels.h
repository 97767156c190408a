// Assigns tile loops to the dimensions of a kernel's ops.
//
// Labels start at the anchor's dimensions (and those it contracts) and propagate to corresponding
// dimensions of operands and results: through elementwise ops, broadcasts, transposes, reshapes of
// unchanged dimensions, kept dimensions of reductions, and batch, row and column dimensions of
// products. They only decide how an output is cut and which reduction is split; a dimension without
// a label is never cut.
#pragma once

#include <vector>

#include "analytical/iteration_space.h"
#include "ir/kernel.h"

namespace tilecast::host {

class Labels {
 public:
  Labels(const ir::Kernel& kernel, const analytical::IterationSpace& space);
  // The loop of a dimension; -1 if none.
  [[nodiscard]] int loop(ir::OpId op, std::int64_t dim) const {
    return labels_[op.index()][static_cast<std::size_t>(dim)];
  }
  [[nodiscard]] const std::vector<int>& loops(ir::OpId op) const { return labels_[op.index()]; }

 private:
  std::vector<std::vector<int>> labels_;  // by op, by dimension
};

// Groups of consecutive dimensions with equal products that a reshape maps to each other. Both
// sides are non-empty unless all dimensions of the group have size 1.
struct ReshapeGroup {
  std::vector<int> result, operand;
};
[[nodiscard]] std::vector<ReshapeGroup> reshape_groups(const ir::Dims& result,
                                                       const ir::Dims& operand);

}  // namespace tilecast::host
