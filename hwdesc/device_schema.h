// The YAML form of a Device, declared once: every key with its unit, range and one line of
// explanation. Reading, printing, comparing and the help text are visitors.
//
//   walk(reader, device);    // fills the device from a tree, checking every key
//   walk(printer, device);   // writes the same keys back
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

struct ConfigNode;

struct Field {
  std::string_view key;
  UnitKind kind = UnitKind::kCount;
  double low = 0, high = 0;  // inclusive, in SI base units
  bool required = false;
  std::string_view doc;
  std::span<const std::string_view> words = {};  // choices, or the allowed keys of a mapping
};

struct Block {
  std::string key;
  bool required = false;
  std::string_view doc;
};

class SchemaVisitor {
 public:
  virtual ~SchemaVisitor() = default;

  virtual void number(const Field& field, double& value) = 0;
  virtual void optional_number(const Field& field, std::optional<double>& value) = 0;
  virtual void integer(const Field& field, std::int64_t& value) = 0;
  virtual void flag(const Field& field, bool& value) = 0;
  virtual void text(const Field& field, std::string& value) = 0;
  virtual void choice(const Field& field, std::size_t& index) = 0;  // into field.words
  virtual void numbers(const Field& field, std::map<std::string, double>& values) = 0;
  virtual void word_groups(const Field& field, std::vector<std::vector<std::string>>& groups) = 0;

  // Enters a block; false: skip it, leave() is not called. `present`: whether the device has it
  // already.
  [[nodiscard]] virtual bool enter(const Block& block, bool present) = 0;
  virtual void leave() = 0;
  // Names of the blocks in the mapping just entered. `held`: those the device already has.
  [[nodiscard]] virtual std::vector<std::string> names(const std::vector<std::string>& held) = 0;
};

// Visits every key of a device in schema order.
void walk(SchemaVisitor& visitor, Device& device);

// Unit of a published quantity: "hbm.bandwidth" is a bandwidth, "bf16" a rate.
[[nodiscard]] UnitKind published_kind(std::string_view quantity);

// Converts a merged tree to a Device, checking every key against the schema and
// the parts against each other. Throws Error `file:line:col: key: got ..., expected ...; did you
// mean ...`.
[[nodiscard]] Device read_device(const ConfigNode& root);

}  // namespace tilecast::hwdesc
