// Finds the instructions of the kernels that CUDA graphs launched. Such a kernel names only the
// instruction that launched the graph, so it is joined
//   - by its own name: XLA names a kernel after the first of the instructions that share its
//     computation, so their launches are one row, that of the instruction named;
//   - library kernels (cuBLAS, cuDNN ...) and copies in the order of the schedule: the kernels of a
//     graph and the kernels of the computation that it was recorded from are aligned, so that most
//     of them correspond in order (global alignment, Needleman and Wunsch 1970). Equal instructions
//     are one row here, too; several library kernels may be one call.
// Thread-safe.
#pragma once

#include <map>
#include <string>

#include "ir/program.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {

// By name. The median of a row is the mean of the medians of its kernels.
struct GraphTimes {
  std::map<std::string, XplaneTimes> kernels;    // of the program
  std::map<std::string, XplaneTimes> transfers;  // "memset", "memcpy" of no instruction
  std::map<std::string, XplaneTimes> unknown;    // the others, by their own names
};

// `kernel_of`: the kernel of the program that an instruction belongs to (empty: none).
[[nodiscard]] GraphTimes times_of_graphs(
    const XplaneModule& profiled, const ir::Program& program,
    const std::map<std::string, std::string, std::less<>>& kernel_of);

// Adds occurrences to those of `all`.
void add_times(const XplaneTimes& more, XplaneTimes& all);

}  // namespace tilecast::measured
