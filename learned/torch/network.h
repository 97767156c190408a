// The network of learned/graph_network.h as a torch module.
//
//   Network network(spec, widths, seed);
//   torch::Tensor y = network.forward(make_batch(inputs, widths));      // (G)
//
// All randomness (initial weights, dropout) comes from generators seeded by arguments, never from
// LibTorch's global one, so that several networks can train at once.
#pragma once

#include "learned/torch/batch.h"

namespace tilecast::learned::torch_module {

class Network : public torch::nn::Module {
 public:
  Network(const NetworkSpec& spec, const NetworkWidths& widths, std::uint64_t seed);
  // (G): one number per kernel. `dropout`: null in prediction.
  [[nodiscard]] torch::Tensor forward(const Batch& batch, torch::Generator* dropout = nullptr);

 private:
  struct Layers;
  NetworkSpec spec_;
  NetworkWidths widths_;
  std::shared_ptr<Layers> layers_;
};

// learned/graph_network.h, GraphNetwork::save(). load_weights throws Error.
[[nodiscard]] std::string save_weights(const Network& network);
void load_weights(Network& network, std::string_view weights);

}  // namespace tilecast::learned::torch_module
