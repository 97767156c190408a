#include "measured/importers/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "base/text.h"
#include "measured/importers/json_records.h"

namespace tilecast::measured {
namespace {

constexpr std::size_t kMaxNames = 1'000'000;
constexpr std::size_t kEventsPerReport = 4096;
constexpr std::size_t kMaxOpen = 4096;  // open events per lane
constexpr std::string_view kOpsLane = "XLA Ops", kModulesLane = "XLA Modules";
constexpr std::array<std::string_view, 8> kSummaries{
    "Steps",       "XLA Modules",           "Framework Ops",  "Framework Name Scope",
    "Source code", "TensorFlow Name Scope", "TensorFlow Ops", "XLA TraceMe"};

struct Lane {
  std::string process, thread;
  auto operator<=>(const Lane&) const = default;
};

struct Sum {
  double n = 0, seconds = 0, squares = 0;
};

double number_or_nan(const std::string& text) {
  return base::parse_number(text).value_or(std::nan(""));
}

std::string text_of(const JsonRecord& event, std::string_view path) {
  const std::string* found = find_field(event, path);
  return found == nullptr ? std::string() : *found;
}

std::string without_percent(std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  return name;
}

std::string instruction_of(const JsonRecord& event) {
  if (const std::string op = text_of(event, "args.hlo_op"); !op.empty()) return without_percent(op);
  const std::string text = text_of(event, "args.long_name");
  if (const std::size_t end = text.find(" = "); end != std::string::npos) {
    return without_percent(text.substr(0, end));
  }
  return without_percent(text_of(event, "name"));
}

// "jit_step(17)" -> "jit_step"
std::string module_of(const std::string& name) {
  return name.substr(0, name.find('('));
}

// One file's events.
class Events {
 public:
  Events(const std::string& file, const TraceOptions& options, ImportReport& report)
      : file_(file), options_(options), report_(report) {}

  void add(const JsonRecord& event) {
    ++events_;
    const std::string phase = text_of(event, "ph");
    if (phase == "M") return add_name(event);
    if (phase == "B") return open(event);
    if (phase != "X" && phase != "E") return;
    try {
      if (phase == "X") add_time(event);
      if (phase == "E") close(event);
    } catch (const RowError& error) {
      if (!options_.keep_going) throw;
      report_.add_bad(error);
    }
  }

  void summarise(TraceSummary& summary) const;

 private:
  // Identifies a lane's events of one instruction by name, because an instruction may run several
  // kernels. Programs with the same name are distinguished by their ids, if events have them.
  struct Key {
    Lane lane;
    std::string program, instruction, event;
    auto operator<=>(const Key&) const = default;
  };

  // Begin and end of an event; the latest open event of a lane ends first.
  void open(const JsonRecord& event) {
    std::vector<JsonRecord>& open = open_[{text_of(event, "pid"), text_of(event, "tid")}];
    if (open.size() >= kMaxOpen) throw Error(file_ + ": events nest deeper than a lane can");
    open.push_back(event);
  }
  void close(const JsonRecord& event) {
    std::vector<JsonRecord>& open = open_[{text_of(event, "pid"), text_of(event, "tid")}];
    if (open.empty()) {
      ++report_.left_out["ends of events that did not begin"];
      return;
    }
    JsonRecord whole = std::move(open.back());
    open.pop_back();
    const double us = number_or_nan(text_of(event, "ts")) - number_or_nan(text_of(whole, "ts"));
    whole.push_back({"dur", fmt::format("{}", us), false});
    add_time(whole);
  }

  void add_name(const JsonRecord& event) {
    const std::string what = text_of(event, "name"), process = text_of(event, "pid");
    if (what == "process_name") processes_[process] = text_of(event, "args.name");
    if (what == "thread_name") {
      threads_[{process, text_of(event, "tid")}] = text_of(event, "args.name");
    }
    limit(processes_.size() + threads_.size());
  }

  void add_time(const JsonRecord& event) {
    const std::string exact_ps = text_of(event, "args.device_duration_ps");
    const std::string us = text_of(event, "dur"), launches = text_of(event, "args.launches");
    const double seconds =
        exact_ps.empty() ? number_or_nan(us) * 1e-6 : number_or_nan(exact_ps) * 1e-12;
    const double n = launches.empty() ? 1 : number_or_nan(launches);
    if (!(seconds >= 0) || !std::isfinite(seconds) || !(n >= 0) || !std::isfinite(n)) {
      throw RowError(
          fmt::format("{}: event {} '{}': dur is '{}', launches '{}'; expected times of "
                      "at least 0 us",
                      file_, events_, text_of(event, "name"), us, launches));
    }
    if (n == 0) return;
    const std::string module = text_of(event, "args.hlo_module");
    if (!module.empty() && !options_.module.empty() && module_of(module) != options_.module) {
      ++report_.left_out["events of other modules"];
      return;
    }
    is_kineto_ = is_kineto_ || text_of(event, "cat") == "kernel";
    Sum& sum =
        sums_[{Lane{text_of(event, "pid"), text_of(event, "tid")},
               text_of(event, "args.program_id"), instruction_of(event), text_of(event, "name")}];
    limit(sums_.size());
    sum.n += n;
    sum.seconds += seconds;
    sum.squares += seconds * (seconds / n);
  }

