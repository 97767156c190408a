#include "sim/serve/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <shared_mutex>

#include "analytical/tile.h"
#include "base/error.h"
#include "base/text.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/shared.h"
#include "measured/csv.h"
#include "sim/answers.h"
#include "sim/model_choice.h"
#include "sim/report/json_reader.h"
#include "sim/tables.h"
#include "sim/views/explain.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::serve {
namespace {

// A bounded cache of values by key. A value may be used only inside the function passed to with().
// Thread-safe. A full cache is cleared before the next insertion.
template <class Value>
class Kept {
 public:
  explicit Kept(std::size_t most) : most_(most) {}

  // Returns use(value) for the cached value, else for the value of make(), which is then cached.
  template <class Make, class Use>
  auto with(const std::string& key, const Make& make, const Use& use) {
    {
      const std::shared_lock reading(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end()) return use(*found->second);
    }
    auto made = std::make_unique<const Value>(make());
    auto answer = use(*made);
    const std::unique_lock writing(mutex_);
    if (values_.size() >= most_) values_.clear();
    values_.emplace(key, std::move(made));
    return answer;
  }

 private:
  std::size_t most_;
  std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<const Value>> values_;
};

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using views::json_line;
namespace fs = std::filesystem;

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

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && at != path.end();
}

bool is_plain(const std::string& name) {
  constexpr std::size_t kLongest = 1024;
  if (name.empty() || name.size() > kLongest || name.find('\0') != std::string::npos) return false;
  const fs::path path(name);
  return path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

// The resolved path of `folder` / `name`, if it is a file below the folder.
std::optional<fs::path> found_below(const fs::path& folder, const fs::path& name) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder / name, failed);
  if (failed || !is_below(real, folder) || !fs::is_regular_file(real, failed)) return std::nullopt;
  return real;
}

// Whether a file is named like a program; others are read, too, where a request names them.
bool is_program(fs::path name) {
  if (name.extension() == ".gz") name.replace_extension();
  if (name.string().ends_with(".xplane.pb")) return false;  // a profile
  const auto endings = {".hlo", ".mlir", ".stablehlo", ".pb", ".onnx", ".txt"};
  return std::ranges::find(endings, name.extension()) != endings.end();
}

// The folders that a server may read; access to any other file is refused.
class Folders {
 public:
  // Throws Error for a folder that does not exist.
  explicit Folders(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      std::error_code failed;
      const fs::path real = fs::canonical(folder, failed);
      if (failed || !fs::is_directory(real, failed)) {
        throw Error("{}: got no folder; expected one to read programs from", folder);
      }
      folders_.push_back(real);
    }
  }
  // The regular file with this relative name in the first folder that contains it, with links
  // resolved. Throws Error, with the same text for files outside the folders and missing files.
  [[nodiscard]] std::string file(const std::string& name) const {
    for (const fs::path& folder : folders_) {
      if (!is_plain(name)) break;
      if (const auto real = found_below(folder, name)) return real->string();
    }
    throw Error("program.file: no such file in the folders of this server");
  }
  // A text that changes when that file is written again.
  [[nodiscard]] std::string version(const std::string& name) const {
    const fs::path real = file(name);
    std::error_code failed;
    const auto size = fs::file_size(real, failed);
    const auto written = fs::last_write_time(real, failed).time_since_epoch().count();
    return fmt::format("{} {} {}", real.string(), size, written);
  }
  // Relative names of the programs that file() finds, by their endings, sorted; at most `most`.
  [[nodiscard]] std::vector<std::string> list(std::size_t most) const {
    std::vector<std::string> names;
    for (const fs::path& folder : folders_) {
      std::error_code failed;
      fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                          failed);
      for (; !failed && at != fs::recursive_directory_iterator() && names.size() < most;
           at.increment(failed)) {
        const fs::path name = at->path().lexically_relative(folder);
        if (is_program(name) && found_below(folder, name)) names.push_back(name.string());
      }
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::vector<fs::path> folders_;  // canonical
};

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
      throw Error("tiles: {}: expected a list of whole numbers", part.name);
    }
    const auto list = value.get<std::vector<std::int64_t>>();
    return {list.begin(), list.end()};
  }
  if (part.is_flag() && value.is_boolean()) return {value.get<bool>() ? 1 : 0};
  const std::int64_t number = whole(value) ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > analytical::TilePart::kMost) {
    throw Error("tiles: {}: expected a whole number from 0 to {}", part.name,
                analytical::TilePart::kMost);
  }
  return {number};
}

// Lower bound of a cell's size in the response: its name is repeated in every row.
constexpr std::size_t kCellBytes = 64;

void check_keys(const Json& body, std::string_view where,
                const std::vector<std::string_view>& keys) {
  if (!body.is_object()) throw Error("{}: expected an object", where);
  for (const auto& item : body.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      throw Error("{}: got key '{}', expected {}", where, item.key(), fmt::join(keys, ", "));
    }
  }
}

