// Parser for Universal Binary JSON (ubjson.org, draft 12) as XGBoost writes its models. Typed
// arrays of numbers are kept as raw bytes, not parsed number by number.
//
//   nlohmann::json document = parse_ubjson(bytes);
//   std::vector<double> thresholds = numbers_of(document.at("split_conditions"));
//
// Memory is bounded by a multiple of the input, as every value takes at least one byte. Booleans
// and nulls, which take no bytes in typed arrays, are rejected; no model has them. Thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// A typed array of numbers becomes a binary value whose subtype is the type's marker. Throws Error
// "parse error at byte N: ..." if the bytes are truncated, malformed, or nested deeper than 32.
[[nodiscard]] nlohmann::json parse_ubjson(std::string_view bytes);

// The numbers of an array from parse_ubjson(). Throws nlohmann::json::type_error if it is not an
// array of numbers.
[[nodiscard]] std::vector<double> numbers_of(const nlohmann::json& array);

}  // namespace tilecast::learned
