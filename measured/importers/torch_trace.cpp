#include "measured/importers/torch_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/json_records.h"
#include "measured/importers/xplane_events.h"

namespace tilecast::measured {
namespace {

constexpr double kPsPerUs = 1e6, kMaxUs = 1e12;
constexpr std::size_t kTraceEventsPerReport = 4096;

// Types as PyTorch's profiler spells them, and HLO's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes = {{
    {"c10::BFloat16", "bf16"},
    {"c10::Half", "f16"},
    {"float", "f32"},
    {"double", "f64"},
    {"long int", "s64"},
    {"int", "s32"},
    {"short", "s16"},
    {"signed char", "s8"},
    {"unsigned char", "u8"},
    {"bool", "pred"},
    {"c10::Float8_e4m3fn", "f8e4m3fn"},
    {"c10::Float8_e5m2", "f8e5m2"},
}};

std::string_view field_of(const JsonRecord& event, std::string_view path) {
  const std::string* found = find_field(event, path);
  return found == nullptr ? std::string_view() : *found;
}

const std::vector<JsonField>& items_of(const JsonRecord& event, std::string_view path) {
  static const std::vector<JsonField> kNone;
  const auto found = std::ranges::find(event, path, &JsonField::path);
  return found == event.end() ? kNone : found->items;
}

// nullopt unless all are whole numbers.
std::optional<ir::Dims> dims_of(const std::vector<JsonField>& sizes) {
  ir::Dims dims;
  for (const JsonField& size : sizes) {
    const auto number = base::parse_number<std::int64_t>(size.text);
    if (!number || *number < 0) return std::nullopt;
    dims.push_back(*number);
  }
  return dims;
}

// A tensor's sizes, or those of each tensor of a list.
std::vector<ir::Dims> shapes_of(const std::vector<JsonField>& sizes) {
  if (sizes.empty()) return {};
  std::vector<ir::Dims> shapes;
  const bool is_list = sizes.front().text.empty();
  for (const JsonField& each : sizes) {
    const auto dims = dims_of(is_list ? each.items : sizes);
    if (dims) shapes.push_back(*dims);
    if (!is_list) break;
  }
  return shapes;
}

// By the distances between elements along each dimension.
bool is_transposed(const TorchArgument& matrix, const std::vector<JsonField>& strides) {
  const std::optional<ir::Dims> by = dims_of(strides);
  if (!by || by->size() < 2 || matrix.shapes.size() != 1 ||
      matrix.shapes.front().size() != by->size()) {
    return false;
  }
  return (*by)[by->size() - 2] == 1 && by->back() > 1 && matrix.shapes.front().back() > 1;
}

std::vector<TorchArgument> arguments_of(const JsonRecord& event) {
  const std::vector<JsonField>&sizes = items_of(event, "args.Input Dims"),
        &types = items_of(event, "args.Input type"),
        &strides = items_of(event, "args.Input Strides"),
        &values = items_of(event, "args.Concrete Inputs");
  std::vector<TorchArgument> arguments(sizes.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments[i].shapes = shapes_of(sizes[i].items);
    if (i < strides.size()) arguments[i].transposed = is_transposed(arguments[i], strides[i].items);
    if (i < types.size()) arguments[i].type = types[i].text;
    if (i < values.size()) arguments[i].value = values[i].text;
  }
  return arguments;
}

std::string category_of(std::string_view event) {
  if (event == "gpu_memcpy") return "memcpy";
  return event == "gpu_memset" ? "memset" : "kernel";
}

bool crosses_to_host(std::string_view name) {
  return name.find("HtoD") != std::string_view::npos || name.find("DtoH") != std::string_view::npos;
}

std::optional<XplaneLaunch> kineto_launch(const JsonRecord& event) {
  if (items_of(event, "args.grid").empty()) return std::nullopt;
  const auto number = [&](std::string_view path) {
    return base::parse_number<double>(field_of(event, path)).value_or(0);
  };
  const auto sizes = [&](std::string_view path) {
    return fmt::format("{}", fmt::join(dims_of(items_of(event, path)).value_or(ir::Dims{}), "x"));
  };
  return XplaneLaunch{
      .registers = static_cast<int>(std::clamp(number("args.registers per thread"), 0.0, 1e6)),
      .shared_bytes = number("args.shared memory"),
      .grid = sizes("args.grid"),
      .block = sizes("args.block"),
      .occupancy = number("args.est. achieved occupancy %") / 100};
}

