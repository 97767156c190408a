#include "measured/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/yaml_text.h"
#include "ir/dtype.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

constexpr std::string_view kFormat = "tilecast.measurements/1";
constexpr std::array<std::string_view, 15> kKeys{
    "name",  "description", "device",  "devices",  "source", "licence", "timing",    "writer",
    "timed", "how_timed",   "subject", "dispatch", "feed",   "dtype",   "quantities"};
constexpr std::string_view kTimings[] = {"device", "host", "none"};  // by Timing
constexpr std::string_view kSubjects[] = {"work", "graph"};          // by Subject
constexpr std::string_view kNoOrYes[] = {"no", "yes"};

std::string optional_text(const ConfigNode& root, std::string_view key) {
  const ConfigNode* node = root.find(key);
  return node ? text_of(*node) : std::string();
}

std::string device_of(const ConfigNode& node, const fs::path& folder) {
  const std::string& device = text_of(node);
  if (!hwdesc::is_path(device) || fs::path(device).is_absolute()) return device;
  return (folder / device).lexically_normal().string();
}

void read_devices(const ConfigNode& root, const fs::path& folder, Manifest& manifest) {
  if (const ConfigNode* node = root.find("device")) manifest.device = device_of(*node, folder);
  const ConfigNode* devices = root.find("devices");
  if (!devices) return;
  if (!devices->is_mapping() || devices->children.empty()) {
    fail_at(*devices, "expected a mapping of values of the column device to presets");
  }
  for (const ConfigNode& entry : devices->children) {
    manifest.devices[entry.key] = device_of(entry, folder);
  }
}

double quantity_at(const ConfigNode& node, hwdesc::UnitKind kind) {
  try {
    return hwdesc::parse_quantity(text_of(node), kind);
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
}

void read_dispatch(const ConfigNode& root, Manifest& manifest) {
  const ConfigNode* node = root.find("dispatch");
  if (!node) return;
  if (manifest.timing != Timing::kHost) {
    fail_at(*node, fmt::format("given, but timing is {}; expected timing: host, or no dispatch",
                               name(manifest.timing)));
  }
  if (!node->is_mapping()) fail_at(*node, "expected a mapping of op classes to times");
  for (const ConfigNode& entry : node->children) {
    const double seconds = quantity_at(entry, hwdesc::UnitKind::kTime);
    if (seconds < 0 || seconds > 1) {
      fail_at(entry, fmt::format("got {}, expected 0 to 1 s", hwdesc::show_text(entry.scalar)));
    }
    manifest.dispatch[entry.key] = Seconds{seconds};
  }
}

HostFeed read_feed(const ConfigNode& node) {
  allow_only(node, {"per_step", "rate"});
  const auto number = [&](std::string_view key, hwdesc::UnitKind kind) {
    const ConfigNode& child = required(node, key);
    const double value = quantity_at(child, kind);
    if (!(value > 0)) fail_at(child, fmt::format("got {}, expected more than 0", child.scalar));
    return value;
  };
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
    fail_at(node,
            fmt::format("got {}, expected a name of small letters, digits and _ that is no time",
                        hwdesc::show_text(name)));
  }
  allow_only(node, {"unit", "how", "count"});
  Quantity quantity{.name = name, .unit = text(node, "unit"), .how = optional_text(node, "how")};
  if (const ConfigNode* count = node.find("count")) quantity.count = choice(*count, kNoOrYes) == 1;
  return quantity;
}

void read_quantities(const ConfigNode& root, Manifest& manifest) {
  if (const ConfigNode* node = root.find("quantities")) {
    if (!node->is_mapping())
      fail_at(*node, "expected a mapping such as registers: {unit: registers}");
    for (const ConfigNode& entry : node->children) {
      manifest.quantities.push_back(quantity_of(entry));
    }
  }
  if (manifest.timing == Timing::kNone && manifest.quantities.empty()) {
    fail_at(required(root, "timing"),
            "none, but there are no quantities; expected times or quantities");
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
  return kTimings[static_cast<std::size_t>(timing)];
}

const Quantity* Manifest::quantity(std::string_view wanted) const {
  const auto found = std::ranges::find(quantities, wanted, &Quantity::name);
  return found == quantities.end() ? nullptr : &*found;
}

Manifest manifest_of(const ConfigNode& root, const std::string& folder,
                     std::span<const std::string_view> others) {
  std::vector<std::string_view> known(kKeys.begin(), kKeys.end());
  known.insert(known.end(), others.begin(), others.end());
  allow_only(root, known);
  Manifest manifest;
  manifest.name = text(root, "name");
  manifest.description = optional_text(root, "description");
  manifest.source = text(root, "source");
  manifest.licence = text(root, "licence");
  manifest.how_timed = optional_text(root, "how_timed");
  manifest.writer = optional_text(root, "writer");
  manifest.timed = optional_text(root, "timed");
  // Sets written by `tilecast measure` before the key existed.
  if (manifest.writer.empty() && manifest.how_timed.starts_with("generated C")) {
    manifest.writer = kOwnWriter;
  }
  manifest.timing = static_cast<Timing>(choice(required(root, "timing"), kTimings));
  if (const ConfigNode* subject = root.find("subject")) {
    manifest.subject = static_cast<Subject>(choice(*subject, kSubjects));
  }
  manifest.defaults_dtype = optional_text(root, "dtype");
  if (!manifest.defaults_dtype.empty() && !ir::parse_dtype(manifest.defaults_dtype)) {
    fail_at(required(root, "dtype"),
            fmt::format("got {}, expected an HLO element type such as f32, bf16",
                        hwdesc::show_text(manifest.defaults_dtype)));
  }
  read_devices(root, folder, manifest);
  read_dispatch(root, manifest);
  if (const ConfigNode* feed = root.find("feed")) manifest.feed = read_feed(*feed);
  read_quantities(root, manifest);
  return manifest;
}

Manifest read_manifest(const std::string& text_of_file, const std::string& file) {
  ConfigNode root = hwdesc::read_config(text_of_file, file);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  constexpr std::string_view kOwn[] = {"format"};
  if (root.is_mapping()) {
    static_cast<void>(choice(required(root, "format"), std::span(&kFormat, 1)));
  }
  Manifest manifest = manifest_of(root, fs::path(file).parent_path().string(), kOwn);
  if (manifest.device.empty() && manifest.devices.empty()) {
    fail_at(root, "device is missing; expected device or devices");
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
