// Layers over a kernel's nodes as a sequence, in the order of Batch. Kernels are concatenated
// without padding.
//
// Source of the convolutions: Das and Mannarswamy ("ML-driven Hardware Cost Model for MLIR"),
// section 3; of two filter widths in one layer: Kim, EMNLP 2014; of the positional encoding:
// Vaswani et al., NeurIPS 2017, section 3.5.
#pragma once

#include "learned/torch/layers.h"

namespace tilecast::learned::torch_module {

// Row i of the result is the concatenation of rows i, i + 1, ... i + filter - 1 of `rows`, with
// zeros beyond the end of the kernel. rows: (N, W) -> (N, filter x W). Differentiable once.
// `lengths`: by kernel.
[[nodiscard]] torch::Tensor windows_of(const torch::Tensor& rows,
                                       const std::vector<std::int64_t>& lengths,
                                       std::int64_t filter);

// x -> relu(conv(x)), of the same length as x: each row depends on itself and the next filter - 1
// rows. With a wide filter, the second half of the columns uses that one.
class SequenceLayer {
 public:
  SequenceLayer(Weights& weights, const std::string& name, const NetworkSpec& spec);
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& rows,
                                         const std::vector<std::int64_t>& lengths) const;

 private:
  std::int64_t filter_, wide_filter_;
  Dense narrow_, wide_;  // wide_: only with a wide filter
};

// (N, width): sin and cos of place / 10000^(2 i / width), sines first. place: (N) int64.
[[nodiscard]] torch::Tensor place_code(const torch::Tensor& place, std::int64_t width,
                                       torch::Dtype dtype);

}  // namespace tilecast::learned::torch_module
