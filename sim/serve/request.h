// Parses request bodies. All functions throw Error for bodies that violate openapi.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "measured/csv.h"
#include "sim/serve/answer.h"

namespace tilecast::sim::serve {

using Json = nlohmann::ordered_json;

// The API description, with the names of tile parts and models filled in.
[[nodiscard]] std::string described(const char* openapi);

// Throws Error for keys of an object other than `keys`.
void check_keys(const Json& body, std::string_view where,
                const std::vector<std::string_view>& keys);
[[nodiscard]] std::string string_at(const Json& body, const char* key,
                                    std::optional<std::string> fallback = {});

// The device named by a body, with its overrides.
struct AskedDevice {
  std::string name;
  std::vector<std::string> set;

  [[nodiscard]] std::string key() const {
    std::string text = name;
    for (const std::string& change : set) text += '\0' + change;
    return text;
  }
};
[[nodiscard]] AskedDevice device_of(const Json& body);
void check_preset(const std::string& name);
[[nodiscard]] std::string model_of(const Json& body);
[[nodiscard]] std::vector<analytical::TileConfig> tiles_of(const Json& body, std::size_t most);
[[nodiscard]] measured::CsvTable table_of_rows(const Json& body, const AnswerLimits& limits);

}  // namespace tilecast::sim::serve
