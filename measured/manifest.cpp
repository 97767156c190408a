#include "measured/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/yaml_text.h"
#include "ir/dtype.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;
using Kind = ConfigNode::Kind;

constexpr std::string_view kFormat = "tilecast.measurements/1";
constexpr std::array<std::string_view, 15> kKeys{
    "name",  "description", "device",  "devices",  "source", "licence", "timing",    "writer",
    "timed", "how_timed",   "subject", "dispatch", "feed",   "dtype",   "quantities"};

template <class... Args>
[[noreturn]] void fail(const ConfigNode& node, std::string_view key,
                       fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format("{}: {}: {}", node.at.describe(), key,
                          fmt::format(format, std::forward<Args>(args)...)));
}

const std::string& text_of(const ConfigNode& node, std::string_view expected) {
  if (node.kind != Kind::kScalar || node.scalar.empty()) {
    fail(node, node.key, "expected {}", expected);
  }
  return node.scalar;
}

std::string optional_text(const ConfigNode& root, std::string_view key) {
  const ConfigNode* node = root.find(key);
  return node ? text_of(*node, "a text") : std::string();
}

std::string required_text(const ConfigNode& root, std::string_view key, std::string_view what) {
  const ConfigNode* node = root.find(key);
  if (!node) fail(root, key, "the key is missing; expected {}", what);
  return text_of(*node, what);
}

void refuse_unknown_keys(const ConfigNode& root, std::span<const std::string_view> others) {
  std::vector<std::string_view> known(kKeys.begin(), kKeys.end());
  known.insert(known.end(), others.begin(), others.end());
  for (const ConfigNode& child : root.children) {
    if (std::ranges::find(known, child.key) != known.end()) continue;
    const std::string near = base::nearest(child.key, known);
    throw Error(fmt::format("{}: unknown key {}; {}", child.at.describe(),
                            hwdesc::show_text(child.key),
                            near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                         : fmt::format("did you mean '{}'?", near)));
  }
}

std::string device_of(const ConfigNode& node, const fs::path& folder) {
  const std::string& device = text_of(node, "a preset's name or the path of a description");
  if (!hwdesc::is_path(device) || fs::path(device).is_absolute()) return device;
  return (folder / device).lexically_normal().string();
}

void read_devices(const ConfigNode& root, const fs::path& folder, Manifest& manifest) {
  if (const ConfigNode* node = root.find("device")) manifest.device = device_of(*node, folder);
  const ConfigNode* devices = root.find("devices");
  if (!devices) return;
  if (!devices->is_mapping() || devices->children.empty()) {
    fail(*devices, "devices", "expected a mapping of values of the column device to presets");
  }
  for (const ConfigNode& entry : devices->children) {
    manifest.devices[entry.key] = device_of(entry, folder);
  }
}

Timing read_timing(const ConfigNode& root) {
  const std::string timing = required_text(root, "timing", "device, host or none");
  for (const Timing known : {Timing::kDevice, Timing::kHost, Timing::kNone}) {
    if (timing == name(known)) return known;
  }
  fail(*root.find("timing"), "timing", "got {}, expected device, host or none",
       hwdesc::show_text(timing));
}

Subject read_subject(const ConfigNode& root) {
  const std::string subject = optional_text(root, "subject");
  if (subject.empty() || subject == "work") return Subject::kWork;
  if (subject == "graph") return Subject::kGraph;
  fail(*root.find("subject"), "subject", "got {}, expected work or graph",
       hwdesc::show_text(subject));
}

void read_dispatch(const ConfigNode& root, Manifest& manifest) {
  const ConfigNode* node = root.find("dispatch");
  if (!node) return;
  if (manifest.timing != Timing::kHost) {
    fail(*node, "dispatch", "given, but timing is {}; expected timing: host, or no dispatch",
         name(manifest.timing));
  }
  if (!node->is_mapping()) fail(*node, "dispatch", "expected a mapping of op classes to times");
  for (const ConfigNode& entry : node->children) {
    double seconds = 0;
    try {
      seconds =
          hwdesc::parse_quantity(text_of(entry, "a time such as 21 us"), hwdesc::UnitKind::kTime);
    } catch (const Error& error) {
      fail(entry, "dispatch." + entry.key, "{}", error.what());
    }
    if (seconds < 0 || seconds > 1) {
      fail(entry, "dispatch." + entry.key, "got {}, expected 0 to 1 s",
           hwdesc::show_text(entry.scalar));
    }
    manifest.dispatch[entry.key] = Seconds{seconds};
  }
}

