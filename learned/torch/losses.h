// Training losses. All are differentiable in `predicted`.
//
//   log_time       squared difference
//   huber          x^2 / 2 if the difference x is within 1 (one standard deviation of the
//                  targets, which are standardised), |x| - 1/2 beyond (Huber 1964)
//   quantile       with x = target - predicted: x q above 0, x (q - 1) below (pinball loss; Koenker
//                  and Bassett, 1978), minimal at the quantile q of the targets
//   rank_hinge     max(0, 1 - z) and
//   rank_logistic  log(1 + exp(-z)) of z = predicted[i] - predicted[j], over the pairs of one
//                  kernel with target[i] > target[j], however close (Kaufman et al., MLSys 2021,
//                  equation 1, whose other pairs are 0)
//   rank_all_pairs max(0, d - z)^2 / 2 over the same pairs, with the measured difference
//                  d = target[i] - target[j]
//
// A rank loss is weighted by TrainingSpec::rank_weight, the squared difference by the rest to 1.
// Losses are means over rows, or over pairs. With weights, the mean over rows of weight x loss, or
// the mean over kernels with a pair of weight x mean over its pairs, where a kernel's weight is the
// mean of its rows'. Weights that average 1 over the data set preserve the scale of the loss.
// Without a pair a rank loss is 0.
#pragma once

#include <torch/torch.h>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// predicted, target: (G), any floating type. kernel: (G) int64, used by rank losses only; a
// kernel's rows need not be adjacent. weights: (G) or undefined. Uses the loss, its weight and
// quantile of `training`. Thread-safe.
[[nodiscard]] torch::Tensor loss(const TrainingSpec& training, const torch::Tensor& predicted,
                                 const torch::Tensor& target, const torch::Tensor& kernel,
                                 const torch::Tensor& weights);

}  // namespace tilecast::learned::torch_module
