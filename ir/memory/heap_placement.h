// How much higher a compiler's heap grows than the arrays that are live at once.
//
//   heap_gaps({{.bytes = 8, .held = {{0, 3}}}, ...})   // bytes lost between arrays
//
// The largest array first, each gets the smallest gap that is free all the time that it is live, or
// lies above all that is there then. Source: XLA's GlobalDecreasingSizeBestFitHeap (openxla/xla,
// public source). Its alignment is left out.
#pragma once

#include <cstdint>
#include <vector>

namespace tilecast::ir {

struct HeapBlock {
  struct Span {
    std::uint32_t first = 0, last = 0;  // positions of a schedule, both included
  };
  double bytes = 0;        // > 0
  std::vector<Span> held;  // when arrays lie there, one after the other; not empty
};

// The heap's height less the most that is held at once, in bytes; >= 0. Of more than 8192 blocks
// the largest count. Quadratic time. Pure; thread-safe.
[[nodiscard]] double heap_gaps(std::vector<HeapBlock> blocks);

}  // namespace tilecast::ir
