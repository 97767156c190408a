#include "sim/serve/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "ir/load_program.h"
#include "ir/shared.h"
#include "sim/answers.h"
#include "sim/op_table.h"
#include "sim/report/json_reader.h"
#include "sim/serve/folders.h"
#include "sim/serve/kept.h"
#include "sim/serve/request.h"
#include "sim/views/explain.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::serve {
namespace {

using Clock = std::chrono::steady_clock;
using views::json_line;

}  // namespace

Reply refusal(int status, std::string_view message) {
  const ErrorPlace place = error_place(message);
  Json error = {{"message", base::printable(message)}};
  if (!place.file.empty()) error["file"] = place.file;
  if (place.line > 0) error["line"] = place.line;
  if (place.column > 0) error["column"] = place.column;
  return {status, json_line({{"error", std::move(error)}})};
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

struct Answerer::State {
  State(const std::vector<std::string>& names, const AnswerLimits& most)
      : folders(names), limits(most), programs(most.kept), devices(most.kept) {}

  [[nodiscard]] Reply answer(const std::string& path, const Json& body, bool inside);
  [[nodiscard]] std::string simulate_body(const Json& body);
  [[nodiscard]] std::string explain_body(const Json& body);
  [[nodiscard]] std::string tiles_body(const Json& body);
  [[nodiscard]] std::string ops_body(const Json& body);
  [[nodiscard]] std::string batch_body(const Json& body);
  [[nodiscard]] ir::Shared<ReadyDevice> ready_device(const AskedDevice& asked,
                                                     const std::string& model);
  [[nodiscard]] ReadyProgram make_program(const Json& program, const AskedDevice& asked,
                                          const std::string& model);
  template <class Use>
  std::string with_program(const Json& body, const Use& use);

  Folders folders;
  AnswerLimits limits;
  Kept<ReadyProgram> programs;
  Kept<ir::Shared<ReadyDevice>> devices;
};

ir::Shared<ReadyDevice> Answerer::State::ready_device(const AskedDevice& asked,
                                                      const std::string& model) {
  const auto make = [&] {
    hwdesc::Device device = hwdesc::load_device(asked.name, device_overrides(asked.set));
    ChosenModel chosen = choose_model(model, {&device, 1});
    return ir::Shared<ReadyDevice>({std::move(device), std::move(chosen)});
  };
  return devices.with(asked.key() + '\0' + model, make, [](const auto& ready) { return ready; });
}

ReadyProgram Answerer::State::make_program(const Json& program, const AskedDevice& asked,
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
std::string Answerer::State::with_program(const Json& body, const Use& use) {
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

std::string Answerer::State::simulate_body(const Json& body) {
  check_keys(body, "simulate", {"program", "device", "set", "model", "skip_unknown"});
  const bool skip = body.contains("skip_unknown") && body["skip_unknown"] == true;
  return with_program(body, [&](const ReadyProgram& ready) {
    const UnknownOp unknown = skip ? UnknownOp::kSkip : UnknownOp::kError;
    const Simulation run =
        simulate(ready.placed, ready.on->model, {.unknown_op = unknown, .contents = true});
    return views::json({&run, 1});
  });
}

std::string Answerer::State::explain_body(const Json& body) {
  check_keys(body, "explain", {"program", "device", "set", "model", "kernel", "tile"});
  constexpr std::size_t kShown = 10;
  const std::string tile = string_at(body, "tile", "");
  analytical::TileConfig given;
  if (!tile.empty()) given = analytical::parse_tile(tile);
  return with_program(body, [&](const ReadyProgram& ready) {
    return views::explain_json(explain(ready.placed, string_at(body, "kernel", ""), ready.on->model,
                                       tile.empty() ? nullptr : &given, kShown));
  });
}

std::string Answerer::State::tiles_body(const Json& body) {
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

std::string Answerer::State::ops_body(const Json& body) {
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

std::string Answerer::State::batch_body(const Json& body) {
  check_keys(body, "batch", {"requests"});
  const auto requests = body.find("requests");
  if (requests == body.end() || !requests->is_array() || requests->size() > limits.batch) {
    throw Error(fmt::format("requests: expected a list of at most {}", limits.batch));
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

Reply Answerer::State::answer(const std::string& path, const Json& body, bool inside) {
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
