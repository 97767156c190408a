// What it costs that the threads of a GPU combine numbers at addresses that others may hit.
#pragma once

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// Seconds in which the shared cache carries out the updates of the kernel's scatters, each for
// itself (XLA:GPU's own code); 0 if none of them combines, or without a shared cache.
//
// The cache's slices combine words of 32 and 64 bits. An update of another kind reads the word,
// combines, and swaps it if nobody else did in between: four words cross the cache instead of one
// (read; compared, new and old value). Rows are taken as chosen at random, all alike: the fullest
// of R rows that get m updates on average gets about m + sqrt(2 m ln R) of them (Raab and Steger,
// "Balls into bins", RANDOM 1998). Updates of one word follow each other, in the slice by a clock,
// through threads by a round trip to the cache. Rows that are hit more often than that (a few
// frequent words of a text) take longer.
[[nodiscard]] double atomic_updates_s(const ir::Kernel& kernel, const hwdesc::Device& device);

}  // namespace tilecast::analytical
