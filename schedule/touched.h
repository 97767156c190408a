// Counts the distinct elements of a buffer that loops access: the loads if each is kept, from which
// reuse is computed (AutoTVM: Chen et al., NeurIPS 2018, appendix).
//
//   std::vector<LoopAccess> accesses = accesses_in(program.body, {});
//   double elements = touched_elements(program.buffer("a"), of_a, /*depth=*/2).elements;
//
// Exact for the indices: the values of each dimension are an arithmetic progression or are listed,
// dimensions that share a loop are listed together, several accesses are counted by inclusion and
// exclusion. Bounds and guards are ignored; no dimension counts more than its size. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/walk.h"

namespace tilecast::schedule {

// An access with its surrounding loops. A box covers the last dimensions.
struct LoopAccess {
  const Access* access = nullptr;
  Use use = Use::kRead;
  ir::Dims box;                    // extents; {}: one element
  std::vector<const Loop*> loops;  // around it, outermost first
};
// Every access of the statements, in the order of for_each_access; `around`: the loops outside
// `body`. The result points into `body`.
[[nodiscard]] std::vector<LoopAccess> accesses_in(const Body& body,
                                                  const std::vector<const Loop*>& around);

struct TouchedElements {
  double elements = 0;
  bool exact = true;  // false: an upper bound (more than 2^18 positions to list,
                      // or more than 6 different accesses)
};
// Elements of `buffer` that `accesses`, all its accesses, reach while loops[depth], loops[depth +
// 1], ... run and the outer ones are at 0. Stages of a pipelined buffer count as separate elements.
[[nodiscard]] TouchedElements touched_elements(const Buffer& buffer,
                                               std::span<const LoopAccess> accesses,
                                               std::size_t depth);

// Number of elements accessed while loops[depth] and those inside run, repetitions included.
[[nodiscard]] double access_count(const LoopAccess& access, std::size_t depth);
// Distance in memory, in elements, between two consecutive iterations of loops[depth]; 0: the same.
[[nodiscard]] double access_stride(const Buffer& buffer, const LoopAccess& access,
                                   std::size_t depth);

}  // namespace tilecast::schedule
