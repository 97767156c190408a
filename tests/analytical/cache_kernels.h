// Kernels in plain row-major layout and a core of round numbers for the tests of the cache model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical::testing {

struct ConvolutionSizes {
  std::int64_t batch = 1, side = 1;  // side of the square result
  std::int64_t input_features = 1, features = 1, groups = 1;
};
// A 3 x 3 window without padding, f32, features innermost.
[[nodiscard]] ir::Kernel convolution_kernel(const ConvolutionSizes& sizes);
// out[b] = lhs[b] x rhs[b], f32, row-major.
[[nodiscard]] ir::Kernel batched_product_kernel(std::int64_t batch, std::int64_t rows,
                                                std::int64_t columns, std::int64_t depth);
// Sums of the rows (dimension 1) or columns (dimension 0) of f32[rows, columns].
[[nodiscard]] ir::Kernel sum_kernel(std::int64_t rows, std::int64_t columns, int dimension);
[[nodiscard]] ir::Kernel transpose_kernel(std::int64_t rows, std::int64_t columns);
[[nodiscard]] ir::Kernel exponential_kernel(std::int64_t rows, std::int64_t columns);
// One kernel of each kind of work and shape, with its name.
[[nodiscard]] std::vector<std::pair<std::string, ir::Kernel>> cache_kernels();

// One core, 1 GHz; 10 GB/s from memory, 100 GB/s from 2 MiB of L2, 256 KiB of L1 at 1 TB/s; no
// latency, set-up or cost of runs; lines of 64 B; two pipes of 8 f32 lanes with a latency of 4
// cycles; all other units and ports are practically infinitely fast.
[[nodiscard]] hwdesc::Device core_device();

}  // namespace tilecast::analytical::testing
