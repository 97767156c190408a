#include "measured/importers/xplane.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/xplane_events.h"
#include "measured/importers/xplane_names.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
// Of TensorBoard's layout of profiles: LOGDIR/plugins/profile/RUN/HOST.xplane.pb.
constexpr int kRunDepth = 3;

// The path of a file stands for itself, that of a folder for all hosts of its newest run (by run
// name, which is a time stamp). Throws Error if there are none.
std::vector<std::string> xplane_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::error_code failure;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, failure)) {
      files.push_back(path);
      continue;
    }
    std::map<std::string, std::vector<std::string>> runs;
    const auto skip = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator entry(path, skip, failure), end;
    for (; !failure && entry != end; entry.increment(failure)) {
      if (entry.depth() >= kRunDepth) entry.disable_recursion_pending();
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".xplane.pb") || name.ends_with(".xplane.pb.gz")) {
        runs[entry->path().parent_path().filename().string()].push_back(entry->path().string());
      }
    }
    if (runs.empty()) {
      throw Error(
          fmt::format("{}: holds no profile; expected *.xplane.pb in the folder or in "
                      "plugins/profile/RUN below it",
                      path));
    }
    std::vector<std::string>& newest = runs.rbegin()->second;
    std::sort(newest.begin(), newest.end());
    files.insert(files.end(), newest.begin(), newest.end());
  }
  if (files.empty()) throw Error("expected a profile (*.xplane.pb)");
  return files;
}

constexpr std::int64_t kMaxPs = std::int64_t{1} << 61;   // 27 days
constexpr std::int64_t kMaxOccurrences = 1'000'000'000;  // per event
constexpr std::int64_t kEventsPerProgress = 1 << 17;
constexpr double kSecondsPerPs = 1e-12, kNamesReadShare = 0.2;

enum class LineKind { kIgnored, kModules, kOps, kTransfers, kSteps, kStream, kThread };

LineKind line_kind(std::string_view name, const XplanePlane& plane) {
  if (plane.is_processor) return LineKind::kThread;
  if (plane.has_streams) return name.starts_with("Stream") ? LineKind::kStream : LineKind::kIgnored;
  if (name == "XLA Ops" || name == "Sparse Core Ops") return LineKind::kOps;
  if (plane.is_sparse_core) return LineKind::kIgnored;
  if (name == "XLA Modules") return LineKind::kModules;
  if (name == "Async XLA Ops") return LineKind::kTransfers;
  return name == "Steps" ? LineKind::kSteps : LineKind::kIgnored;
}

// What a kernel of a launched graph is called in XLA ("command_buffer_1").
constexpr std::string_view kGraphInstruction = "command_buffer";

// "regs:20 static_shared:32 dynamic_shared:0 grid:8192,1,1 block:256,1,1 occ_pct:100"
std::optional<XplaneLaunch> launch_of(std::string_view details) {
  if (!details.starts_with("regs:")) return std::nullopt;
  XplaneLaunch launch;
  while (!details.empty()) {
    const std::size_t end = std::min(details.find(' '), details.size());
    const std::string_view word = details.substr(0, end);
    details.remove_prefix(std::min(end + 1, details.size()));
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string_view key = word.substr(0, colon);
    std::string value(word.substr(std::min(colon + 1, word.size())));
    const double number = base::parse_number(value).value_or(0);
    std::ranges::replace(value, ',', 'x');
    if (key == "regs") launch.registers = static_cast<int>(std::clamp(number, 0.0, 1e6));
    if (key.ends_with("_shared")) launch.shared_bytes += number;
    if (key == "grid") launch.grid = value;
    if (key == "block") launch.block = value;
    if (key == "occ_pct") launch.occupancy = number / 100;
  }
  return launch;
}

bool is_host_transfer(std::string_view name) {
  return name.starts_with("MemcpyH2D") || name.starts_with("MemcpyD2H");
}

class ProfileReader {
 public:
  explicit ProfileReader(const XplaneOptions& options) : options_(options) {}

