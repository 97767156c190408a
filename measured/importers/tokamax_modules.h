// Ops of Tokamax's autotuning cache as modules of the kernels that XLA runs for them.
//
// A gated linear unit on a TPU: the product is f32 in memory between its kernel and that of the
// gate. Its two halves [..., 2, n] become [..., 2n] in a kernel of their own, which also narrows
// them to the type of x; it is not there where the first of four extents is 1. Read off 246 rows of
// a TPU v5p: traffic at 92 % of its HBM bandwidth explains those of at least 300 us to 3 %. On a
// GPU the product has the type of x, and is not copied; f32 operands are narrowed first.
// A normalisation on a TPU stands as its ops: the fusion pass ends a kernel at each reduction.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::measured {

struct TokamaxModule {
  std::string hlo;       // or empty
  std::string left_out;  // why it is empty
};

// `key`: the arguments of the op, as JSON. `tiled`: for a TPU, which stores arrays in tiles; else
// for a GPU. Throws Error for a key that is damaged.
[[nodiscard]] TokamaxModule tokamax_module(std::string_view op, std::string_view key, bool tiled);

}  // namespace tilecast::measured
