// Node embeddings -> one embedding per kernel (Kaufman et al., MLSys 2021, section 3.2).
//
//   per_node     one scalar per node, summed: width 1
//   column_wise  mean, maximum and sum over nodes, those chosen, concatenated in this order
//   lstm         the final state over the nodes in topological order
//   transformer  an encoder over the kernel's nodes (Vaswani et al., NeurIPS 2017; normalised
//                after each sub-layer, without positions: the graph layers carry the order), then
//                the sum over nodes
// Sums of vectors grow with the kernel, times in logarithms do not: they are passed on as
// sign(x) log(1 + |x|), which keeps the network of large kernels in range.
#pragma once

#include <vector>

#include "learned/torch/batch.h"
#include "learned/torch/layers.h"

namespace tilecast::learned::torch_module {

class Pool {
 public:
  Pool(Weights& weights, const NetworkSpec& spec);
  // (N, hidden) -> (G, width())
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& nodes, const Batch& batch,
                                         const Dropout& dropout) const;
  [[nodiscard]] std::int64_t width() const;

 private:
  struct Encoder {
    Dense query, key, value, out, widen, narrow;
    torch::Tensor scale_1, shift_1, scale_2, shift_2;  // of the two normalisations
  };

  [[nodiscard]] torch::Tensor columns(const torch::Tensor& nodes, const Segments& kernels) const;
  [[nodiscard]] torch::Tensor last_state(const torch::Tensor& nodes, const Batch& batch) const;
  [[nodiscard]] torch::Tensor encode(const torch::Tensor& nodes, const Batch& batch,
                                     const Dropout& dropout) const;
  [[nodiscard]] torch::Tensor attend(const Encoder& layer, const torch::Tensor& padded,
                                     const torch::Tensor& absent) const;

  NetworkSpec spec_;
  Dense scalar_;                      // per_node
  std::vector<torch::Tensor> gates_;  // lstm: as torch::lstm takes them
  std::vector<Encoder> encoders_;     // transformer
};

}  // namespace tilecast::learned::torch_module
