#include "sim/serve/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analytical/tile.h"
#include "base/error.h"
#include "base/text.h"
#include "hwdesc/device_yaml.h"
#include "sim/model_choice.h"
#include "sim/views/rows.h"

namespace tilecast::sim::serve {
namespace {

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  throw Error("rows: expected numbers and strings");
}

// The value of a part of a tile: a list of integers, one integer >= 0, or true.
ir::Dims numbers_of(const Json& value, const analytical::TilePart& part) {
  constexpr std::size_t kMostDimensions = 64;
  const auto whole = [](const Json& number) { return number.is_number_integer(); };
  if (part.is_list()) {
    if (!value.is_array() || value.size() > kMostDimensions || !std::ranges::all_of(value, whole)) {
      throw Error(fmt::format("tiles: {}: expected a list of whole numbers", part.name));
    }
    const auto list = value.get<std::vector<std::int64_t>>();
    return {list.begin(), list.end()};
  }
  if (part.is_flag() && value.is_boolean()) return {value.get<bool>() ? 1 : 0};
  const std::int64_t number = whole(value) ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > analytical::TilePart::kMost) {
    throw Error(fmt::format("tiles: {}: expected a whole number from 0 to {}", part.name,
                            analytical::TilePart::kMost));
  }
  return {number};
}

// Lower bound of a cell's size in the response: its name is repeated in every row.
constexpr std::size_t kCellBytes = 64;

}  // namespace

void check_keys(const Json& body, std::string_view where,
                const std::vector<std::string_view>& keys) {
  if (!body.is_object()) throw Error(fmt::format("{}: expected an object", where));
  for (const auto& item : body.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      throw Error(
          fmt::format("{}: got key '{}', expected {}", where, item.key(), fmt::join(keys, ", ")));
    }
  }
}

std::string string_at(const Json& body, const char* key, std::optional<std::string> fallback) {
  const auto found = body.find(key);
  if (found == body.end()) {
    if (fallback) return *fallback;
    throw Error(fmt::format("{}: missing; expected a string", key));
  }
  if (!found->is_string()) throw Error(fmt::format("{}: expected a string", key));
  return found->get<std::string>();
}

void check_preset(const std::string& name) {
  const std::vector<std::string> names = hwdesc::preset_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(fmt::format("device: got '{}', expected a preset; GET /v1/devices lists them",
                            base::printable(name)));
  }
}

AskedDevice device_of(const Json& body) {
  constexpr std::size_t kMostChanges = 256;
  AskedDevice asked{string_at(body, "device"), {}};
  check_preset(asked.name);
  const auto set = body.find("set");
  if (set == body.end()) return asked;
  if (!set->is_object() || set->size() > kMostChanges) {
    throw Error(fmt::format("set: expected an object of at most {} keys", kMostChanges));
  }
  for (const auto& item : set->items()) {
    // A description may extend a file, but a request body may not choose it.
    if (item.key().starts_with("extends")) throw Error("set: extends is not to be changed");
    asked.set.push_back(item.key() + "=" + cell_of(item.value()));
  }
  return asked;
}

std::string model_of(const Json& body) {
  const std::string name = string_at(body, "model", "default");
  const auto names = model_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(
        fmt::format("model: got '{}', expected {}", base::printable(name), fmt::join(names, ", ")));
  }
  return name;
}

std::vector<analytical::TileConfig> tiles_of(const Json& body, std::size_t most) {
  const auto found = body.find("tiles");
  if (found == body.end() || !found->is_array() || found->size() > most) {
    throw Error(fmt::format("tiles: expected a list of at most {} tiles", most));
  }
  std::vector<analytical::TileConfig> tiles;
  std::vector<std::string_view> names;
  for (const analytical::TilePart& part : analytical::tile_parts()) names.push_back(part.name);
  for (const Json& tile : *found) {
    check_keys(tile, "tiles", names);
    analytical::TileConfig config;
    for (const analytical::TilePart& part : analytical::tile_parts()) {
      const auto value = tile.find(std::string(part.name));
      if (value != tile.end()) part.set(config, numbers_of(*value, part));
    }
    tiles.push_back(std::move(config));
  }
  return tiles;
}

measured::CsvTable table_of_rows(const Json& body, const AnswerLimits& limits) {
  const auto rows = body.find("rows");
  if (rows == body.end() || !rows->is_array() || rows->size() > limits.rows) {
    throw Error(fmt::format("rows: expected a list of at most {} objects", limits.rows));
  }
  measured::CsvTable table{"rows", {}, {}};
  std::map<std::string, std::size_t> places;
  std::size_t row_bytes = 0;
  for (const Json& row : *rows) {
    if (!row.is_object()) throw Error("rows: expected objects");
    for (const auto& item : row.items()) {
      if (!places.emplace(item.key(), places.size()).second) continue;
      table.columns.push_back(item.key());
      row_bytes += item.key().size() + kCellBytes;
    }
    if (row_bytes > limits.answer_bytes / rows->size()) {
      throw Error(
          fmt::format("rows: {} rows of {} columns are more than {} bytes; ask for fewer at once",
                      rows->size(), table.columns.size(), limits.answer_bytes));
    }
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    table.rows.push_back({static_cast<int>(i) + 1, std::vector<std::string>(table.columns.size())});
    for (const auto& item : (*rows)[i].items()) {
      table.rows.back().cells[places.at(item.key())] = cell_of(item.value());
    }
  }
  return table;
}

std::string described(const char* openapi) {
  Json document = Json::parse(openapi);
  Json& schemas = document["components"]["schemas"];
  const auto names = model_names();
  schemas["Asked"]["properties"]["model"]["enum"] = std::vector(names.begin(), names.end());
  for (const analytical::TilePart& part : analytical::tile_parts()) {
    Json& value = schemas["Tile"]["properties"][std::string(part.name)];
    value = {{"type", part.is_list()   ? "array"
                      : part.is_flag() ? "boolean"
                                       : "integer"},
             {"description", part.meaning}};
    if (part.is_list()) value["items"] = {{"type", "integer"}};
  }
  return views::json_text(document);
}

}  // namespace tilecast::sim::serve