  void read(const std::string& path, double done, double share);
  XplaneProfile profile();

 private:
  void read_line(ProtoFields& fields, const XplanePlane& plane);
  std::optional<XplaneEvent> event_of(const xplane::Event& event, const XplanePlane& plane,
                                      bool named_by_stats);
  void add(const XplaneEvent& event, LineKind kind, const XplanePlane& plane,
           StreamKernels& stream);
  void add_nested(const XplaneEvent& event, std::int64_t self_ps);
  void add_module_run(const XplaneEvent& event, const std::string& name, bool remember);
  std::uint64_t program_at(std::int64_t time_ps) const;
  XplaneTimes times_of(const XplaneTally::Instruction& of) const;
  XplaneGraph graph_of(std::uint32_t instruction,
                       const std::map<XplaneTally::NodeKey, XplaneTally::GraphNode>& nodes) const;
  XplaneModule module_of(const XplaneRunKey& key, const XplaneTally::Program& program) const;
  void add_device(XplaneProfile& profile) const;
  void add_notes(XplaneProfile& profile) const;

  const XplaneOptions& options_;
  std::function<void()> report_progress_;
  XplaneNames names_;
  XplaneTally tally_;
  std::map<std::uint64_t, std::string> module_names_;                    // from lines "XLA Modules"
  std::map<std::int64_t, std::pair<std::int64_t, std::uint64_t>> runs_;  // per plane: start -> end
  std::set<std::string> planes_, lines_, ignored_;
  std::int64_t events_ = 0, impossible_ = 0;
  int cores_ = 0, device_ = 0;  // device: the plane that is read
};

// `correlation` identifies the launch of a graph, where no scope does.
void set_graph(const xplane::Stat& stat, XplaneStat known, XplaneEvent& event,
               std::uint64_t& correlation) {
  const std::uint64_t id = XplaneNames::id(stat);
  if (known == XplaneStat::kScope) event.scope = id;
  if (known == XplaneStat::kCorrelation) correlation = id;
  if (known == XplaneStat::kGraph) event.graph = id;
  if (known == XplaneStat::kGraphNode) event.node = id;
}

std::optional<XplaneEvent> ProfileReader::event_of(const xplane::Event& event,
                                                   const XplanePlane& plane, bool named_by_stats) {
  const auto found = plane.events.find(event.metadata_id());
  if (found == plane.events.end()) {
    ++impossible_;
    return std::nullopt;
  }
  const XplaneEventKind& kind = names_.kinds[found->second];
  XplaneEvent result{.start_ps = event.offset_ps(),
                     .duration_ps = event.duration_ps(),
                     .count = std::clamp<std::int64_t>(event.num_occurrences(), 1, kMaxOccurrences),
                     .kind = found->second,
                     .instruction = kind.name,
                     .program = kind.program};
  if (named_by_stats) result.instruction = 0;
  std::optional<double> device_start, device_duration;
  std::uint64_t correlation = 0;
  for (const xplane::Stat& stat : event.stats()) {
    const auto known = plane.stats.find(stat.metadata_id());
    if (known == plane.stats.end()) continue;
    if (known->second == XplaneStat::kDeviceOffset) {
      device_start = XplaneNames::number(stat);
    } else if (known->second == XplaneStat::kDeviceDuration) {
      device_duration = XplaneNames::number(stat);
    } else if (known->second == XplaneStat::kProgram) {
      result.program = XplaneNames::id(stat);
    } else if (named_by_stats && known->second == XplaneStat::kInstruction) {
      result.instruction = names_.text(stat, plane);
    } else if (named_by_stats && known->second == XplaneStat::kModule) {
      result.module = names_.text(stat, plane);
    } else if (known->second == XplaneStat::kKernelDetails) {
      result.details = names_.text(stat, plane);
    } else {
      set_graph(stat, known->second, result, correlation);
    }
  }
  result.in_graph =
      result.instruction != 0 &&
      (result.node != 0 || names_.texts.at(result.instruction).starts_with(kGraphInstruction));
  if (result.in_graph && result.scope == 0) result.scope = correlation;
  // Uses the device's own clock if available; the other one is fitted to the host's.
  if (device_start && device_duration && std::max(*device_start, *device_duration) <= kMaxPs) {
    result.start_ps = static_cast<std::int64_t>(*device_start);
    result.duration_ps = static_cast<std::int64_t>(*device_duration);
  }
  if (result.start_ps < 0 || result.duration_ps < 0 ||
      std::max(result.start_ps, result.duration_ps) > kMaxPs) {
    ++impossible_;
    return std::nullopt;
  }
  return result;
}

