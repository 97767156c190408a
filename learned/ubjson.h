// Parser for Universal Binary JSON (ubjson.org, draft 12) as XGBoost writes its models. Values are
// views into the bytes; typed arrays of numbers are not parsed number by number.
//
//   const UbjValue document = parse_ubjson(bytes);
//   std::vector<double> thresholds = document.at("split_conditions").numbers();
//
// Memory is bounded by a multiple of the input, as every value takes at least one byte. Booleans
// and nulls, which take no bytes in typed arrays, are rejected; no model has them. Thread-safe.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tilecast::learned {

struct UbjValue {
  char type = 0;           // '{', '[', 'S' or a number's marker
  char packed = 0;         // of a typed array of numbers: their marker
  std::string_view bytes;  // of a text, a number or a typed array
  std::vector<UbjValue> items;
  std::vector<std::string_view> keys;  // of an object: of its items

  // The functions throw Error if the value is of another kind.
  [[nodiscard]] const UbjValue& at(std::string_view key) const;  // the last of that name
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] const std::vector<UbjValue>& array() const;  // not packed
  [[nodiscard]] double number() const;
  [[nodiscard]] std::vector<double> numbers() const;  // of an array
};

// Throws Error "parse error at byte N: ..." if the bytes are truncated, malformed, or nested deeper
// than 32.
[[nodiscard]] UbjValue parse_ubjson(std::string_view bytes);

}  // namespace tilecast::learned
