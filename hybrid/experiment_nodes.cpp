#include "hybrid/experiment_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "diag/error.h"
#include "hwdesc/units.h"
#include "learned/importers/import_manifest.h"

namespace tilecast::hybrid {

using hwdesc::ConfigNode;
using Kind = ConfigNode::Kind;
using learned::fail_at;
using learned::text_of;

const ConfigNode& required(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  if (!child) fail_at(node, fmt::format("{} is missing", key));
  return *child;
}

std::string text(const ConfigNode& node, std::string_view key) {
  return text_of(required(node, key));
}

std::size_t choice(const ConfigNode& node, std::span<const std::string_view> choices) {
  const std::string& got = text_of(node);
  const auto found = std::ranges::find(choices, got);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  fail_at(node,
          fmt::format("got {}, expected {}", hwdesc::show_text(got), fmt::join(choices, ", ")));
}

const std::vector<ConfigNode>& list(const ConfigNode& node) {
  if (node.kind != Kind::kSequence || node.children.empty()) {
    fail_at(node, "expected a list that is not empty");
  }
  return node.children;
}

std::vector<std::string> texts(const ConfigNode& node) {
  if (node.kind != Kind::kSequence) return {text_of(node)};
  std::vector<std::string> result;
  for (const ConfigNode& entry : list(node)) result.push_back(text_of(entry));
  return result;
}

std::vector<std::string> optional_texts(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  return child ? texts(*child) : std::vector<std::string>();
}

std::uint64_t whole_number(const ConfigNode& node, std::uint64_t low, std::uint64_t high) {
  const std::string& got = text_of(node);
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(got.data(), got.data() + got.size(), value);
  if (failure != std::errc() || end != got.data() + got.size() || value < low || value > high) {
    fail_at(node, fmt::format("got {}, expected a whole number from {} to {}",
                              hwdesc::show_text(got), low, high));
  }
  return value;
}

std::optional<double> fraction(const std::string& got) {
  try {
    return hwdesc::parse_quantity(got, hwdesc::UnitKind::kRatio);
  } catch (const Error&) {
    return std::nullopt;
  }
}

double seconds_of(const ConfigNode& node) {
  const std::string& time = text_of(node);
  double value_s = 0;
  try {
    value_s = hwdesc::parse_quantity(time, hwdesc::UnitKind::kTime);
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
  if (value_s <= 0) fail_at(node, "expected a time above 0");
  return value_s;
}

learned::Metric metric_of(const ConfigNode& node) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < learned::kMetricCount; ++i) {
    names.push_back(learned::name(static_cast<learned::Metric>(i)));
  }
  return static_cast<learned::Metric>(choice(node, names));
}

}  // namespace tilecast::hybrid