void ProfileReader::add_nested(const XplaneEvent& event, std::int64_t self_ps) {
  const auto time = static_cast<double>(self_ps);
  tally_.device_ps += time;
  const std::uint64_t program = event.program ? *event.program : program_at(event.start_ps);
  tally_.add({program, 0}, event.instruction, event, time);
}

void ProfileReader::add_module_run(const XplaneEvent& event, const std::string& name,
                                   bool remember) {
  auto [id, module] = program_of_name(name, event.program.value_or(0));
  tally_.programs[{id, 0}].runs.add(static_cast<double>(event.duration_ps), event.count);
  module_names_[id] = std::move(module);
  if (remember) runs_[event.start_ps] = {event.end_ps(), id};
}

// The module that ran at this time, if ops do not name it.
std::uint64_t ProfileReader::program_at(std::int64_t time_ps) const {
  const auto after = runs_.upper_bound(time_ps);
  if (after == runs_.begin()) return 0;
  const auto& [end, program] = std::prev(after)->second;
  return time_ps < end ? program : 0;
}

void ProfileReader::add(const XplaneEvent& event, LineKind kind, const XplanePlane& plane,
                        StreamKernels& stream) {
  const auto time = static_cast<double>(event.duration_ps);
  const std::string& name = names_.texts.at(names_.kinds[event.kind].name);
  if (kind == LineKind::kSteps) {
    tally_.steps.add(time, event.count);
  } else if (kind == LineKind::kModules) {
    add_module_run(event, name, !plane.names_programs);
  } else if (kind == LineKind::kTransfers) {
    auto& entry = tally_.programs[{event.program.value_or(0), 0}].transfers[event.instruction];
    entry.times.add(time, event.count);
    entry.kind = event.kind;
  } else if (event.instruction != 0) {
    tally_.device_ps += time;
    stream.add(event);
  } else if (is_host_transfer(name)) {
    tally_.host_transfers_ps += time;
  } else {
    tally_.device_ps += time;
    tally_.nameless[names_.kinds[event.kind].name].add(time, event.count);
  }
}

void ProfileReader::read_line(ProtoFields& fields, const XplanePlane& plane) {
  LineKind kind = LineKind::kIgnored;
  StreamKernels stream(tally_, device_);
  SelfTimes self([&](const XplaneEvent& event, std::int64_t ps) { add_nested(event, ps); });
  xplane::Event message;
  std::string name;
  bool any = false;
  while (fields.next()) {
    if (fields.field() == xplane_field::kName) {
      name = fields.bytes();
      kind = line_kind(name, plane);
    } else if (fields.field() == xplane_field::kEvents) {
      if (kind == LineKind::kIgnored) {
        if (!name.empty()) ignored_.insert(name);
        return;
      }
      if (++events_ % kEventsPerProgress == 0) report_progress_();
      fields.parse(message);
      const bool is_thread = kind == LineKind::kThread;
      const auto event = event_of(message, plane, kind == LineKind::kStream || is_thread);
      if (is_thread && (!event || event->instruction == 0)) continue;
      any = true;
      if (!event) continue;
      kind == LineKind::kOps || is_thread ? self.add(*event) : add(*event, kind, plane, stream);
    }
  }
  self.finish();
  stream.finish();
  if (!any) return;
  lines_.insert(name);
  if (!plane.is_sparse_core) planes_.insert(plane.name);
}

