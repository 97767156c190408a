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

constexpr std::string_view kFormat = "tilecast.trust/1";
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

struct Trust::Text {
  static std::string write(const Band& band) {
    return fmt::format("{{low: {}, high: {}, trials: {}}}", band.low + 0.0, band.high,
                       band.trials);  // no -0
  }

  static std::string write(std::string_view key, const std::optional<Band>& band) {
    return band ? fmt::format("{}: {}\n", key, write(*band)) : "";
  }

  static std::string write(std::string_view key, const Bands& bands) {
    std::string text = fmt::format("{}:\n  all: {}\n", key, write(bands.all));
    text += list_head("  ", "classes", bands.by_class.empty());
    for (const auto& [op_class, band] : bands.by_class) {
      text += fmt::format("    - {{class: {}, band: {}}}\n",
                          hwdesc::yaml_text(op_class, "trust.yaml"), write(band));
    }
    text += list_head("  ", "sizes", bands.by_size.empty());
    for (const auto& [op_class, halves] : bands.by_size) {
      text += fmt::format("    - {{class: {}, short: {}, long: {}}}\n",
                          hwdesc::yaml_text(op_class, "trust.yaml"), write(halves[0]),
                          write(halves[1]));
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

  // The class of an entry that has no band in `known` yet.
  static std::string new_class_of(const ConfigNode& entry, const auto& known) {
    std::string op_class = text_of(required(entry, "class"));
    if (known.contains(op_class)) fail_at(entry, "a class for the second time");
    return op_class;
  }

  static Bands bands(const ConfigNode& root, std::string_view key, const Trust& trust) {
    const ConfigNode& node = required(root, key);
    allow_only(node, {"all", "classes", "sizes"});
    Bands bands{.all = band(node, "all")};
    for (const ConfigNode& entry : list(node, "classes")) {
      allow_only(entry, {"class", "band"});
      bands.by_class.emplace(new_class_of(entry, bands.by_class), band(entry, "band"));
    }
    for (const ConfigNode& entry : list(node, "sizes")) {
      allow_only(entry, {"class", "short", "long"});
      const std::string op_class = new_class_of(entry, bands.by_size);
      if (!trust.median_time_.contains(op_class)) fail_at(entry, "a class without a median time");
      bands.by_size.emplace(op_class, std::array{band(entry, "short"), band(entry, "long")});
    }
    return bands;
  }

  static void read_median_times(const ConfigNode& root, Trust& trust) {
    constexpr double kMostSeconds = 1e9;
    for (const ConfigNode& entry : list(root, "middles")) {
      allow_only(entry, {"class", "time_s"});
      trust.median_time_.emplace(new_class_of(entry, trust.median_time_),
                                 number(entry, "time_s", 0, kMostSeconds));
    }
  }

  static void read_weights(const ConfigNode& root, Trust& trust) {
    constexpr double kMostDistance = 1e9;
    trust.near_ = number(root, "near", 0, kMostDistance);
    trust.far_ = number(root, "far", trust.near_, kMostDistance);
    trust.correlation_ = number(root, "correlation", 0, 1);
    const ConfigNode& weights = required(root, "weights");
    allow_only(weights, {"near", "far", "new_class", "new_device"});
    const double near = number(weights, "near", 0, 1);
    trust.weights_ = {near, number(weights, "far", 0, near), number(weights, "new_class", 0, near),
                      number(weights, "new_device", 0, near)};
    const ConfigNode& reach = required(root, "reach");
    allow_only(reach, {"new_class", "new_device"});
    trust.reach_ = {number(reach, "new_class", 0, kMostDistance),
                    number(reach, "new_device", 0, kMostDistance)};
  }
};

std::string Trust::save() const {
  std::string text = fmt::format("format: {}\nnear: {}\nfar: {}\ncorrelation: {}\n", kFormat, near_,
                                 far_, correlation_);
  text += fmt::format("weights: {{near: {}, far: {}, new_class: {}, new_device: {}}}\n",
                      weights_.near, weights_.far, weights_.new_class, weights_.new_device);
  text += fmt::format("reach: {{new_class: {}, new_device: {}}}\n", reach_.new_class,
                      reach_.new_device);
  text += list_head("", "middles", median_time_.empty());
  for (const auto& [op_class, time] : median_time_) {
    text += fmt::format("  - {{class: {}, time_s: {}}}\n",
                        hwdesc::yaml_text(op_class, "trust.yaml"), time);
  }
  text += Text::write("near_bands", near_bands_) + Text::write("far_bands", far_bands_);
  text += Text::write("physics", physics_) + Text::write("new_class", new_class_);
  return text + Text::write("new_device", new_device_);
}

Trust Trust::load(const std::string& text, const std::string& file) {
  const ConfigNode root = hwdesc::read_config(text, file);
  if (!root.is_mapping()) throw Error(fmt::format("{}: expected keys with values", file));
  const std::string& format = text_of(required(root, "format"));
  if (format != kFormat) {
    fail_at(required(root, "format"),
            fmt::format("got {}, expected {}", hwdesc::show_text(format), kFormat));
  }
  allow_only(root, {"format", "near", "far", "correlation", "weights", "reach", "middles",
                    "near_bands", "far_bands", "physics", "new_class", "new_device"});
  Trust trust;
  Text::read_weights(root, trust);
  Text::read_median_times(root, trust);
  trust.near_bands_ = Text::bands(root, "near_bands", trust);
  trust.far_bands_ = Text::bands(root, "far_bands", trust);
  trust.physics_ = Text::optional_band(root, "physics");
  trust.new_class_ = Text::optional_band(root, "new_class");
  trust.new_device_ = Text::optional_band(root, "new_device");
  return trust;
}

}  // namespace tilecast::hybrid
