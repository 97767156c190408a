// Decides in which cache of a processor the arrays of a program are found, for machines whose
// caches keep what earlier kernels touched.
//
//   add.1 -> f32[256,1024]   1 MiB, read next after 3 MiB: in a cache of 32 MiB
//
// An array is found in the smallest cache that holds all that was touched since its last use (stack
// distance; Mattson et al., IBM Systems Journal 9(2) 1970), counted in whole arrays; what only
// slices or updates touch counts with those, and is as far away as the whole array is large. Every
// computation is taken to run again and again: the first use in a run comes after the last of the
// run before. Of several readers the one furthest away counts. Thread-safe.
#pragma once

#include <span>

#include "ir/hlo.h"

namespace tilecast::ir {

// Sets Layout::cache of arrays found in a cache. `capacities`: bytes of each cache, the largest
// first; 0: none. Returns how many arrays that are. The module's arrays must carry layouts.
std::size_t find_in_caches(Module& module, std::span<const double> capacities);

}  // namespace tilecast::ir
