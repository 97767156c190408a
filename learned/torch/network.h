// The network of learned/graph_network.h as a torch module.
//
//   Network network(spec, widths, seed);
//   torch::Tensor y = network.forward(make_batch(inputs, widths));      // (G)
//
// Nodes: opcode embedding and features -> f1 (relu) -> module layers (relu) -> hops (layers.h) or
// convolutions (sequences.h) -> final layers (relu) -> reduction (layers.h) -> head layers (relu)
// -> a linear layer to one number. Features at the kernel (option 2) join its embedding; then there
// is one hidden layer (relu) before the head, so that they can interact. kNone has as many
// feed-forward layers after f1 as others have hops; no hops: f1 only.
//
// All randomness (initial weights, dropout) comes from generators seeded by arguments, never from
// LibTorch's global one, so that several networks can train at once. forward() changes nothing:
// with gradients off it is thread-safe. to(torch::kDouble) gives a network in double precision.
#pragma once

#include "learned/torch/batch.h"

namespace tilecast::learned::torch_module {

class Network : public torch::nn::Module {
 public:
  // Throws Error when the spec contradicts itself: heads that do not divide hidden, no pool.
  Network(const NetworkSpec& spec, const NetworkWidths& widths, std::uint64_t seed);
  // (G): one number per kernel; (G, outputs) where there are several. `dropout`: null in
  // prediction.
  [[nodiscard]] torch::Tensor forward(const Batch& batch, torch::Generator* dropout = nullptr);
  // Everything that gives the weights their meaning, as text: settings but dropout, widths.
  [[nodiscard]] std::string architecture() const;
  // Of a batch that predicts fastest.
  [[nodiscard]] std::size_t nodes_together() const;
  // Whether the parameter is of the last layer, the only one that knows what is asked.
  [[nodiscard]] bool is_head(std::string_view parameter) const;

 private:
  struct Layers;
  NetworkSpec spec_;
  NetworkWidths widths_;
  std::shared_ptr<Layers> layers_;
};

// learned/graph_network.h, GraphNetwork::save(). load_weights throws Error and leaves the network
// as it was.
[[nodiscard]] std::string save_weights(const Network& network);
void load_weights(Network& network, std::string_view weights);

}  // namespace tilecast::learned::torch_module