// What one call launched.
struct LaunchedCall {
  double ps = 0, longest_ps = 0;
  std::string name, category;  // of its longest kernel
  std::optional<XplaneLaunch> launch;
};

class TorchReader {
 public:
  explicit TorchReader(std::string path) : path_(std::move(path)) {}

  TorchTrace read(const std::function<void(double)>& progress) {
    ByteSource source(path_);
    JsonRecordReader reader;
    reader.container = "traceEvents";
    reader.whole_arrays = true;
    reader.may_be_unfinished = true;
    reader.header = [this](const JsonField& field) { facts_.emplace(field.path, field.text); };
    std::size_t events = 0;
    reader.record = [&](const std::string& /*key*/, const JsonRecord& event) {
      add(event);
      if (++events % kTraceEventsPerReport == 0) progress(source.progress());
    };
    const bool complete = read_json_records(source, reader);
    TorchTrace trace = finish();
    if (!complete)
      trace.notes.emplace_back("ends without its closing bracket: its events are taken");
    progress(1);
    return trace;
  }

 private:
  void add(const JsonRecord& event) {
    if (field_of(event, "ph") != "X") return;
    const std::string_view category = field_of(event, "cat");
    const std::string id(field_of(event, "args.External id"));
    if (category == "cpu_op") {
      if (!id.empty()) op_of_call_[id] = op(event);
    } else if (category == "cuda_runtime" || category == "cuda_driver") {
      if (!id.empty()) launched_by_.emplace(field_of(event, "args.correlation"), id);
    } else if (category == "kernel" || category.starts_with("gpu_mem")) {
      add_kernel(event, category_of(category), id);
    }
  }

  void add_kernel(const JsonRecord& event, std::string category, const std::string& id) {
    const double us = base::parse_number<double>(field_of(event, "dur")).value_or(-1);
    if (!(us >= 0 && us <= kMaxUs)) {
      ++impossible_;
      return;
    }
    const std::string name(field_of(event, "name"));
    if (crosses_to_host(name)) {
      host_us_ += us;
      return;
    }
    devices_.emplace(field_of(event, "args.device"));
    LaunchedCall& call = id.empty()
                             ? by_launch_[std::string(field_of(event, "args.correlation"))][name]
                             : calls_[id];
    call.ps += us * kPsPerUs;
    if (us * kPsPerUs < call.longest_ps) return;
    call.longest_ps = us * kPsPerUs;
    call.name = name;
    call.category = std::move(category);
    call.launch = kineto_launch(event);
  }

  // The index of the operator with these arguments.
  std::size_t op(const JsonRecord& event) {
    TorchOp op{.name = std::string(field_of(event, "name")),
               .arguments = arguments_of(event),
               .times = {}};
    const auto [known, is_new] = by_text_.emplace(op.describe(), ops_.size());
    if (is_new) ops_.push_back(std::move(op));
    return known->second;
  }

  void add_call(const std::string& id, const LaunchedCall& call) {
    std::size_t index = 0;
    if (const auto found = op_of_call_.find(id); found != op_of_call_.end()) {
      index = found->second;
    } else {
      const auto [known, is_new] = by_text_.emplace(call.name, ops_.size());
      if (is_new) ops_.push_back({.name = call.name, .arguments = {}, .times = {}});
      index = known->second;
    }
    samples_[index].add(call.ps);
    XplaneTimes& times = ops_[index].times;
    times.category = call.category;
    if (call.launch) times.launch = call.launch;
  }

