// The kernels of a program that may differ in time. Programs repeat layers, so a cost model only
// estimates one kernel of each kind.
#pragma once

#include <cstddef>
#include <vector>

#include "hwdesc/device.h"
#include "ir/program.h"

namespace tilecast::sim {

struct DistinctKernels {
  std::vector<const ir::Kernel*> kernels;  // the first of each kind; point into the program
  std::vector<std::size_t> which;          // by kernel of the program, into `kernels`
};

// Kernels are of one kind if their fingerprints are equal and, on a slice (whose links depend on
// the placement of groups), their groups as well. Pure.
[[nodiscard]] DistinctKernels distinct_kernels(const ir::Program& program,
                                               const hwdesc::Device& device);

}  // namespace tilecast::sim
