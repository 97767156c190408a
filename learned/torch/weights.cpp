// The file of a network's weights (binary_file.h):
//
//   "tilecast.weights"  16 bytes
//   version             1
//   architecture        size, then Network::architecture()
//   tensors             count, then of each: size and text of the name, rank, shape, floats
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "learned/torch/binary_file.h"
#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

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