  TorchTrace finish() {
    for (const auto& [correlation, kernels] : by_launch_) {
      const auto by = launched_by_.find(correlation);
      for (const auto& [name, call] : kernels) {
        if (by == launched_by_.end()) {
          add_call("", call);
        } else {
          calls_.try_emplace(by->second, call);
        }
      }
    }
    for (const auto& [id, call] : calls_) add_call(id, call);
    TorchTrace trace{.device = device(), .ops = {}, .device_time = {}, .notes = {}};
    for (auto& [index, samples] : samples_) {
      TorchOp op = std::move(ops_[index]);
      samples.write_to(op.times);
      trace.device_time += op.times.total;
      trace.ops.push_back(std::move(op));
    }
    if (!(trace.device_time.value > 0)) {
      throw Error("{}: no kernel takes time: a trace of the host only, or none at all", path_);
    }
    std::ranges::stable_sort(trace.ops, std::greater<>(),
                             [](const TorchOp& op) { return op.times.total; });
    if (impossible_ > 0)
      trace.notes.push_back(fmt::format("{} kernels left out: without a duration", impossible_));
    if (host_us_ > 0) {
      trace.notes.push_back(fmt::format(
          "copies to and from the host, not part of the device time: {:.6g} us", host_us_));
    }
    return trace;
  }

  [[nodiscard]] XplaneDevice device() const {
    XplaneDevice device;
    const auto fact = [&](const char* name) {
      const auto found = facts_.find(fmt::format("deviceProperties[].{}", name));
      return found == facts_.end() ? std::string() : found->second;
    };
    device.type = fact("name");
    device.cores = static_cast<int>(devices_.size());
    device.facts["memory_size"] = fact("totalGlobalMem");
    device.facts["core_count"] = fact("numSms");
    return device;
  }

  std::string path_;
  std::map<std::string, std::string> facts_;  // the first of each name
  std::vector<TorchOp> ops_;
  std::unordered_map<std::string, std::size_t> by_text_, op_of_call_;
  std::unordered_map<std::string, std::string> launched_by_;  // correlation -> external id
  std::map<std::string, LaunchedCall> calls_;                 // by external id
  std::map<std::string, std::map<std::string, LaunchedCall>>
      by_launch_;                               // by correlation, without an id
  std::map<std::size_t, TimeSamples> samples_;  // by op
  std::set<std::string, std::less<>> devices_;
  std::int64_t impossible_ = 0;
  double host_us_ = 0;
};

}  // namespace

bool TorchOp::has_shapes() const {
  return std::ranges::any_of(arguments,
                             [](const TorchArgument& one) { return !one.shapes.empty(); });
}

std::string TorchOp::describe() const {
  std::string text = name;
  for (const TorchArgument& argument : arguments) {
    constexpr std::size_t kShown = 4;  // tensors of a list
    const std::string type = hlo_type(argument.type);
    for (std::size_t i = 0; i < std::min(kShown, argument.shapes.size()); ++i) {
      text += fmt::format(" {}[{}]{}", type, fmt::join(argument.shapes[i], ","),
                          argument.transposed ? "^T" : "");
    }
    if (argument.shapes.size() > kShown)
      text += fmt::format(" ... {} tensors", argument.shapes.size());
    if (argument.value.starts_with('[')) text += " " + argument.value;
    if (argument.value == "True") text += " True";
  }
  return text;
}

std::string hlo_type(std::string_view type) {
  const auto* found =
      std::ranges::find(kTypes, type, &std::pair<std::string_view, std::string_view>::first);
  return found == kTypes.end() ? std::string() : std::string(found->second);
}

bool is_torch_trace(const std::string& path) {
  std::string bytes;
  try {
    if (!ByteSource(path).read_more(bytes)) return false;
  } catch (const Error&) {
    return false;
  }
  return base::trim(bytes, " \t\r\n").starts_with('{') &&
         bytes.find("\"traceEvents\"") != std::string::npos &&
         (bytes.find("\"deviceProperties\"") != std::string::npos ||
          bytes.find("\"cpu_op\"") != std::string::npos);
}

TorchTrace read_torch_trace(const std::string& path, const std::function<void(double)>& progress) {
  return TorchReader(path).read(progress);
}

}  // namespace tilecast::measured
