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

#include <optional>

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

}  // namespace tilecast::learned::torch_module
