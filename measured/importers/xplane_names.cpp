#include "measured/importers/xplane_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tilecast::measured {
namespace {

constexpr std::array<std::pair<std::string_view, XplaneStat>, 14> kStatNames = {{
    {"hlo_op", XplaneStat::kInstruction},
    {"hlo_module", XplaneStat::kModule},
    {"program_id", XplaneStat::kProgram},
    {"hlo_category", XplaneStat::kCategory},
    {"flops", XplaneStat::kFlops},
    {"model_flops", XplaneStat::kModelFlops},
    {"bytes_accessed", XplaneStat::kBytesAccessed},
    {"device_offset_ps", XplaneStat::kDeviceOffset},
    {"device_duration_ps", XplaneStat::kDeviceDuration},
    {"scope_range_id", XplaneStat::kScope},
    {"correlation_id", XplaneStat::kCorrelation},
    {"cuda_graph_id", XplaneStat::kGraph},
    {"cuda_graph_node_id", XplaneStat::kGraphNode},
    {"kernel_details", XplaneStat::kKernelDetails},
}};

bool is_host(const XplanePlane& plane) {
  return plane.name.starts_with("/host:CPU");
}

bool names_instructions(const XplanePlane& plane) {
  return std::ranges::any_of(
      plane.stats, [](const auto& stat) { return stat.second == XplaneStat::kInstruction; });
}

// XLA:CPU writes instructions among the host's own events. Beside devices these are not read.
void take_host_for_device(std::vector<XplanePlane>& planes) {
  if (std::ranges::any_of(planes, &XplanePlane::is_device)) return;
  for (XplanePlane& plane : planes) {
    plane.is_device = plane.is_processor = is_host(plane) && names_instructions(plane);
  }
}

std::string_view instruction_name(std::string_view name) {
  name = name.substr(0, name.find(" = "));
  if (name.starts_with('%')) name.remove_prefix(1);
  return name;
}

}  // namespace

