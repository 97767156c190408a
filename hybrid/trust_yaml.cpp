#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "hwdesc/yaml_text.h"
#include "hybrid/trust.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::ConfigNode;

constexpr std::string_view kFormat = "tilecast.trust/2";
constexpr double kMostLogBound = 1000;  // of a bound

// From `low` to `high`.
double number(const ConfigNode& node, std::string_view key, double low, double high) {
  const ConfigNode& child = required(node, key);
  const std::string& text = text_of(child);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= low && value <= high) {
    return value;
  }
  fail_at(child, fmt::format("got {}, expected a number from {} to {}", hwdesc::show_text(text),
                             low, high));
}

std::size_t whole(const ConfigNode& node, std::string_view key) {
  constexpr double kMost = 1e12;
  const double value = number(node, key, 0, kMost);
  if (value != std::floor(value)) fail_at(required(node, key), "expected a whole number");
  return static_cast<std::size_t>(value);
}

const std::vector<ConfigNode>& list(const ConfigNode& node, std::string_view key) {
  const ConfigNode& child = required(node, key);
  if (child.kind != ConfigNode::Kind::kSequence) fail_at(child, "expected a list");
  return child.children;
}

std::string list_head(std::string_view indent, std::string_view key, bool empty) {
  return fmt::format("{}{}:{}\n", indent, key, empty ? " []" : "");
}

}  // namespace

struct Trust::Yaml {
  static std::string write(const Band& band) {
    return fmt::format("{{low: {}, high: {}, trials: {}}}", band.low + 0.0, band.high,
                       band.trials);  // no -0
  }

  static std::string write(std::string_view key, const std::optional<Band>& band) {
    return band ? fmt::format("{}: {}\n", key, write(*band)) : "";
  }

  static std::string write(std::string_view key, const Bands& bands) {
    std::string text = fmt::format("{}:\n  all: {}\n", key, write(bands.all));
    text += list_head("  ", "kinds", bands.by_kind.empty());
    for (const auto& [kind, band] : bands.by_kind) {
      text += fmt::format("    - {{kind: {}, band: {}}}\n", hwdesc::yaml_text(kind, "trust.yaml"),
                          write(band));
    }
    text += list_head("  ", "sizes", bands.by_size.empty());
    for (const auto& [kind, halves] : bands.by_size) {
      text +=
          fmt::format("    - {{kind: {}, short: {}, long: {}}}\n",
                      hwdesc::yaml_text(kind, "trust.yaml"), write(halves[0]), write(halves[1]));
    }
    return text;
  }

  static Band band(const ConfigNode& node, std::string_view key) {
    const ConfigNode& child = required(node, key);
    allow_only(child, {"low", "high", "trials"});
    return {number(child, "low", -kMostLogBound, 0), number(child, "high", 0, kMostLogBound),
            whole(child, "trials")};
  }

  static std::optional<Band> optional_band(const ConfigNode& root, std::string_view key) {
    if (root.find(key) == nullptr) return std::nullopt;
    return band(root, key);
  }

  // The kind of an entry that has no band in `known` yet.
  static std::string new_kind_of(const ConfigNode& entry, const auto& known) {
    std::string kind = text_of(required(entry, "kind"));
    if (known.contains(kind)) fail_at(entry, "a kind for the second time");
    return kind;
  }

  static Bands bands(const ConfigNode& root, std::string_view key, const Trust& trust) {
    const ConfigNode& node = required(root, key);
    allow_only(node, {"all", "kinds", "sizes"});
    Bands bands{.all = band(node, "all")};
    for (const ConfigNode& entry : list(node, "kinds")) {
      allow_only(entry, {"kind", "band"});
      bands.by_kind.emplace(new_kind_of(entry, bands.by_kind), band(entry, "band"));
    }
    for (const ConfigNode& entry : list(node, "sizes")) {
      allow_only(entry, {"kind", "short", "long"});
      const std::string kind = new_kind_of(entry, bands.by_size);
      if (!trust.median_time_.contains(kind)) fail_at(entry, "a kind without a median time");
      bands.by_size.emplace(kind, std::array{band(entry, "short"), band(entry, "long")});
    }
    return bands;
  }

  static void read_median_times(const ConfigNode& root, Trust& trust) {
    constexpr double kMostSeconds = 1e9;
    for (const ConfigNode& entry : list(root, "middles")) {
      allow_only(entry, {"kind", "time_s"});
      trust.median_time_.emplace(new_kind_of(entry, trust.median_time_),
                                 number(entry, "time_s", 0, kMostSeconds));
    }
  }

  static std::string write(std::string_view what, std::string_view name, const Weights& weights) {
    return fmt::format("  - {{{}: {}, near: {}, far: {}, new_device: {}}}\n", what,
                       hwdesc::yaml_text(std::string(name), "trust.yaml"), weights.near,
                       weights.far, weights.new_device);
  }

  static Weights weights(const ConfigNode& entry) {
    const double near = number(entry, "near", 0, 1);
    return {near, number(entry, "far", 0, near), number(entry, "new_device", 0, 1)};
  }

  static void read_new_kinds(const ConfigNode& root, Trust& trust) {
    const std::vector<ConfigNode>& entries = list(root, "new_kinds");
    if (entries.size() != kResources) fail_at(required(root, "new_kinds"), "expected all six");
    for (std::size_t r = 0; r < kResources; ++r) {
      allow_only(entries[r], {"resource", "near", "far", "new_device"});
      require_name(entries[r], r);
      trust.new_kind_weights_[r] = weights(entries[r]);
    }
  }

