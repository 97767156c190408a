// How many elements of a buffer loops touch: what is loaded once where it is kept, the number that
// reuse is counted from (AutoTVM: Chen et al., NeurIPS 2018, appendix).
//
//   std::vector<LoopAccess> accesses = accesses_in(program.body, {});
//   double elements = touched_elements(program.buffer("a"), of_a, /*depth=*/2).elements;
//
// Exact for what the indices say: the values of each dimension are an arithmetic progression or are
// listed, dimensions that share a loop are listed together, several accesses are counted by
// inclusion and exclusion. Bounds and guards are not looked at; no dimension counts more than it
// has. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/walk.h"

namespace tilecast::schedule {

// An access with what stands around it. A box counts with its last dimensions.
struct LoopAccess {
  const Access* access = nullptr;
  Use use = Use::kRead;
  ir::Dims box;                    // extents; {}: one element
  std::vector<const Loop*> loops;  // around it, outermost first
};
// Every access of the statements, in the order of for_each_access; `around`: the loops outside.
// Pointers into `body`.
[[nodiscard]] std::vector<LoopAccess> accesses_in(const Body& body,
                                                  const std::vector<const Loop*>& around);

struct TouchedElements {
  double elements = 0;
  bool exact = true;  // false: at least as many as there are (more than 2^18 positions to list,
                      // or more than 6 different accesses)
};
// Elements of `buffer` that the accesses, all of it, reach while loops[depth], loops[depth + 1],
// ... run; those before stand at 0. Stages of a pipelined buffer count as elements of their own.
[[nodiscard]] TouchedElements touched_elements(const Buffer& buffer,
                                               std::span<const LoopAccess> accesses,
                                               std::size_t depth);

// How often the access happens while loops[depth] and those inside run; a box: times its elements.
[[nodiscard]] double access_count(const LoopAccess& access, std::size_t depth);
// Elements in memory between what two neighbouring iterations of loops[depth] access; 0: the same.
[[nodiscard]] double access_stride(const Buffer& buffer, const LoopAccess& access,
                                   std::size_t depth);

}  // namespace tilecast::schedule
