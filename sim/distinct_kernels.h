// The kernels of a program that may take different times: programs repeat layers, so a cost model
// is asked about each of these once.
#pragma once

#include <cstddef>
#include <vector>

#include "hwdesc/device.h"
#include "ir/program.h"

namespace tilecast::sim {

struct DistinctKernels {
  std::vector<const ir::Kernel*> kernels;  // the first of each kind; of the program
  std::vector<std::size_t> which;          // by kernel of the program, into `kernels`
};

// Equal kernels have one fingerprint and, on a slice, whose links depend on where groups sit, the
// same groups. Pure.
[[nodiscard]] DistinctKernels distinct_kernels(const ir::Program& program,
                                               const hwdesc::Device& device);

}  // namespace tilecast::sim
