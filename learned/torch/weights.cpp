// The file of a network's weights. Little-endian; counts and sizes are 64-bit.
//
//   "tilecast.weights"  16 bytes
//   version             1
//   architecture        size, then Network::architecture()
//   tensors             count, then of each: size and text of the name, rank, shape, floats
//   checksum            FNV-1a (64-bit) of everything before it
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

static_assert(std::endian::native == std::endian::little, "weights are written as they lie");

constexpr std::string_view kMagic = "tilecast.weights";
constexpr std::uint64_t kVersion = 1;

// Fowler, Noll and Vo: offset basis and prime of the 64-bit variant.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  }
  return hash;
}

[[noreturn]] void refuse(const std::string& reason) {
  throw Error("network weights: " + reason);
}

class Writer {
 public:
  void bytes(std::string_view text) { out_ += text; }
  void number(std::uint64_t value) { bytes({reinterpret_cast<const char*>(&value), sizeof value}); }
  void text(std::string_view text) {
    number(text.size());
    bytes(text);
  }
  [[nodiscard]] std::string finish() && {
    number(checksum(out_));
    return std::move(out_);
  }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::string_view bytes(std::uint64_t size, std::string_view what) {
    if (size > rest_.size()) {
      refuse(fmt::format("{}: got {} bytes to the end of the file, expected {}", what, rest_.size(),
                         size));
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] std::uint64_t number(std::string_view what) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes(sizeof value, what).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view text(std::string_view what) { return bytes(number(what), what); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

std::string_view first_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void require_architecture(std::string_view got, std::string_view expected) {
  if (got == expected) return;
  while (!got.empty() || !expected.empty()) {
    const std::string_view ours = first_line(expected), theirs = first_line(got);
    if (ours == theirs) continue;
    refuse(fmt::format("of another network; got '{}', expected '{}'", theirs, ours));
  }
}

// The checksum is right from here on: what does not fit was written for something else.
Tensor read_tensor(Reader& reader, const std::string& name, const Tensor& like) {
  const std::string_view found = reader.text("name of a tensor");
  if (found != name) refuse(fmt::format("got tensor '{}', expected '{}'", found, name));
  const std::uint64_t rank = reader.number("rank of a tensor");
  if (rank != static_cast<std::uint64_t>(like.dim())) {
    refuse(fmt::format("{}: got {} dimensions, expected {}", name, rank, like.dim()));
  }
  for (const std::int64_t expected : like.sizes()) {
    const std::uint64_t size = reader.number("shape of a tensor");
    if (size != static_cast<std::uint64_t>(expected)) {
      refuse(fmt::format("{}: got a size of {}, expected the shape {}", name, size,
                         fmt::join(like.sizes(), " x ")));
    }
  }
  Tensor values = torch::empty(like.sizes(), torch::kFloat32);
  const auto size = static_cast<std::uint64_t>(like.numel()) * sizeof(float);
  std::memcpy(values.data_ptr<float>(), reader.bytes(size, name).data(), size);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const float value = values.data_ptr<float>()[i];
    if (!std::isfinite(value)) refuse(fmt::format("{}: got {}, expected numbers", name, value));
  }
  return values;
}

// The file without its checksum.
std::string_view verified(std::string_view weights) {
  if (!weights.starts_with(kMagic)) {
    refuse("got another kind of file, expected one that starts with 'tilecast.weights'");
  }
  if (weights.size() < kMagic.size() + 2 * sizeof(std::uint64_t)) {
    refuse(fmt::format("got {} bytes, expected more: cut short", weights.size()));
  }
  Reader version(weights.substr(kMagic.size()));
  if (const std::uint64_t got = version.number("version"); got != kVersion) {
    refuse(fmt::format("got version {}, expected {}", got, kVersion));
  }
  const std::string_view body = weights.substr(0, weights.size() - sizeof(std::uint64_t));
  Reader end(weights.substr(body.size()));
  if (const std::uint64_t got = end.number("checksum"), expected = checksum(body);
      got != expected) {
    refuse(fmt::format("checksum: got {:016x}, expected {:016x}: cut short or damaged", got,
                       expected));
  }
  return body;
}

}  // namespace

std::string save_weights(const Network& network) {
  const auto parameters = network.named_parameters();
  Writer writer;
  writer.bytes(kMagic);
  writer.number(kVersion);
  writer.text(network.architecture());
  writer.number(parameters.size());
  for (const auto& parameter : parameters) {
    const Tensor values = parameter.value().detach().to(torch::kFloat32).contiguous();
    writer.text(parameter.key());
    writer.number(static_cast<std::uint64_t>(values.dim()));
    for (const std::int64_t size : values.sizes()) writer.number(static_cast<std::uint64_t>(size));
    writer.bytes({reinterpret_cast<const char*>(values.data_ptr<float>()),
                  static_cast<std::size_t>(values.numel()) * sizeof(float)});
  }
  return std::move(writer).finish();
}

void load_weights(Network& network, std::string_view weights) {
  Reader reader(verified(weights));
  static_cast<void>(reader.bytes(kMagic.size() + sizeof kVersion, "header"));
  require_architecture(reader.text("architecture"), network.architecture());
  const auto parameters = network.named_parameters();
  if (const std::uint64_t count = reader.number("number of tensors"); count != parameters.size()) {
    refuse(fmt::format("got {} tensors, expected {}", count, parameters.size()));
  }
  std::vector<Tensor> values;
  for (const auto& parameter : parameters) {
    values.push_back(read_tensor(reader, parameter.key(), parameter.value()));
  }
  if (reader.left() != 0) refuse(fmt::format("got {} bytes after the last tensor", reader.left()));
  const torch::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor parameter = parameters[i].value();
    parameter.copy_(values[i]);
  }
}

}  // namespace tilecast::learned::torch_module
