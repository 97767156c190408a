// Trains a network: draws batches, steps Adam (Kingma and Ba, ICLR 2015), keeps the best epoch.
#pragma once

#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

// As GraphModule::train.
[[nodiscard]] std::unique_ptr<Network> train_network(const NetworkSpec& spec,
                                                     const NetworkWidths& widths,
                                                     const TrainingSpec& training,
                                                     std::span<const GraphExample> train,
                                                     std::span<const GraphExample> validation,
                                                     const TrainingHooks& hooks);

// Predictions of `inputs` in buckets of similar size, in the order given.
void predict_network(Network& network, const NetworkWidths& widths,
                     std::span<const GraphInput> inputs, std::span<float> out);

}  // namespace tilecast::learned::torch_module
