// Trains a network: draws batches (sampler.h), steps Adam (adam.h), keeps the best epoch.
//
//   auto network = train_network(spec, widths, training, train, validation, hooks);
//   predict_network(*network, widths, inputs, out);
//
// An epoch's learning rate is learning_rate x decay^(epoch - 1), lowered where validation stands
// still (TrainingSpec::plateau), which follows from the epochs before. Generators follow from the
// seed and the epoch, so that a training resumed from a checkpoint (checkpoint.h) gives the same
// bits as one that never stopped; the epochs before it are reported again, and the hook's answer to
// the last of them counts. Several trainings may run at once.
#pragma once

#include <optional>

#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

// As GraphModule::train. Throws Error
//   when there is no example, or nothing to rank;
//   when a loss or a gradient is not finite: it names epoch and learning rate;
//   when the checkpoint cannot be read or written, is corrupted or of another training.
[[nodiscard]] std::unique_ptr<Network> train_network(const NetworkSpec& spec,
                                                     const NetworkWidths& widths,
                                                     const TrainingSpec& training,
                                                     std::span<const GraphExample> train,
                                                     std::span<const GraphExample> validation,
                                                     const TrainingHooks& hooks);

// Predictions of `inputs` in buckets of similar size, in the order given. Thread-safe.
void predict_network(Network& network, const NetworkWidths& widths,
                     std::span<const GraphInput> inputs, std::span<float> out);

// What early stopping minimises: RMSE; of a quantile the pinball loss, of Huber's its own; when
// ranking, 1 - the share of pairs of different targets of one kernel that are predicted in order,
// ties half, with RMSE by TrainingSpec::rank_weight. weigh_kernels: of kernels' means. nullopt when
// there are no rows or, ranking alone, no pairs; the last epoch is kept then.
[[nodiscard]] std::optional<double> validation_error(const TrainingSpec& training,
                                                     std::span<const GraphExample> examples,
                                                     std::span<const float> predicted);

// Threads inside one operation, of LibTorch and of OpenBLAS, for the whole process.
void set_threads(int threads);
// "OpenBLAS", or "reference BLAS: slow, install libopenblas0-pthread".
[[nodiscard]] std::string blas_name();

}  // namespace tilecast::learned::torch_module