void ProfileReader::read(const std::string& path, double done, double share) {
  const std::vector<XplanePlane> planes = names_.read(path);
  options_.progress(done + kNamesReadShare * share);
  planes_.clear();
  std::size_t at = 0;
  ProtoStream stream(path);
  report_progress_ = [&] {
    options_.progress(done + share * (kNamesReadShare + (1 - kNamesReadShare) * stream.progress()));
  };
  stream.for_each([&](ProtoFields& top) {
    if (top.field() != xplane_field::kPlanes) return;
    const XplanePlane& plane = planes[at++];
    if (!plane.is_device) return;
    ++device_;
    runs_.clear();
    top.enter([&](ProtoFields& fields) {
      while (fields.next()) {
        if (fields.field() != xplane_field::kLines) continue;
        fields.enter([&](ProtoFields& line) { read_line(line, plane); });
        report_progress_();
      }
    });
  });
  cores_ += static_cast<int>(planes_.size());
}

XplaneTimes ProfileReader::times_of(const XplaneTally::Instruction& of) const {
  const XplaneEventKind& facts = names_.kinds[of.kind];
  XplaneTimes times{.category = names_.texts.at(facts.category),
                    .flops = facts.flops,
                    .bytes_accessed = facts.bytes_accessed,
                    .model_flops = facts.model_flops,
                    .launch = launch_of(names_.texts.at(of.details))};
  of.times.write_to(times);
  return times;
}

XplaneModule ProfileReader::module_of(const XplaneRunKey& key,
                                      const XplaneTally::Program& program) const {
  XplaneModule module{.name = names_.texts.at(key.module), .program_id = key.program};
  if (const auto named = module_names_.find(key.program);
      module.name.empty() && named != module_names_.end()) {
    module.name = named->second;
  }
  if (const auto* found = names_.find({key.program, module.name})) {
    std::tie(module.program_id, module.name) = found->first;
    module.hlo_proto = found->second;
  }
  program.runs.write_to(module.runs);
  for (const auto& [name, entry] : program.instructions) {
    module.instructions[names_.texts.at(name)] = times_of(entry);
  }
  for (const auto& [name, entry] : program.transfers) {
    XplaneTimes& times = module.transfers[names_.texts.at(name)];
    times = times_of(entry);
    times.asynchronous = true;
  }
  for (const auto& [graph, nodes] : program.graphs) {
    module.graphs.push_back(graph_of(graph.instruction, nodes));
  }
  return module;
}

XplaneGraph ProfileReader::graph_of(
    std::uint32_t instruction,
    const std::map<XplaneTally::NodeKey, XplaneTally::GraphNode>& nodes) const {
  std::vector<const XplaneTally::GraphNode*> by_start;
  for (const auto& [key, node] : nodes) by_start.push_back(&node);
  std::ranges::stable_sort(by_start, {}, &XplaneTally::GraphNode::start_ps);
  XplaneGraph graph{.instruction = names_.texts.at(instruction), .nodes = {}};
  for (const XplaneTally::GraphNode* node : by_start) {
    graph.nodes.push_back({names_.texts.at(names_.kinds[node->kind].name), times_of(*node)});
  }
  return graph;
}

void ProfileReader::add_device(XplaneProfile& profile) const {
  XplaneDevice& device = profile.device;
  device.facts = names_.device_facts;
  device.cores = cores_;
  const auto text = [&](const char* name) {
    const auto found = device.facts.find(name);
    return found == device.facts.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* name, double unit) {
    const std::string value = text(name);
    double result = 0;
    std::from_chars(value.data(), value.data() + value.size(), result);
    return std::isfinite(result) ? std::max(result * unit, 0.0) : 0.0;
  };
  device.type = text("device_type_string");
  if (device.type.empty()) device.type = text("gpu_device_name");
  device.vendor = text("device_vendor");
  if (device.vendor.empty() && device.type.starts_with("TPU")) device.vendor = "Google";
  device.peak_flops = number("peak_teraflops_per_second", 1e12);
  device.peak_bytes = number("peak_hbm_bw_gigabytes_per_second", 1e9);
  if (device.peak_bytes == 0) device.peak_bytes = number("memory_bandwidth", 1);
  device.clock_hz = number("clock_rate", 1e3);
}

