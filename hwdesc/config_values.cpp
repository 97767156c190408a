#include "hwdesc/config_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

void fail_at(const ConfigNode& at, const std::string& message) {
  throw Error(
      fmt::format("{}: {}{}{}", at.at.describe(), at.key, at.key.empty() ? "" : ": ", message));
}

const std::string& text_of(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kScalar || node.scalar.empty())
    fail_at(node, "expected a text");
  return node.scalar;
}

void allow_only(const ConfigNode& node, const std::vector<std::string_view>& keys) {
  if (!node.is_mapping()) fail_at(node, "expected a mapping");
  for (const ConfigNode& child : node.children) {
    if (std::find(keys.begin(), keys.end(), child.key) != keys.end()) continue;
    const std::string near = base::nearest(child.key, keys);
    fail_at(child, fmt::format("unknown key; expected {}{}", fmt::join(keys, ", "),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
}

const ConfigNode& required(const ConfigNode& node, std::string_view key) {
  if (!node.is_mapping()) fail_at(node, "expected keys with values");
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
  fail_at(node, fmt::format("got {}, expected {}", show_text(got), fmt::join(choices, ", ")));
}

const std::vector<ConfigNode>& list(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kSequence || node.children.empty()) {
    fail_at(node, "expected a list that is not empty");
  }
  return node.children;
}

std::vector<std::string> texts(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kSequence) return {text_of(node)};
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
  const auto value = base::parse_number<std::uint64_t>(got);
  if (value && *value >= low && *value <= high) return *value;
  fail_at(node,
          fmt::format("got {}, expected a whole number from {} to {}", show_text(got), low, high));
}

std::optional<double> fraction(const std::string& text) {
  try {
    return parse_quantity(text, UnitKind::kRatio);
  } catch (const Error&) {
    return std::nullopt;
  }
}

double seconds_of(const ConfigNode& node) {
  const std::string& time = text_of(node);
  double value_s = 0;
  try {
    value_s = parse_quantity(time, UnitKind::kTime);
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
  if (value_s <= 0) fail_at(node, "expected a time above 0");
  return value_s;
}

}  // namespace tilecast::hwdesc
