#include "learned/feature_schema.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace tilecast::learned {
namespace {

constexpr std::array<std::string_view, 13> kGroupNames = {
    "static",    "ops",         "shape", "tile",       "prior",  "machine", "code",
    "alignment", "tile_bounds", "curve", "parameters", "tokens", "node"};

// 64-bit FNV-1a hash of texts, each terminated by a zero byte.
class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) {
    constexpr std::uint64_t kPrime = 0x100000001b3;
    value_ = (value_ ^ byte) * kPrime;
  }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

std::string_view name(FeatureGroup group) {
  return kGroupNames[static_cast<std::size_t>(group)];
}

std::optional<FeatureGroup> parse_feature_group(std::string_view text) {
  for (std::size_t i = 0; i < kGroupNames.size(); ++i) {
    if (kGroupNames[i] == text) return static_cast<FeatureGroup>(i);
  }
  return std::nullopt;
}

std::string FeatureSchema::hash() const {
  TextHash hash;
  hash.add(name);
  hash.add(std::to_string(version));
  for (const FeatureColumn& column : columns) {
    hash.add(column.name);
    hash.add(column.unit);
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace tilecast::learned