std::uint32_t TextPool::add(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

XplaneProgram program_of_name(std::string_view name, std::uint64_t otherwise) {
  const std::size_t open = name.rfind('(');
  if (open != std::string_view::npos && name.ends_with(')')) {
    std::uint64_t id = 0;
    const char* end = name.data() + name.size() - 1;
    const auto [stop, failure] = std::from_chars(name.data() + open + 1, end, id);
    if (failure == std::errc{} && stop == end) return {id, std::string(name.substr(0, open))};
  }
  return {otherwise, std::string(name)};
}

std::uint32_t XplaneNames::text(const xplane::Stat& stat, const XplanePlane& plane) {
  if (stat.has_str_value()) return texts.add(stat.str_value());
  if (!stat.has_ref_value()) return 0;
  const auto found = plane.texts.find(static_cast<std::int64_t>(stat.ref_value()));
  return found == plane.texts.end() ? 0 : found->second;
}

std::optional<double> XplaneNames::number(const xplane::Stat& stat) {
  switch (stat.value_case()) {
    case xplane::Stat::kDoubleValue:
      return stat.double_value();
    case xplane::Stat::kUint64Value:
      return static_cast<double>(stat.uint64_value());
    case xplane::Stat::kInt64Value:
      return static_cast<double>(stat.int64_value());
    default:
      return std::nullopt;
  }
}

std::uint64_t XplaneNames::id(const xplane::Stat& stat) {
  return stat.has_uint64_value() ? stat.uint64_value()
                                 : static_cast<std::uint64_t>(stat.int64_value());
}

void XplaneNames::read_stat_names(ProtoFields& fields, XplanePlane& plane) {
  xplane::StatName entry;
  while (fields.next()) {
    if (fields.field() == xplane_field::kName) {
      plane.name = fields.bytes();
      plane.is_device = plane.name.starts_with("/device:");
      plane.is_sparse_core = plane.name.find("SparseCore") != std::string::npos;
    } else if (fields.field() == xplane_field::kStatNames && (plane.is_device || is_host(plane))) {
      fields.parse(entry);
      const std::string& name = entry.value().name();
      plane.texts[entry.key()] = texts.add(name);
      const auto* found = std::find_if(kStatNames.begin(), kStatNames.end(),
                                       [&](const auto& known) { return known.first == name; });
      if (found != kStatNames.end()) plane.stats[entry.key()] = found->second;
    }
  }
}

void XplaneNames::add_event(const xplane::EventName& entry, XplanePlane& plane) {
  XplaneEventKind kind{.name = texts.add(instruction_name(entry.value().name()))};
  for (const xplane::Stat& stat : entry.value().stats()) {
    const auto found = plane.stats.find(stat.metadata_id());
    if (found == plane.stats.end()) continue;
    switch (found->second) {
      case XplaneStat::kProgram:
        kind.program = id(stat);
        plane.names_programs = true;
        break;
      case XplaneStat::kCategory:
        kind.category = text(stat, plane);
        break;
      case XplaneStat::kFlops:
        kind.flops = number(stat);
        break;
      case XplaneStat::kModelFlops:
        kind.model_flops = number(stat);
        break;
      case XplaneStat::kBytesAccessed:
        kind.bytes_accessed = number(stat);
        break;
      default:
        break;
    }
  }
  const auto [known, is_new] =
      known_kinds_.emplace(std::tuple{kind.name, kind.category, kind.program.value_or(0)},
                           static_cast<std::uint32_t>(kinds.size()));
  if (is_new) kinds.push_back(kind);
  plane.events[entry.key()] = known->second;
}

// The module's proto is a stat ("Hlo Proto") or, in older profiles, the entry's metadata.
void XplaneNames::add_program(const xplane::EventName& entry) {
  const std::string* proto = &entry.value().metadata();
  for (const xplane::Stat& stat : entry.value().stats()) {
    if (stat.has_bytes_value() && proto->empty()) proto = &stat.bytes_value();
  }
  if (proto->empty()) return;
  protos.try_emplace(program_of_name(entry.value().name(), static_cast<std::uint64_t>(entry.key())),
                     *proto);
}

void XplaneNames::read_event_names(ProtoFields& fields, XplanePlane& plane) {
  const bool is_metadata = plane.name.starts_with("/host:metadata");
  if (!plane.is_device && !is_metadata) return;
  const bool wants_facts = plane.is_device && device_facts.empty();
  xplane::EventName entry;
  xplane::Stat stat;
  while (fields.next()) {
    if (fields.field() == xplane_field::kEventNames) {
      fields.parse(entry);
      is_metadata ? add_program(entry) : add_event(entry, plane);
    } else if (fields.field() == xplane_field::kLines && plane.is_device) {
      fields.enter([&](ProtoFields& line) {
        while (line.next() && line.field() != xplane_field::kName) {
        }
        if (line.field() == xplane_field::kName && line.bytes().starts_with("Stream"))
          plane.has_streams = true;
      });
    } else if (fields.field() == xplane_field::kStats && wants_facts) {
      fields.parse(stat);
      const auto name = plane.texts.find(stat.metadata_id());
      if (name == plane.texts.end()) continue;
      const std::optional<double> value = number(stat);
      device_facts[texts.at(name->second)] =
          value ? fmt::format("{}", *value) : texts.at(text(stat, plane));
    }
  }
}

const std::pair<const XplaneProgram, std::string>* XplaneNames::find(
    const XplaneProgram& program) const {
  const auto& [id, name] = program;
  if (id != 0) {
    auto found = protos.find(program);
    if (found == protos.end()) found = protos.lower_bound({id, ""});
    return found != protos.end() && found->first.first == id ? &*found : nullptr;
  }
  const auto fits = [&](const auto& entry) { return name.empty() || entry.first.second == name; };
  const auto first = std::find_if(protos.begin(), protos.end(), fits);
  const bool unique =
      first != protos.end() && std::find_if(std::next(first), protos.end(), fits) == protos.end();
  return unique ? &*first : nullptr;
}

std::vector<XplanePlane> XplaneNames::read(const std::string& path) {
  std::vector<XplanePlane> planes;
  const auto for_each_plane = [&](auto&& visit) {
    ProtoStream stream(path);
    stream.for_each([&](ProtoFields& top) {
      if (top.field() == xplane_field::kPlanes) top.enter(visit);
    });
  };
  for_each_plane([&](ProtoFields& fields) { read_stat_names(fields, planes.emplace_back()); });
  take_host_for_device(planes);
  std::size_t at = 0;
  for_each_plane([&](ProtoFields& fields) { read_event_names(fields, planes[at++]); });
  return planes;
}

}  // namespace tilecast::measured
