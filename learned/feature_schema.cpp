#include "learned/feature_schema.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace tilecast::learned {
namespace {

constexpr std::array<std::string_view, 11> kGroupNames = {
    "static",    "ops",   "shape",      "tile",   "prior", "machine",
    "alignment", "curve", "parameters", "tokens", "node"};

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

namespace {

double as_number(std::int64_t value) {
  return value == ir::kUnboundedSize ? 0 : static_cast<double>(value);
}

}  // namespace

void Columns::name_column(const Text& text, std::string_view suffix, std::string doc) {
  schema_->columns.push_back({fmt::format("{}.{}{}", name(group_), text.name, suffix),
                              std::string(text.unit), std::move(doc), group_});
}

void Columns::entries(const Text& text, const ir::Dims& values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (schema_ != nullptr) {
      name_column(text, fmt::format(".{}", i),
                  fmt::format("{} Entry {}; 0 where absent.", text.doc, i));
    } else {
      value(text, i < values.size() ? as_number(values[i]) : 0);
    }
  }
}

void Columns::list(const Text& text, const ir::Dims* values, std::size_t n,
                   double product_of_none) {
  if (schema_ != nullptr) {
    entries(text, {}, n);
    name_column(text, ".sum", fmt::format("{} Sum of the list.", text.doc));
    name_column(text, ".product", fmt::format("{} Product of the list.", text.doc));
    return;
  }
  if (values == nullptr) {
    for (std::size_t i = 0; i < n + 2; ++i) value(text, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  entries(text, *values, n);
  double sum = 0, product = values->empty() ? product_of_none : 1;
  for (const std::int64_t value : *values) {
    sum += as_number(value);
    product *= as_number(value);
  }
  value(text, sum);
  value(text, product);
}

void Columns::parts(const Text& text, std::span<const double> values,
                    PartName (*part)(std::size_t)) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema_ == nullptr) {
      value(text, values[i]);
    } else {
      const PartName of = part(i);
      name_column(text, "." + of.name, fmt::format("{}: {}.", text.doc, of.doc));
    }
  }
}

}  // namespace tilecast::learned
