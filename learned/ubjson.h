// Universal Binary JSON (ubjson.org, draft 12), as XGBoost writes its models: for reading without a
// look at every number. An array whose numbers are of one type stays as it lies in the file.
//
//   nlohmann::json document = parse_ubjson(bytes);
//   std::vector<double> thresholds = numbers_of(document.at("split_conditions"));
//
// Memory stays within a multiple of the input: every value takes a byte at least. Truth values and
// nulls, which an array of them would hold in none, are refused; no model has them. Thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// An array of one type of number: a binary value whose subtype is the type's marker. Throws Error
// "parse error at byte N: ..." when the bytes are cut, of another format, or nested deeper than 32.
[[nodiscard]] nlohmann::json parse_ubjson(std::string_view bytes);

// Of an array that parse_ubjson() read. Throws nlohmann::json::type_error when it is no array of
// numbers.
[[nodiscard]] std::vector<double> numbers_of(const nlohmann::json& array);

}  // namespace tilecast::learned
