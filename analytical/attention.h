// Time of fused attention (ir/attention.h) on machines with a matrix unit, as FlashAttention
// schedules it: Dao et al., arXiv:2205.14135; Dao, arXiv:2307.08691; Shah et al., arXiv:2407.08608.
//
// A block holds some queries of a head and walks over tiles of the keys that they see. A tile is
// two products on the matrix unit and a softmax between them: an exponential a score on the unit
// for special functions, and on the lanes scale, maximum, difference and sum of each score, its
// narrowing, and the rescaling of the block's results. The softmax of one half of a block runs
// beside the products of the other, so a tile takes the 2-norm of both times. The papers above
// publish their fastest kernels: 230 TFLOP/s on an A100 (73 % of its peak), 740 on an H100 (75 %).
// A block of one half waits for each in turn.
//
// Queries of a few rows: the heads that share keys fill the rows of a block, and the keys are split
// over idle workers, whose parts a second kernel adds (flash decoding).
// Backward: blocks of keys walk over queries; five products, whose operands pass through the
// worker's own memory; a kernel before (sums of result times gradient) and one after (gradients of
// queries, summed in f32).
// Cores with a scratchpad run one block at a time, of up to 1024 x 512 scores a step (the splash
// kernels of JAX); products fill whole arrays.
#pragma once

#include <optional>

#include "analytical/accounting.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// How a kernel that is fused attention runs; nullopt for other kernels and on machines with caches.
// Keeps a reference to the device, whose calibration must be applied already.
[[nodiscard]] std::optional<Algorithm> attention(const ir::Kernel& kernel,
                                                 const hwdesc::Device& device);

}  // namespace tilecast::analytical
