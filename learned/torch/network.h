// The network of learned/graph_network.h as a torch module.
//
//   Network network(spec, widths, seed);
//   torch::Tensor y = network.forward(make_batch(inputs, widths));      // (G)
//
// Nodes: opcode embedding and features -> f1 (relu) -> module layers (relu) -> hops (layers.h) or
// convolutions (sequences.h) -> final layers (relu) -> reduction (layers.h) -> head layers (relu)
// -> a linear layer to one number. Features at the kernel (option 2) are concatenated with its
// embedding; then there is at least one head layer, so that they can interact. `encoder: no` omits
// f1; `reduction: none` omits everything about nodes. kNone has as many feed-forward layers after
// f1 as others have hops; without hops only f1.
//
// All randomness (initial weights, dropout) comes from generators seeded by arguments, never from
// LibTorch's global one, so that several networks can train concurrently. forward() does not modify
// the network; with gradients off it is thread-safe. to(torch::kDouble) gives a network in double
// precision.
#pragma once

#include "learned/torch/batch.h"

namespace tilecast::learned::torch_module {

class Network : public torch::nn::Module {
 public:
  // Throws Error if the spec is contradictory: heads that do not divide hidden, no pool.
  Network(const NetworkSpec& spec, const NetworkWidths& widths, std::uint64_t seed);
  // (G): one number per kernel. `dropout`: nullptr for prediction.
  [[nodiscard]] torch::Tensor forward(const Batch& batch, torch::Generator* dropout = nullptr);
  // The architecture as text: all settings of prediction, and the widths.
  [[nodiscard]] std::string architecture() const;
  // Nodes per batch at which prediction is fastest.
  [[nodiscard]] std::size_t nodes_together() const;

 private:
  struct Layers;
  NetworkSpec spec_;
  NetworkWidths widths_;
  std::shared_ptr<Layers> layers_;
};

// The format of GraphNetwork::save() (learned/graph_network.h). On Error load_weights() leaves the
// network unchanged.
[[nodiscard]] std::string save_weights(const Network& network);
void load_weights(Network& network, std::string_view weights);

}  // namespace tilecast::learned::torch_module
