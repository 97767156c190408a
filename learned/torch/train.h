// Trains a network: draws batches (sampler.h), steps Adam (adam.h), keeps the best epoch.
//
//   auto network = train_network(spec, widths, training, train, validation, hooks);
//   predict_network(*network, widths, inputs, out);
//
// An epoch's learning rate is learning_rate x decay^(epoch - 1), reduced further on plateaus of the
// validation error (TrainingSpec::plateau). Generators depend only on the seed and the epoch, so a
// training resumed from a checkpoint (checkpoint.h) gives bit-identical results. Its earlier epochs
// are reported again, and the hook's result for the last of them is used. Several trainings may run
// concurrently.
#pragma once

#include <torch/torch.h>

#include <optional>

#include "learned/graph_network.h"
#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

// As GraphModule::train. Throws Error
//   if there is no example, or nothing to rank;
//   if a loss or a gradient is not finite, naming epoch and learning rate;
//   if the checkpoint cannot be read or written, is corrupted or of another training.
[[nodiscard]] std::unique_ptr<Network> train_network(const NetworkSpec& spec,
                                                     const NetworkWidths& widths,
                                                     const TrainingSpec& training,
                                                     std::span<const GraphExample> train,
                                                     std::span<const GraphExample> validation,
                                                     const TrainingHooks& hooks);

// Predicts `inputs` in buckets of similar size; results are in the order given. Thread-safe.
void predict_network(Network& network, const NetworkWidths& widths,
                     std::span<const GraphInput> inputs, std::span<float> out);

// The error that early stopping minimises: RMSE; the pinball loss for kQuantile; Huber's loss for
// kHuber. When ranking: 1 - the share of pairs of one kernel with different targets that are
// predicted in order (ties count half), mixed with RMSE by TrainingSpec::rank_weight.
// weigh_kernels: averages over kernels. nullopt if there are no rows or, for pure ranking, no
// pairs; then the last epoch is kept.
[[nodiscard]] std::optional<double> validation_error(const TrainingSpec& training,
                                                     std::span<const GraphExample> examples,
                                                     std::span<const float> predicted);

// Sets the threads inside one operation of LibTorch and OpenBLAS, for the whole process.
void set_threads(int threads);
// "OpenBLAS", or "reference BLAS: slow, install libopenblas0-pthread".
[[nodiscard]] std::string blas_name();

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

// predicted, target: (G), any floating type. kernel: (G) int64, used by rank losses only; a
// kernel's rows need not be adjacent. weights: (G) or undefined. Uses the loss, its weight and
// quantile of `training`. Thread-safe.
[[nodiscard]] torch::Tensor loss(const TrainingSpec& training, const torch::Tensor& predicted,
                                 const torch::Tensor& target, const torch::Tensor& kernel,
                                 const torch::Tensor& weights);

}  // namespace tilecast::learned::torch_module
