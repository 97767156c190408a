// What training minimises. All are differentiable in `predicted`.
//
//   log_time       squared difference
//   huber          x^2 / 2 where the difference x is within 1 (one standard deviation of the
//                  targets, which are standardised), |x| - 1/2 beyond (Huber 1964)
//   quantile       with x = target - predicted: x q above 0, x (q - 1) below (pinball loss; Koenker
//                  and Bassett, 1978), whose least is at the quantile q of the targets
//   rank_hinge     max(0, 1 - z) and
//   rank_logistic  log(1 + exp(-z)) of z = predicted[i] - predicted[j], over the pairs of one
//                  kernel with target[i] > target[j], however close (Kaufman et al., MLSys 2021,
//                  equation 1, whose other pairs are 0)
//   rank_all_pairs max(0, d - z)^2 / 2 over the same pairs, d = target[i] - target[j]: slower by as
//                  much as was measured
//
// A rank loss counts TrainingSpec::rank_weight, the squared difference the rest.
// Means: over rows; over pairs. With weights: mean over rows of weight x loss; mean over kernels
// that have a pair of weight x mean over its pairs, a kernel's weight being its rows' mean. Weights
// that average 1 over the data set keep the scale of the loss. Without a pair a rank loss is 0.
#pragma once

#include <torch/torch.h>

#include "learned/graph_network.h"

namespace tilecast::learned::torch_module {

// predicted, target: (G), any floating type. kernel: (G) int64, read by the rank losses only; rows
// of a kernel may stand anywhere. weights: (G) or undefined. Of `training` the loss, its weight and
// quantile. Thread-safe.
[[nodiscard]] torch::Tensor loss(const TrainingSpec& training, const torch::Tensor& predicted,
                                 const torch::Tensor& target, const torch::Tensor& kernel,
                                 const torch::Tensor& weights);

// Of several numbers per kernel, (G, K): mean squared difference over those of the target that are
// known, not NaN.
[[nodiscard]] torch::Tensor task_loss(const torch::Tensor& predicted, const torch::Tensor& target);

}  // namespace tilecast::learned::torch_module
