// Small kernels and a machine of round numbers for the tests of this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical::testing {

// The only kernel of an HLO text; arrays without device layout get T(8,128) ones.
[[nodiscard]] ir::Kernel kernel_of(const std::string& hlo);

// The text of one fusion with parameters p0, p1 ... of these shapes; `body` holds the instructions
// of its computation besides the parameters, the last one marked ROOT, of shape `result`.
[[nodiscard]] std::string fusion(const std::vector<std::string>& parameters,
                                 const std::string& result, const std::string& body);

// "bf16[4,8]{1,0:T(8,128)}": row-major in device layout, so that no order is chosen by size.
[[nodiscard]] std::string array(const std::string& dtype, const std::vector<std::int64_t>& dims);

// 1 GHz; HBM 100 GB/s without latency, granule or set-up; 16 MiB VMEM; no iteration overhead;
// two 128 x 128 matrix units for bf16, vector unit of 8 x 128 x 2, wide transcendental and
// cross-lane units; two stages; every unit issues together.
[[nodiscard]] hwdesc::Device round_device();

// Kernels and a machine of round numbers for the tests of the thread-block model.

// out[rows, columns] = lhs[rows, depth] x rhs[depth, columns], row-major.
[[nodiscard]] ir::Kernel product_kernel(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                        ir::DType dtype = ir::DType::kF16);
// A chain of `ops` additions over f32[rows, columns].
[[nodiscard]] ir::Kernel chain_kernel(std::int64_t rows, std::int64_t columns, int ops);
// x - sum(x) over the columns of f32[rows, columns], `levels` times: every level depends on the
// previous reduction.
[[nodiscard]] ir::Kernel centred_kernel(std::int64_t rows, std::int64_t columns, int levels);

// 1 GHz; 4 workers of one 16 x 8 unit; 100 GB/s, 1 us; 64 KiB shared memory, no shared cache, no
// overheads, one resident block, two stages.
[[nodiscard]] hwdesc::Device block_device();

// Kernels in plain row-major layout and a core of round numbers for the tests of the cache model.

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