HostFeed read_feed(const ConfigNode& node) {
  const auto number = [&](std::string_view key, hwdesc::UnitKind kind) {
    const ConfigNode* child = node.find(key);
    if (child == nullptr || child->kind != Kind::kScalar) {
      fail(node, "feed", "{} is missing; expected per_step (2.1 ms) and rate (2.95 GB/s)", key);
    }
    double value = 0;
    try {
      value = hwdesc::parse_quantity(child->scalar, kind);
    } catch (const Error& error) {
      fail(*child, key, "{}", error.what());
    }
    if (!(value > 0)) fail(*child, key, "got {}, expected more than zero", child->scalar);
    return value;
  };
  for (const ConfigNode& child : node.children) {
    if (child.key == "per_step" || child.key == "rate") continue;
    fail(child, child.key, "unknown key in feed; expected per_step and rate");
  }
  return {Seconds{number("per_step", hwdesc::UnitKind::kTime)},
          BytesPerSecond{number("rate", hwdesc::UnitKind::kBandwidth)}};
}

Quantity quantity_of(const ConfigNode& node) {
  constexpr std::array<std::string_view, 3> kTimes{"time", "runtime", "residual"};
  const std::string& name = node.key;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name.front() < 'a' || name.front() > 'z' ||
      !std::ranges::all_of(name, fits) || std::ranges::find(kTimes, name) != kTimes.end()) {
    fail(node, "quantities",
         "got {}, expected a name of small letters, digits and _ that is no time",
         hwdesc::show_text(name));
  }
  Quantity quantity{.name = name, .unit = required_text(node, "unit", "a unit such as registers")};
  quantity.how = optional_text(node, "how");
  const std::string count = optional_text(node, "count");
  if (!count.empty() && count != "yes" && count != "no") {
    fail(*node.find("count"), "count", "got {}, expected yes or no", hwdesc::show_text(count));
  }
  quantity.count = count == "yes";
  for (const ConfigNode& child : node.children) {
    if (child.key == "unit" || child.key == "how" || child.key == "count") continue;
    fail(child, child.key, "unknown key in a quantity; expected unit, how and count");
  }
  return quantity;
}

void read_quantities(const ConfigNode& root, Manifest& manifest) {
  const ConfigNode* node = root.find("quantities");
  if (node != nullptr && !node->is_mapping()) {
    fail(*node, "quantities", "expected a mapping such as registers: {{unit: registers}}");
  }
  if (node != nullptr) {
    for (const ConfigNode& entry : node->children)
      manifest.quantities.push_back(quantity_of(entry));
  }
  if (manifest.timing == Timing::kNone && manifest.quantities.empty()) {
    fail(root, "timing", "none, but there are no quantities; expected times or quantities");
  }
}

std::string yaml_text(std::string_view text) {
  return hwdesc::yaml_text(text, "manifest");
}

void append(std::string& text, std::string_view key, std::string_view value) {
  if (!value.empty()) text += fmt::format("{}: {}\n", key, yaml_text(value));
}

}  // namespace

std::string_view name(Timing timing) {
  constexpr std::array<std::string_view, 3> kNames{"device", "host", "none"};
  return kNames.at(static_cast<std::size_t>(timing));
}

const Quantity* Manifest::quantity(std::string_view wanted) const {
  const auto found = std::ranges::find(quantities, wanted, &Quantity::name);
  return found == quantities.end() ? nullptr : &*found;
}

