// Kernels and a machine of round numbers for the tests of the thread-block model.
#pragma once

#include <string>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical::testing {

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

}  // namespace tilecast::analytical::testing