  void limit(std::size_t names) const {
    if (names > kMaxNames) {
      throw Error(fmt::format("{}: more than {} different names", file_, kMaxNames));
    }
  }

  [[nodiscard]] std::string process(const Lane& lane) const {
    const auto found = processes_.find(lane.process);
    return found == processes_.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::string thread(const Lane& lane) const {
    const auto found = threads_.find(lane);
    return found == threads_.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::set<Lane> lanes_that_count(bool& found_devices) const;

  const std::string& file_;
  const TraceOptions& options_;
  ImportReport& report_;
  std::size_t events_ = 0;
  bool is_kineto_ = false;
  std::map<std::string, std::string> processes_;
  std::map<Lane, std::string> threads_;
  std::map<Lane, std::vector<JsonRecord>> open_;  // begun but not ended
  std::map<Key, Sum> sums_;
};

std::set<Lane> Events::lanes_that_count(bool& found_devices) const {
  std::set<Lane> all;
  std::set<std::string> with_ops;  // processes with a lane of ops
  for (const auto& [key, sum] : sums_) all.insert(key.lane);
  found_devices = std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    return entry.second.starts_with("/device:");
  });
  if (!found_devices) return all;
  for (const Lane& lane : all) {
    if (thread(lane) == kOpsLane) with_ops.insert(lane.process);
  }
  std::erase_if(all, [&](const Lane& lane) {
    if (!process(lane).starts_with("/device:")) return true;
    const std::string name = thread(lane);
    if (with_ops.contains(lane.process)) return name != kOpsLane;
    return std::find(kSummaries.begin(), kSummaries.end(), name) != kSummaries.end();
  });
  return all;
}

// Adds `n` occurrences with the given total `seconds` and `variance` to `times`.
void join(TraceTimes& times, double n, double seconds, double variance) {
  const double all = times.occurrences + n;
  const double a = times.occurrences > 0 ? times.mean().value : 0, b = seconds / n;
  const double squares = times.occurrences * times.spread.value * times.spread.value +
                         n * variance + times.occurrences * n / all * (a - b) * (a - b);
  times.spread = Seconds{std::sqrt(std::max(squares / all, 0.0))};
  times.occurrences = all;
  times.total += Seconds{seconds};
}

double variance(const Sum& sum) {
  const double mean = sum.seconds / sum.n;
  return std::max(sum.squares / sum.n - mean * mean, 0.0);
}

void Events::summarise(TraceSummary& summary) const {
  bool found_devices = false;
  const std::set<Lane> lanes = lanes_that_count(found_devices);
  summary.found_devices = summary.found_devices || found_devices;
  summary.is_kineto = summary.is_kineto || is_kineto_;
  for (const auto& [lane, open] : open_) {
    if (!open.empty()) report_.left_out["events without an end"] += std::ssize(open);
  }
  for (const Lane& lane : lanes) {
    summary.lanes.push_back(fmt::format("{} {}", process(lane), thread(lane)));
  }
  struct Device {
    double occurrences = 0, seconds = 0, variance = 0;
    int names = 0;
  };
  // By process, program and instruction.
  std::map<std::tuple<std::string, std::string, std::string>, Device> per_device;
  for (const auto& [key, sum] : sums_) {
    const auto& [lane, program, instruction, event] = key;
    if (found_devices && thread(lane) == kModulesLane && process(lane).starts_with("/device:")) {
      join(summary.modules[module_of(event)], sum.n, sum.seconds, variance(sum));
    }
    if (!lanes.contains(lane)) continue;
    Device& device = per_device[{lane.process, program, instruction}];
    device.occurrences = std::max(device.occurrences, sum.n);
    device.seconds += sum.seconds;
    device.variance = ++device.names == 1 ? variance(sum) : 0;
  }
  for (const auto& [key, device] : per_device) {
    join(summary.instructions[std::get<2>(key)], device.occurrences, device.seconds,
         device.variance);
  }
}

}  // namespace

TraceSummary read_traces(const std::vector<std::string>& files, const TraceOptions& options,
                         ImportReport& report) {
  TraceSummary summary;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ByteSource source(files[i]);
    Events events(files[i], options, report);
    std::size_t read = 0;
    JsonRecordReader reader;
    reader.container = "traceEvents";
    reader.top_array = true;
    reader.record = [&](const std::string& /*key*/, const JsonRecord& event) {
      events.add(event);
      if (++read % kEventsPerReport == 0) {
        options.progress((static_cast<double>(i) + source.progress()) /
                         static_cast<double>(files.size()));
      }
    };
    reader.may_be_unfinished = true;
    if (!read_json_records(source, reader)) {
      report.notes.push_back(files[i] + ": ends without its closing bracket: its events are taken");
    }
    if (read == 0) throw Error(files[i] + ": no traceEvents; not a Chrome or Perfetto JSON trace");
    events.summarise(summary);
  }
  options.progress(1);
  return summary;
}

}  // namespace tilecast::measured