  static void require_name(const ConfigNode& entry, std::size_t r) {
    const ConfigNode& name = required(entry, "resource");
    if (text_of(name) == kResourceNames[r]) return;
    fail_at(name, fmt::format("got {}, expected {}", hwdesc::show_text(text_of(name)),
                              kResourceNames[r]));
  }

  static void read_resources(const ConfigNode& root, Trust& trust) {
    constexpr double kMostDistance = 1e9;
    const std::vector<ConfigNode>& entries = list(root, "resources");
    if (entries.size() != kResources) fail_at(required(root, "resources"), "expected all six");
    for (std::size_t r = 0; r < kResources; ++r) {
      const ConfigNode& entry = entries[r];
      allow_only(entry, {"resource", "near", "far", "new_device", "near_up_to", "far_up_to"});
      require_name(entry, r);
      trust.by_resource_[r] = weights(entry);
      const double near = number(entry, "near_up_to", -1, kMostDistance);
      trust.reach_[r] = {near, number(entry, "far_up_to", near, kMostDistance)};
    }
  }

  static void read_weights(const ConfigNode& root, Trust& trust) {
    constexpr double kMostMachine = 1e3;
    read_resources(root, trust);
    read_new_kinds(root, trust);
    for (const ConfigNode& entry : list(root, "kinds")) {
      allow_only(entry, {"kind", "near", "far", "new_device"});
      trust.by_kind_.emplace(new_kind_of(entry, trust.by_kind_), weights(entry));
    }
    for (const ConfigNode& entry : list(root, "most")) {
      allow_only(entry, {"kind", "device", "weight"});
      const std::string kind = text_of(required(entry, "kind"));
      const std::string device = text_of(required(entry, "device"));
      if (!trust.most_[kind].emplace(device, number(entry, "weight", 0, 1)).second) {
        fail_at(entry, "stands twice");
      }
    }
    trust.correlation_ = number(root, "correlation", 0, 1);
    const ConfigNode& held = required(root, "residual");
    allow_only(held, {"low", "high"});
    trust.held_low_ = number(held, "low", -kMostLogBound, 0);
    trust.held_high_ = number(held, "high", 0, kMostLogBound);
    const ConfigNode& machine = required(root, "machine");
    allow_only(machine, {"typical", "farthest"});
    trust.typical_machine_ = number(machine, "typical", kSameMachine, kMostMachine);
    trust.farthest_machine_ = number(machine, "farthest", 0, kMostMachine);
  }
};

std::string Trust::save() const {
  std::string text = fmt::format("format: {}\ncorrelation: {}\n", kFormat, correlation_);
  text += fmt::format("residual: {{low: {}, high: {}}}\n", held_low_ + 0.0, held_high_);
  text += fmt::format("machine: {{typical: {}, farthest: {}}}\nresources:\n", typical_machine_,
                      farthest_machine_);
  for (std::size_t r = 0; r < kResources; ++r) {
    std::string line = Yaml::write("resource", kResourceNames[r], by_resource_[r]);
    line.resize(line.size() - 2);  // "}" and the end of the line
    text +=
        fmt::format("{}, near_up_to: {}, far_up_to: {}}}\n", line, reach_[r].near, reach_[r].far);
  }
  text += "new_kinds:\n";
  for (std::size_t r = 0; r < kResources; ++r) {
    text += Yaml::write("resource", kResourceNames[r], new_kind_weights_[r]);
  }
  text += list_head("", "kinds", by_kind_.empty());
  for (const auto& [kind, weights] : by_kind_) text += Yaml::write("kind", kind, weights);
  text += list_head("", "most", most_.empty());
  for (const auto& [kind, devices] : most_) {
    for (const auto& [device, weight] : devices) {
      text += fmt::format("  - {{kind: {}, device: {}, weight: {}}}\n",
                          hwdesc::yaml_text(kind, "trust.yaml"),
                          hwdesc::yaml_text(device, "trust.yaml"), weight);
    }
  }
  text += list_head("", "middles", median_time_.empty());
  for (const auto& [kind, time] : median_time_) {
    text +=
        fmt::format("  - {{kind: {}, time_s: {}}}\n", hwdesc::yaml_text(kind, "trust.yaml"), time);
  }
  text += Yaml::write("near_bands", near_bands_) + Yaml::write("far_bands", far_bands_);
  text += Yaml::write("physics", physics_) + Yaml::write("new_kind", new_kind_);
  return new_device_ ? text + Yaml::write("new_device", *new_device_) : text;
}

Trust Trust::load(const std::string& text, const std::string& file) {
  const ConfigNode root = hwdesc::read_config(text, file);
  if (!root.is_mapping()) throw Error(fmt::format("{}: expected keys with values", file));
  const std::string& format = text_of(required(root, "format"));
  if (format != kFormat) {
    fail_at(required(root, "format"),
            fmt::format("got {}, expected {}", hwdesc::show_text(format), kFormat));
  }
  allow_only(root,
             {"format", "correlation", "residual", "machine", "resources", "new_kinds", "kinds",
              "most", "middles", "near_bands", "far_bands", "physics", "new_kind", "new_device"});
  Trust trust;
  Yaml::read_weights(root, trust);
  Yaml::read_median_times(root, trust);
  trust.near_bands_ = Yaml::bands(root, "near_bands", trust);
  trust.far_bands_ = Yaml::bands(root, "far_bands", trust);
  trust.physics_ = Yaml::optional_band(root, "physics");
  trust.new_kind_ = Yaml::optional_band(root, "new_kind");
  if (root.find("new_device") != nullptr) {
    trust.new_device_ = Yaml::bands(root, "new_device", trust);
  }
  return trust;
}

}  // namespace tilecast::hybrid
