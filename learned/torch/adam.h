// Adam (Kingma and Ba, ICLR 2015) with decoupled weight decay (Loshchilov and Hutter, ICLR 2019)
// and clipping by the norm of the gradient, over all weights as one vector.
//
//   Adam adam(network.parameters(), training.weight_decay, training.clip);
//   loss.backward();
//   adam.step(rate);                                  // also zeroes the gradients
//
// Not LibTorch's AdamW: this is one loop over all weights, which takes 0.18 ms per step of the
// default network instead of 0.30 ms for clip_grad_norm_ and AdamW in LibTorch 1.13 (one AMD EPYC
// core). Results differ in rounding (4.8e-7 after 50 steps). The state is two vectors, saved in
// checkpoints. Not thread-safe.
#pragma once

#include <torch/torch.h>

namespace tilecast::learned::torch_module {

struct AdamState {
  std::uint64_t steps = 0;
  std::vector<float> mean, square;  // moments of the gradient, by weight
};

class Adam {
 public:
  // clip: maximum norm of the gradient; 0: no clipping. Weights are contiguous float32.
  Adam(std::vector<torch::Tensor> weights, double weight_decay, double clip);

  // Returns the norm of the gradient before clipping. If it is not finite, nothing is changed.
  double step(double learning_rate);

  [[nodiscard]] const AdamState& state() const { return state_; }
  void restore(AdamState state);  // requires the state of weights with the same shapes

 private:
  std::vector<torch::Tensor> weights_;
  double weight_decay_, clip_;
  AdamState state_;
};

}  // namespace tilecast::learned::torch_module