Manifest manifest_of(const ConfigNode& root, const std::string& folder,
                     std::span<const std::string_view> others) {
  if (!root.is_mapping()) {
    throw Error(
        fmt::format("{}: expected a mapping that describes measurements", root.at.describe()));
  }
  refuse_unknown_keys(root, others);
  Manifest manifest;
  manifest.name = required_text(root, "name", "a name");
  manifest.description = optional_text(root, "description");
  manifest.source = required_text(root, "source", "where the numbers come from");
  manifest.licence = required_text(root, "licence", "the licence of the numbers");
  manifest.how_timed = optional_text(root, "how_timed");
  manifest.writer = optional_text(root, "writer");
  manifest.timed = optional_text(root, "timed");
  // Sets written by `tilecast measure` before the key existed.
  if (manifest.writer.empty() && manifest.how_timed.starts_with("generated C")) {
    manifest.writer = kOwnWriter;
  }
  manifest.timing = read_timing(root);
  manifest.subject = read_subject(root);
  manifest.defaults_dtype = optional_text(root, "dtype");
  if (!manifest.defaults_dtype.empty() && !ir::parse_dtype(manifest.defaults_dtype)) {
    fail(*root.find("dtype"), "dtype", "got {}, expected an HLO element type such as f32, bf16",
         hwdesc::show_text(manifest.defaults_dtype));
  }
  read_devices(root, folder, manifest);
  read_dispatch(root, manifest);
  if (const ConfigNode* feed = root.find("feed")) manifest.feed = read_feed(*feed);
  read_quantities(root, manifest);
  return manifest;
}

Manifest read_manifest(const std::string& text, const std::string& file) {
  ConfigNode root = hwdesc::read_config(text, file);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  constexpr std::array<std::string_view, 1> kOwn{"format"};
  if (root.is_mapping()) {
    const std::string format = required_text(root, "format", kFormat);
    if (format != kFormat) {
      fail(*root.find("format"), "format", "got {}, expected {}", hwdesc::show_text(format),
           kFormat);
    }
  }
  Manifest manifest = manifest_of(root, fs::path(file).parent_path().string(), kOwn);
  if (manifest.device.empty() && manifest.devices.empty()) {
    fail(root, "device", "the key is missing; expected device or devices");
  }
  return manifest;
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = fmt::format("format: {}\n", kFormat);
  append(text, "name", manifest.name);
  append(text, "description", manifest.description);
  append(text, "device", manifest.device);
  if (!manifest.devices.empty()) text += "devices:\n";
  for (const auto& [cell, device] : manifest.devices) {
    text += fmt::format("  {}: {}\n", yaml_text(cell), yaml_text(device));
  }
  append(text, "source", manifest.source);
  append(text, "licence", manifest.licence);
  append(text, "timing", name(manifest.timing));
  append(text, "how_timed", manifest.how_timed);
  append(text, "writer", manifest.writer);
  append(text, "timed", manifest.timed);
  if (manifest.subject == Subject::kGraph) append(text, "subject", "graph");
  append(text, "dtype", manifest.defaults_dtype);
  if (!manifest.dispatch.empty()) text += "dispatch:\n";
  for (const auto& [op_class, time] : manifest.dispatch) {
    text += fmt::format("  {}: {}\n", yaml_text(op_class),
                        hwdesc::format_quantity(time.value, hwdesc::UnitKind::kTime));
  }
  if (manifest.feed) {
    text += fmt::format(
        "feed:\n  per_step: {}\n  rate: {}\n",
        hwdesc::format_quantity(manifest.feed->per_step.value, hwdesc::UnitKind::kTime),
        hwdesc::format_quantity(manifest.feed->rate.value, hwdesc::UnitKind::kBandwidth));
  }
  if (!manifest.quantities.empty()) text += "quantities:\n";
  for (const Quantity& quantity : manifest.quantities) {
    text += fmt::format("  {}: {{unit: {}, count: {}", quantity.name, yaml_text(quantity.unit),
                        quantity.count ? "yes" : "no");
    if (!quantity.how.empty()) text += ", how: " + yaml_text(quantity.how);
    text += "}\n";
  }
  return text;
}

}  // namespace tilecast::measured
