// What training minimises. All differentiable in `predicted`; means over rows or pairs.
#pragma once

#include <torch/torch.h>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// predicted, target: (G). `kernel`: (G) int64, used by the rank losses: Kaufman et al., MLSys 2021,
// equation 1, over the ordered pairs of one kernel; `weights`: (G) or undefined.
[[nodiscard]] torch::Tensor loss(NetworkLoss kind, const torch::Tensor& predicted,
                                 const torch::Tensor& target, const torch::Tensor& kernel,
                                 const torch::Tensor& weights);

}  // namespace tilecast::learned::torch_module