void ProfileReader::add_notes(XplaneProfile& profile) const {
  profile.notes.push_back(fmt::format("lines read: {}", fmt::join(lines_, ", ")));
  if (!ignored_.empty()) {
    profile.notes.push_back(
        fmt::format("lines of devices not read: {}", fmt::join(ignored_, ", ")));
  }
  if (impossible_ > 0) {
    profile.notes.push_back(
        fmt::format("{} events left out: without a name, or with an impossible time", impossible_));
  }
}

XplaneProfile ProfileReader::profile() {
  XplaneProfile profile;
  add_device(profile);
  for (const auto& [key, program] : tally_.programs) {
    profile.modules.push_back(module_of(key, program));
  }
  const auto busy = [](const XplaneModule& module) {
    double seconds = 0;
    for (const auto& [name, times] : module.instructions) seconds += times.total.value;
    for (const XplaneGraph& graph : module.graphs) {
      for (const auto& [name, times] : graph.nodes) seconds += times.total.value;
    }
    return seconds;
  };
  std::stable_sort(profile.modules.begin(), profile.modules.end(),
                   [&](const auto& a, const auto& b) { return busy(a) > busy(b); });
  for (const auto& [id, samples] : tally_.nameless) {
    const std::string& name = names_.texts.at(id);
    const std::string_view transfer = transfer_category(name);
    profile.left_over.push_back({std::string(transfer.empty() ? "no instruction named" : transfer),
                                 name, samples.count(), samples.total()});
  }
  std::stable_sort(profile.left_over.begin(), profile.left_over.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
  tally_.steps.write_to(profile.steps);
  profile.device_time = Seconds{tally_.device_ps * kSecondsPerPs};
  profile.host_transfers = Seconds{tally_.host_transfers_ps * kSecondsPerPs};
  add_notes(profile);
  return profile;
}

}  // namespace

XplaneProfile read_xplane(const std::vector<std::string>& paths, const XplaneOptions& options) {
  const std::vector<std::string> files = xplane_files(paths);
  ProfileReader reader(options);
  const double share = 1.0 / static_cast<double>(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    reader.read(files[i], static_cast<double>(i) * share, share);
  }
  XplaneProfile profile = reader.profile();
  if (profile.device_time.value <= 0) {
    throw Error(fmt::format(
        "{}: no time of instructions on a device plane (/device:TPU:0 ...) nor of XLA:CPU: a "
        "profile of the host only, or none at all",
        files.front()));
  }
  options.progress(1);
  return profile;
}

std::string_view transfer_category(std::string_view name) {
  for (const std::string_view copy : {"Memcpy", "memcpy", "copyBuffer", "CopyBuffer"}) {
    if (name.find(copy) != std::string_view::npos) return "memcpy";
  }
  for (const std::string_view fill : {"Memset", "memset", "fillBuffer", "FillBuffer"}) {
    if (name.find(fill) != std::string_view::npos) return "memset";
  }
  return "";
}

// Recognises the first plane: field 1, then its id (field 1, a varint) if present, then its name.
bool is_xplane(const std::string& path) {
  constexpr char kPlanes = 0x0a, kId = 0x08, kName = 0x12;
  std::string bytes;
  try {
    if (!ByteSource(path).read_more(bytes) || bytes.front() != kPlanes) return false;
  } catch (const Error&) {
    return false;
  }
  std::size_t at = 1;
  const auto skip_number = [&] {
    while (at < bytes.size() && (bytes[at] & 0x80) != 0) ++at;
    ++at;
  };
  skip_number();
  if (at < bytes.size() && bytes[at] == kId) {
    ++at;
    skip_number();
  }
  return at < bytes.size() && bytes[at] == kName;
}

}  // namespace tilecast::measured
