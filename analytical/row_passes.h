// Work on whole rows that takes passes over main memory and fits no tile: sorts and selections of
// rows longer than a worker's memory, scans of more than 128 elements.
//
// GPUs: a radix sort, least significant digit first, 8 bits per pass; keys are read once beforehand
// to count digits, keys and values are read and written once per pass (CUB's onesweep: Adinarayan
// and Merrill 2022, arXiv:2206.01784, whose 29.4 G keys/s of 32 bits on an A100 are 0.68 of a
// copy). XLA:GPU calls it for rows with at most one value beside the key; other rows use a bitonic
// network whose steps across blocks are launches.
// Cores with a scratchpad: a bitonic network over chunks that fill half of it; every doubling
// beyond a chunk is one pass that combines distant keys and one within chunks. A selection of at
// most 16 keys reads the row once.
#pragma once

#include <optional>
#include <string>

#include "analytical/memory_passes.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct RowPasses {
  MemoryPasses passes;
  std::string algorithm;  // "radix sort, 4 passes over memory"
};

// nullopt if the kernel does no such work, and on machines with caches.
[[nodiscard]] std::optional<RowPasses> row_passes(const ir::Kernel& kernel,
                                                  const hwdesc::Device& device);

}  // namespace tilecast::analytical
