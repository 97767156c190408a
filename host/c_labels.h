// Which dimension of which op a tile loop runs along.
//
// From the anchor's dimensions (and what it contracts), labels follow equal dimensions of operands
// and results: elementwise ops, broadcasts, transposes, reshapes of untouched dimensions, the kept
// dimensions of reductions, batch, row and column dimensions of products. They only choose how an
// output is cut and which reduction is split: a dimension without a label is never cut.
#pragma once

#include <vector>

#include "analytical/iteration_space.h"
#include "ir/kernel.h"

namespace tilecast::host {

class Labels {
 public:
  Labels(const ir::Kernel& kernel, const analytical::IterationSpace& space);
  // Loop of a dimension, -1: none.
  [[nodiscard]] int loop(ir::OpId op, std::int64_t dim) const {
    return labels_[op.index()][static_cast<std::size_t>(dim)];
  }
  [[nodiscard]] const std::vector<int>& loops(ir::OpId op) const { return labels_[op.index()]; }

 private:
  std::vector<std::vector<int>> labels_;  // by op, by dimension
};

// Runs of dimensions that a reshape maps to each other: equal products, both not empty unless all
// their dimensions have one element.
struct ReshapeGroup {
  std::vector<int> result, operand;
};
[[nodiscard]] std::vector<ReshapeGroup> reshape_groups(const ir::Dims& result,
                                                       const ir::Dims& operand);

}  // namespace tilecast::host
