#include "learned/torch/network.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "learned/torch/layers.h"
#include "learned/torch/sampler.h"
#include "learned/torch/sequences.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

const NetworkSpec& checked(const NetworkSpec& spec) {
  if (!heads_divide(spec)) {
    throw Error(
        fmt::format("network: heads: got {} and {}, expected divisors of hidden, which is {}",
                    spec.heads, reduction_heads_of(spec), spec.hidden));
  }
  if (spec.reduction == Reduction::kColumnWise && !spec.pool_mean && !spec.pool_max &&
      !spec.pool_sum) {
    throw Error(
        "network: reduction: got column_wise without a pool, expected at least one of pool_mean, "
        "pool_max and pool_sum");
  }
  return spec;
}

std::vector<Dense> dense_layers(Weights& weights, const std::string& name, int count,
                                std::int64_t width) {
  std::vector<Dense> layers;
  for (int i = 0; i < count; ++i) {
    layers.emplace_back(weights, name + std::to_string(i), width, width);
  }
  return layers;
}

// Of each opcode, with the variance of a uniform value in [0, 1): that of scaled features.
Tensor opcode_table(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths) {
  const std::int64_t rows = widths.opcodes, columns = spec.opcode_width;
  const double gain = std::sqrt(static_cast<double>(rows + columns) / 24);
  return weights.matrix("opcodes", rows, columns, gain);
}

}  // namespace

struct Network::Layers {
  Layers(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths);

  Tensor opcodes;
  Dense f1;
  std::vector<Dense> module;
  std::vector<Hop> hops;
  std::vector<SequenceLayer> sequence;  // in place of hops
  std::vector<Dense> final;
  Pool pool;
  Dense hidden, out;  // hidden: with features at the kernel
  std::vector<Dense> head;
};

Network::Layers::Layers(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths)
    : opcodes(opcode_table(weights, spec, widths)),
      f1(weights, "f1",
         spec.opcode_width +
             static_cast<std::int64_t>(widths.node + widths.at_nodes + widths.configured),
         spec.hidden),
      module(dense_layers(weights, "module", spec.module_layers, spec.hidden)),
      hops([&] {
        std::vector<Hop> made;
        for (int i = 0; i < spec.hops && spec.graph != GraphLayer::kConv1d; ++i) {
          made.emplace_back(weights, "hop" + std::to_string(i), spec);
        }
        return made;
      }()),
      sequence([&] {
        std::vector<SequenceLayer> made;
        for (int i = 0; i < spec.hops && spec.graph == GraphLayer::kConv1d; ++i) {
          made.emplace_back(weights, "conv" + std::to_string(i), spec);
        }
        return made;
      }()),
      final(dense_layers(weights, "final", spec.final_layers, spec.hidden)),
      pool(weights, spec,
           widths.at_kernel > 0 || spec.head_layers > 0
               ? 1
               : static_cast<std::int64_t>(widths.outputs)) {
  const auto outputs = static_cast<std::int64_t>(widths.outputs);
  const auto at_kernel = static_cast<std::int64_t>(widths.at_kernel);
  if (at_kernel > 0) hidden = Dense(weights, "hidden", pool.width() + at_kernel, spec.hidden);
  for (int i = 0; i < spec.head_layers; ++i) {
    const bool first = i == 0 && at_kernel == 0;
    head.emplace_back(weights, "head" + std::to_string(i), first ? pool.width() : spec.hidden,
                      spec.hidden);
  }
  // Per-node scalars are summed as they are: the sum is the prediction.
  if (at_kernel > 0 || !head.empty()) {
    out = Dense(weights, "out", spec.hidden, outputs);
  } else if (spec.reduction != Reduction::kPerNode) {
    out = Dense(weights, "out", pool.width(), outputs);
  }
}

Network::Network(const NetworkSpec& spec, const NetworkWidths& widths, std::uint64_t seed)
    : spec_(checked(spec)), widths_(widths) {
  Weights weights(*this, seed, spec_.biases);
  layers_ = std::make_shared<Layers>(weights, spec_, widths_);
}

Tensor Network::forward(const Batch& batch, torch::Generator* generator) {
  const Layers& layers = *layers_;
  const auto dtype = layers.opcodes.scalar_type();
  if (batch.lengths.empty()) return torch::empty({0}, dtype);
  const Dropout dropout{spec_.dropout, generator};

  Tensor nodes = torch::embedding(layers.opcodes, batch.opcodes);
  if (batch.features.size(1) > 0) nodes = torch::cat({nodes, batch.features.to(dtype)}, 1);
  nodes = dropout(layers.f1(nodes).relu());
  for (const Dense& layer : layers.module) nodes = dropout(layer(nodes).relu());
  if (!layers.hops.empty()) {
    Neighbours neighbours;
    if (spec_.graph != GraphLayer::kNone) {
      const std::int64_t count = nodes.size(0);
      neighbours.in = make_segments(batch.producers, batch.consumers, count, spec_.neighbours);
      neighbours.out = make_segments(batch.consumers, batch.producers, count, spec_.neighbours);
      neighbours.both = join(neighbours.in, neighbours.out);
    }
    for (const Hop& hop : layers.hops) nodes = dropout(hop(nodes, neighbours));
  }

  for (const SequenceLayer& layer : layers.sequence) nodes = dropout(layer(nodes, batch.lengths));
  for (const Dense& layer : layers.final) nodes = dropout(layer(nodes).relu());
  if (spec_.positions) nodes = nodes + place_code(batch.place, spec_.hidden, dtype);

  Tensor kernels = layers.pool(nodes, batch, dropout);
  if (widths_.at_kernel > 0) {
    const Tensor joined = torch::cat({kernels, batch.at_kernel.to(dtype)}, 1);
    kernels = dropout(layers.hidden(joined).relu());
  }
  for (const Dense& layer : layers.head) kernels = dropout(layer(kernels).relu());
  const Tensor out = layers.out.weight.defined() ? layers.out(kernels) : kernels;
  return widths_.outputs == 1 ? out.squeeze(1) : out;
}

// Windows of a convolution stay in a core's cache, and their memory with the process: twice as
// fast as kBatchNodes on an AMD EPYC.
std::size_t Network::nodes_together() const {
  constexpr std::size_t kSequenceNodes = 2048;
  return spec_.graph == GraphLayer::kConv1d ? kSequenceNodes : kBatchNodes;
}

bool Network::is_head(std::string_view parameter) const {
  return parameter.starts_with(layers_->out.weight.defined() ? "out_" : "node_scalar_");
}

std::string Network::architecture() const {
  std::string text;
  for (const Parameter<NetworkSpec>& parameter : network_parameters().parameters()) {
    if (parameter.name == "dropout") continue;
    text += fmt::format("{}={}\n", parameter.name, parameter.get(spec_));
  }
  if (widths_.outputs > 1) text += fmt::format("outputs={}\n", widths_.outputs);
  return text + fmt::format("opcodes={}\nnode={}\nat_nodes={}\nat_kernel={}\nconfigured={}\n",
                            widths_.opcodes, widths_.node, widths_.at_nodes, widths_.at_kernel,
                            widths_.configured);
}

}  // namespace tilecast::learned::torch_module