std::string string_at(const Json& body, const char* key, std::optional<std::string> fallback = {}) {
  const auto found = body.find(key);
  if (found == body.end()) {
    if (fallback) return *fallback;
    throw Error("{}: missing; expected a string", key);
  }
  if (!found->is_string()) throw Error("{}: expected a string", key);
  return found->get<std::string>();
}

void check_preset(const std::string& name) {
  const std::vector<std::string> names = hwdesc::preset_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(
        "device: got '{}', expected a preset; GET /v1/devices lists them. For a description of "
        "your own send the preset that it extends, and as \"set\" what it changes",
        base::printable(name));
  }
}

AskedDevice device_of(const Json& body) {
  constexpr std::size_t kMostChanges = 256;
  AskedDevice asked{string_at(body, "device"), {}};
  check_preset(asked.name);
  const auto set = body.find("set");
  if (set == body.end()) return asked;
  if (!set->is_object() || set->size() > kMostChanges) {
    throw Error("set: expected an object of at most {} keys", kMostChanges);
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
    throw Error("model: got '{}', expected {}", base::printable(name), fmt::join(names, ", "));
  }
  return name;
}

std::vector<analytical::TileConfig> tiles_of(const Json& body, std::size_t most) {
  const auto found = body.find("tiles");
  if (found == body.end() || !found->is_array() || found->size() > most) {
    throw Error("tiles: expected a list of at most {} tiles", most);
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
    throw Error("rows: expected a list of at most {} objects", limits.rows);
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
      throw Error("rows: {} rows of {} columns are more than {} bytes; ask for fewer at once",
                  rows->size(), table.columns.size(), limits.answer_bytes);
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

// A device and its model. They take megabytes, and many programs share them.
struct ReadyDevice {
  hwdesc::Device device;
  ChosenModel model;
};
struct ReadyProgram {
  PlacedProgram placed;
  ir::Shared<ReadyDevice> on;
};

}  // namespace

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

Reply refusal(int status, std::string_view message) {
  const ErrorPlace place = error_place(message);
  Json error = {{"message", base::printable(message)}};
  if (!place.file.empty()) error["file"] = place.file;
  if (place.line > 0) error["line"] = place.line;
  if (place.column > 0) error["column"] = place.column;
  return {status, json_line({{"error", std::move(error)}})};
}

struct Answerer::State {
  State(const std::vector<std::string>& names, const AnswerLimits& most)
      : folders(names), limits(most), programs(most.kept), devices(most.kept) {}

  ir::Shared<ReadyDevice> ready_device(const AskedDevice& asked, const std::string& model) {
    const auto make = [&] {
      hwdesc::Device device = hwdesc::load_device(asked.name, device_overrides(asked.set));
      ChosenModel chosen = choose_model(model, {&device, 1});
      return ir::Shared<ReadyDevice>({std::move(device), std::move(chosen)});
    };
    return devices.with(asked.key() + '\0' + model, make, [](const auto& ready) { return ready; });
  }

  ReadyProgram make_program(const Json& program, const AskedDevice& asked,
                            const std::string& model) {
    ir::Shared<ReadyDevice> on = ready_device(asked, model);
    std::string name = "text";
    std::string text;
    if (program.contains("file")) {
      name = string_at(program, "file");
      text = base::SourceText::read_file(folders.file(name), limits.file_bytes).text();
    } else {
      text = string_at(program, "text");
    }
    const ir::LoadOptions load{.fuse = !program.contains("fuse") || program["fuse"] == true};
    ir::LoadedModule module = ir::load_module(base::SourceText(name, std::move(text)), load);
    return {place(std::move(module), on->device, load), std::move(on)};
  }

  template <class Use>
  std::string with_program(const Json& body, const Use& use) {
    const auto found = body.find("program");
    if (found == body.end())
      throw Error("program: missing; expected {\"text\": ...} or {\"file\": ...}");
    const Json& program = *found;
    check_keys(program, "program", {"text", "file", "fuse"});
    if (program.contains("text") == program.contains("file")) {
      throw Error("program: expected either text or file");
    }
    const AskedDevice asked = device_of(body);
    const std::string model = model_of(body);
    std::string key = json_line(program) + '\0' + asked.key() + '\0' + model;
    if (program.contains("file")) key += folders.version(string_at(program, "file"));
    return programs.with(
        key, [&] { return make_program(program, asked, model); }, use);
  }

  std::string simulate_body(const Json& body) {
    check_keys(body, "simulate", {"program", "device", "set", "model", "skip_unknown"});
    const bool skip = body.contains("skip_unknown") && body["skip_unknown"] == true;
    return with_program(body, [&](const ReadyProgram& ready) {
      const Simulation run =
          simulate(ready.placed, ready.on->model, {.skip_unknown = skip, .contents = true});
      return views::json({&run, 1});
    });
  }

  std::string explain_body(const Json& body) {
    check_keys(body, "explain", {"program", "device", "set", "model", "kernel", "tile"});
    constexpr std::size_t kShown = 10;
    const std::string tile = string_at(body, "tile", "");
    return with_program(body, [&](const ReadyProgram& ready) {
      return views::explain_json(
          explain(ready.placed, string_at(body, "kernel", ""), ready.on->model, tile, kShown));
    });
  }

  std::string tiles_body(const Json& body) {
    check_keys(body, "tiles", {"program", "device", "set", "model", "kernel", "tiles"});
    const std::vector<analytical::TileConfig> tiles = tiles_of(body, limits.rows);
    return with_program(body, [&](const ReadyProgram& ready) {
      const ir::Kernel& kernel =
          find_kernel(ready.placed.built.program, string_at(body, "kernel", ""), ready.placed.file);
      Json seconds = Json::array();
      for (const double time : tile_times_s(kernel, ready.placed.device, ready.on->model, tiles)) {
        seconds.push_back(std::isnan(time) ? Json(nullptr) : Json(time));
      }
      return json_line({{"kernel", kernel.name()}, {"time_s", std::move(seconds)}});
    });
  }

  std::string ops_body(const Json& body) {
    check_keys(body, "ops", {"device", "set", "model", "rows", "repeated"});
    const measured::CsvTable table = table_of_rows(body, limits);
    const AskedDevice asked = device_of(body);
    const std::string model = model_of(body);
    const bool repeated = body.contains("repeated") && body["repeated"] == true;
    const ir::Shared<ReadyDevice> ready = ready_device(asked, model);
    static_cast<void>(unread_op_columns(table));
    return views::rows_json(
        estimate_operators(table, ready->device, *ready->model.model, {.repeated = repeated}),
        "tilecast.ops/1");
  }

  std::string batch_body(const Json& body) {
    check_keys(body, "batch", {"requests"});
    const auto requests = body.find("requests");
    if (requests == body.end() || !requests->is_array() || requests->size() > limits.batch) {
      throw Error("requests: expected a list of at most {}", limits.batch);
    }
    const auto start = Clock::now();
    std::string answers;
    for (const Json& request : *requests) {
      Reply reply;
      if (std::chrono::duration<double>(Clock::now() - start).count() > limits.batch_seconds) {
        reply = refusal(503, "the batch took too long; ask for fewer at once");
      } else if (answers.size() > limits.answer_bytes) {
        reply = refusal(503, "the answers are too large; ask for fewer at once");
      } else if (!request.is_object() || !request.contains("path") || !request.contains("body") ||
                 !request["path"].is_string()) {
        reply = refusal(400, "requests: expected objects with path and body");
      } else {
        reply = answer(request["path"].get<std::string>(), request["body"], /*inside=*/true);
      }
      answers += fmt::format("{}{{\"status\": {}, \"body\": {}}}", answers.empty() ? "" : ", ",
                             reply.status, reply.body);
    }
    return "{\"answers\": [" + answers + "]}";
  }

  Reply answer(const std::string& path, const Json& body, bool inside) {
    try {
      if (path == "/v1/simulate") return {200, simulate_body(body)};
      if (path == "/v1/explain") return {200, explain_body(body)};
      if (path == "/v1/tiles") return {200, tiles_body(body)};
      if (path == "/v1/ops") return {200, ops_body(body)};
      if (path == "/v1/batch" && !inside) return {200, batch_body(body)};
      return refusal(404, "no such path; GET /openapi.json lists them");
    } catch (const Error& error) {
      return refusal(400, error.what());
    } catch (const Json::exception&) {
      return refusal(400, "the body is not as described in /openapi.json");
    } catch (const std::bad_alloc&) {
      return refusal(503, "out of memory");
    } catch (const std::exception&) {
      return refusal(500, "this request could not be answered");
    }
  }

  Folders folders;
  AnswerLimits limits;
  Kept<ReadyProgram> programs;
  Kept<ir::Shared<ReadyDevice>> devices;
};

Answerer::Answerer(const std::vector<std::string>& folders, const AnswerLimits& limits)
    : state_(std::make_unique<State>(folders, limits)) {}
Answerer::~Answerer() = default;

Reply Answerer::post(const std::string& path, const std::string& body) const {
  if (report::deeper_than(body, state_->limits.depth))
    return refusal(400, "the body is nested too deep");
  const Json parsed = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return refusal(400, "the body is not JSON");
  return state_->answer(path, parsed, /*inside=*/false);
}

Reply Answerer::get(const std::string& path, const std::string& device) const {
  constexpr std::size_t kMostListed = 1000;
  try {
    if (path == "/v1/devices") return {200, json_line({{"devices", hwdesc::preset_names()}})};
    if (path == "/v1/files") {
      return {200, json_line({{"files", state_->folders.list(kMostListed)}})};
    }
    if (path == "/v1/device") {
      check_preset(device);
      Json values = Json::object();
      for (const auto& [key, value] : hwdesc::flatten(hwdesc::load_device(device))) {
        values[key] = value;
      }
      return {200, json_line({{"device", device}, {"values", std::move(values)}})};
    }
    return refusal(404, "no such path; GET /openapi.json lists them");
  } catch (const Error& error) {
    return refusal(400, error.what());
  }
}

}  // namespace tilecast::sim::serve
