#include "learned/torch/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "learned/torch/binary_file.h"
#include "learned/torch/layers.h"
#include "learned/torch/sampler.h"
#include "learned/torch/sequences.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

const NetworkSpec& checked(const NetworkSpec& spec) {
  const std::string wrong = contradiction(spec);
  if (!wrong.empty()) throw Error("network: " + wrong);
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

// An embedding per opcode, with the variance of uniform values in [0, 1), like scaled features.
Tensor opcode_table(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths) {
  const std::int64_t rows = widths.opcodes, columns = spec.opcode_width;
  const double gain = std::sqrt(static_cast<double>(rows + columns) / 24);
  return weights.matrix("opcodes", rows, columns, gain);
}

}  // namespace

struct Network::Layers {
  Layers(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths);
  [[nodiscard]] Tensor embed(const NetworkSpec& spec, const Batch& batch,
                             const Dropout& dropout) const;

  Tensor opcodes;
  Dense f1;
  std::vector<Dense> module;
  std::vector<Hop> hops;
  std::vector<SequenceLayer> sequence;  // instead of hops
  std::vector<Dense> final;
  std::optional<Pool> pool;
  std::vector<Dense> hidden;
  Dense out;
};

// Widths of the layers between a kernel and its number.
std::vector<std::int64_t> head_widths(const NetworkSpec& spec, const NetworkWidths& widths) {
  if (spec.head_layers == 0 && widths.at_kernel > 0) return {spec.hidden};
  std::vector<std::int64_t> found;
  for (int i = 0; i < spec.head_layers; ++i) {
    found.push_back(std::max<std::int64_t>(1, spec.head_width >> i));
  }
  return found;
}

Network::Layers::Layers(Weights& weights, const NetworkSpec& spec, const NetworkWidths& widths) {
  const auto at_kernel = static_cast<std::int64_t>(widths.at_kernel);
  const std::vector<std::int64_t> head = head_widths(spec, widths);
  if (spec.reduction != Reduction::kNone) {
    opcodes = opcode_table(weights, spec, widths);
    std::int64_t width =
        spec.opcode_width + static_cast<std::int64_t>(widths.node + widths.at_nodes);
    if (spec.encoder) f1 = Dense(weights, "f1", std::exchange(width, spec.hidden), spec.hidden);
    module = dense_layers(weights, "module", spec.module_layers, spec.hidden);
    for (int i = 0; i < spec.hops; ++i) {
      if (spec.graph == GraphLayer::kConv1d) {
        sequence.emplace_back(weights, "conv" + std::to_string(i), spec);
        continue;
      }
      hops.emplace_back(weights, "hop" + std::to_string(i), spec,
                        std::exchange(width, spec.hidden));
    }
    final = dense_layers(weights, "final", spec.final_layers, spec.hidden);
  }
  pool.emplace(weights, spec);
  std::int64_t width = pool->width() + at_kernel;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const std::string name = i == 0 ? "hidden" : "hidden" + std::to_string(i);
    hidden.emplace_back(weights, name, std::exchange(width, head[i]), head[i]);
  }
  // Per-node scalars are summed unchanged: the sum is the prediction.
  if (spec.reduction != Reduction::kPerNode || !head.empty()) {
    out = Dense(weights, "out", width, 1);
  }
}

// (N, hidden)
Tensor Network::Layers::embed(const NetworkSpec& spec, const Batch& batch,
                              const Dropout& dropout) const {
  const auto dtype = opcodes.scalar_type();
  Tensor nodes = torch::embedding(opcodes, batch.opcodes);
  if (batch.features.size(1) > 0) nodes = torch::cat({nodes, batch.features.to(dtype)}, 1);
  if (spec.encoder) nodes = dropout(f1(nodes).relu());
  for (const Dense& layer : module) nodes = dropout(layer(nodes).relu());
  if (!hops.empty()) {
    Neighbours neighbours;
    if (spec.graph != GraphLayer::kNone) {
      const std::int64_t count = nodes.size(0);
      const Tensor none = batch.producers.narrow(0, 0, 0);
      Tensor producers = batch.producers, consumers = batch.consumers;
      if (spec.sample_neighbours && dropout.generator != nullptr) {  // the first ones of any order
        const Tensor order = torch::randperm(producers.size(0), *dropout.generator, torch::kInt64);
        producers = producers.index_select(0, order);
        consumers = consumers.index_select(0, order);
      }
      neighbours.in = make_segments(producers, consumers, count, spec.neighbours);
      neighbours.out = spec.top_down ? make_segments(none, none, count)
                                     : make_segments(consumers, producers, count, spec.neighbours);
      neighbours.both = join(neighbours.in, neighbours.out);
    }
    for (const Hop& hop : hops) nodes = dropout(hop(nodes, neighbours));
  }
  for (const SequenceLayer& layer : sequence) nodes = dropout(layer(nodes, batch.lengths));
  for (const Dense& layer : final) nodes = dropout(layer(nodes).relu());
  return spec.positions ? nodes + place_code(batch.place, spec.hidden, dtype) : nodes;
}

Network::Network(const NetworkSpec& spec, const NetworkWidths& widths, std::uint64_t seed)
    : spec_(checked(spec)), widths_(widths) {
  if (spec.reduction == Reduction::kNone && widths.at_kernel == 0) {
    throw Error("network: reduction: none reads features at the kernel alone, and there are none");
  }
  Weights weights(*this, seed, spec_.biases);
  layers_ = std::make_shared<Layers>(weights, spec_, widths_);
}

Tensor Network::forward(const Batch& batch, torch::Generator* generator) {
  const Layers& layers = *layers_;
  const auto dtype = parameters().front().scalar_type();
  if (batch.lengths.empty()) return torch::empty({0}, dtype);
  const Dropout dropout{spec_.dropout, generator};

  Tensor kernels = batch.at_kernel.to(dtype);
  if (spec_.reduction != Reduction::kNone) {
    const Tensor pooled = (*layers.pool)(layers.embed(spec_, batch, dropout), batch, dropout);
    kernels = widths_.at_kernel > 0 ? torch::cat({pooled, kernels}, 1) : pooled;
  }
  for (const Dense& layer : layers.hidden) kernels = dropout(layer(kernels).relu());
  return (layers.out.weight.defined() ? layers.out(kernels) : kernels).squeeze(1);
}

// Convolutions: windows of this size stay in a core's cache and their memory is reused, which is
// twice as fast as kBatchNodes on an AMD EPYC.
std::size_t Network::nodes_together() const {
  constexpr std::size_t kSequenceNodes = 2048;
  return spec_.graph == GraphLayer::kConv1d ? kSequenceNodes : kBatchNodes;
}

std::string Network::architecture() const {
  std::string text;
  for (const Parameter<NetworkSpec>& parameter : network_parameters().parameters()) {
    if (parameter.name == "dropout" || parameter.name == "sample_neighbours") continue;
    text += fmt::format("{}={}\n", parameter.name, parameter.get(spec_));
  }
  // configured: always 0, kept so that files of older networks are read.
  return text + fmt::format("opcodes={}\nnode={}\nat_nodes={}\nat_kernel={}\nconfigured=0\n",
                            widths_.opcodes, widths_.node, widths_.at_nodes, widths_.at_kernel);
}

// The file of a network's weights (binary_file.h):
//
//   "tilecast.weights"  16 bytes
//   version             1
//   architecture        size, then Network::architecture()
//   tensors             count, then of each: size and text of the name, rank, shape, floats

namespace {

constexpr std::string_view kWeightsMagic = "tilecast.weights";
constexpr std::uint64_t kVersion = 1;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void require_architecture(const BinaryReader& reader, std::string_view got,
                          std::string_view expected) {
  while (!got.empty() || !expected.empty()) {
    const std::string_view ours = take_line(expected), theirs = take_line(got);
    if (ours == theirs) continue;
    reader.fail(fmt::format("of another network; got '{}', expected '{}'", theirs, ours));
  }
}

std::span<float> floats_of(const Tensor& values) {
  return {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())};
}

// The checksum is valid here, so a mismatch means that the file is for another network.
Tensor read_tensor(BinaryReader& reader, const std::string& name, const Tensor& like) {
  const std::string_view found = reader.text();
  if (found != name) reader.fail(fmt::format("got tensor '{}', expected '{}'", found, name));
  const std::uint64_t rank = reader.number();
  if (rank != static_cast<std::uint64_t>(like.dim())) {
    reader.fail(fmt::format("{}: got {} dimensions, expected {}", name, rank, like.dim()));
  }
  for (const std::int64_t expected : like.sizes()) {
    const std::uint64_t size = reader.number();
    if (size == static_cast<std::uint64_t>(expected)) continue;
    reader.fail(fmt::format("{}: got a size of {}, expected the shape {}", name, size,
                            fmt::join(like.sizes(), " x ")));
  }
  Tensor values = torch::empty(like.sizes(), torch::kFloat32);
  reader.values(floats_of(values));
  for (const float value : floats_of(values)) {
    if (!std::isfinite(value))
      reader.fail(fmt::format("{}: got {}, expected numbers", name, value));
  }
  return values;
}

}  // namespace

std::string save_weights(const Network& network) {
  const auto parameters = network.named_parameters();
  BinaryWriter writer(kWeightsMagic);
  writer.number(kVersion);
  writer.text(network.architecture());
  writer.number(parameters.size());
  for (const auto& parameter : parameters) {
    const Tensor values = parameter.value().detach().to(torch::kFloat32).contiguous();
    writer.text(parameter.key());
    writer.number(static_cast<std::uint64_t>(values.dim()));
    for (const std::int64_t size : values.sizes()) writer.number(static_cast<std::uint64_t>(size));
    writer.values(std::span<const float>(floats_of(values)));
  }
  return std::move(writer).finish();
}

void load_weights(Network& network, std::string_view weights) {
  BinaryReader reader("network weights", weights, kWeightsMagic);
  if (const std::uint64_t got = reader.number(); got != kVersion) {
    reader.fail(fmt::format("got version {}, expected {}", got, kVersion));
  }
  require_architecture(reader, reader.text(), network.architecture());
  const auto parameters = network.named_parameters();
  if (const std::uint64_t count = reader.number(); count != parameters.size()) {
    reader.fail(fmt::format("got {} tensors, expected {}", count, parameters.size()));
  }
  std::vector<Tensor> values;
  for (const auto& parameter : parameters) {
    values.push_back(read_tensor(reader, parameter.key(), parameter.value()));
  }
  reader.require_end();
  const torch::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor parameter = parameters[i].value();
    parameter.copy_(values[i]);
  }
}

}  // namespace tilecast::learned::torch_module
