#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "sim/study/study.h"

namespace tilecast::sim {
namespace {

using hwdesc::ConfigNode;

constexpr std::uint64_t kMostPoints = 100'000'000;

double axis_number(const ConfigNode& node, const StudyAxis& axis,
                   const hwdesc::DeviceNumber& number) {
  double value = 0;
  try {
    value = hwdesc::parse_quantity(hwdesc::text_of(node), axis.unit);
  } catch (const Error& error) {
    hwdesc::fail_at(node, error.what());
  }
  if (value < number.low || value > number.high) {
    hwdesc::fail_at(node, fmt::format("got {}, expected {} to {}", node.scalar,
                                      hwdesc::format_quantity(number.low, axis.unit),
                                      hwdesc::format_quantity(number.high, axis.unit)));
  }
  if (axis.integer && value != std::floor(value)) {
    hwdesc::fail_at(node, fmt::format("got {}, expected a whole number", node.scalar));
  }
  return value;
}

// [low, high] of range, log, latin or sobol.
void read_ends(const ConfigNode& node, const hwdesc::DeviceNumber& number, StudyAxis& axis) {
  const std::vector<ConfigNode>& ends = hwdesc::list(node);
  if (ends.size() != 2) {
    hwdesc::fail_at(node, fmt::format("got {} values, expected [low, high]", ends.size()));
  }
  axis.low = axis_number(ends[0], axis, number);
  axis.high = axis_number(ends[1], axis, number);
  if (axis.low >= axis.high) hwdesc::fail_at(node, "expected [low, high] with low below high");
  if (axis.logarithmic && axis.low <= 0) hwdesc::fail_at(node, "log: expected values above 0");
}

void read_grid(const ConfigNode& node, StudyAxis& axis) {
  const std::uint64_t points =
      hwdesc::whole_number(hwdesc::required(node, "points"), 2, kMostPoints);
  for (std::uint64_t i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(points - 1);
    double value = axis.logarithmic ? axis.low * std::pow(axis.high / axis.low, share)
                                    : axis.low + (axis.high - axis.low) * share;
    if (i == 0) value = axis.low;
    if (i + 1 == points) value = axis.high;
    if (axis.integer) value = std::round(value);
    std::string text = hwdesc::format_quantity(value, axis.unit);
    if (!axis.values.empty() && axis.values.back() == text) {
      hwdesc::fail_at(node, fmt::format("{} points give {} twice; expected fewer points, or a list",
                                        points, text));
    }
    axis.values.push_back(std::move(text));
  }
}

// Texts that overrides take; of a number checked, so that errors come before the work.
void read_list(const ConfigNode& node, const hwdesc::DeviceNumber* number, StudyAxis& axis) {
  for (const ConfigNode& value : hwdesc::list(node)) {
    if (value.kind == ConfigNode::Kind::kNull) {
      axis.values.emplace_back("null");
      axis.numeric = false;
      continue;
    }
    const std::string& text = hwdesc::text_of(value);
    if (number) static_cast<void>(axis_number(value, axis, *number));
    if (std::ranges::find(axis.values, text) != axis.values.end()) {
      hwdesc::fail_at(value, fmt::format("got {} twice", hwdesc::show_text(text)));
    }
    axis.values.push_back(text);
  }
}

StudyAxis read_axis(const ConfigNode& node, const StudyDevice& device) {
  static const std::vector<std::string_view> kForms = {"list", "range", "log", "latin", "sobol"};
  hwdesc::allow_only(node, {"list", "range", "log", "latin", "sobol", "points", "scale"});
  StudyAxis axis;
  axis.key = node.key;
  const hwdesc::DeviceNumber* number = hwdesc::find_number(device.numbers, node.key);
  if (number) {
    axis.numeric = true;
    axis.unit = number->kind;
    axis.integer = number->integer;
  }
  const ConfigNode* form = nullptr;
  for (const std::string_view name : kForms) {
    const ConfigNode* found = node.find(name);
    if (found && form) hwdesc::fail_at(*found, fmt::format("expected one of it and {}", form->key));
    if (found) form = found;
  }
  if (!form) hwdesc::fail_at(node, "expected one of list, range, log, latin, sobol");
  if (form->key != "list" && !number) {
    hwdesc::fail_at(
        node, fmt::format("{} does not give a number of this name; expected a list", device.name));
  }
  const bool sampled = form->key == "latin" || form->key == "sobol";
  if (const ConfigNode* scale = node.find("scale")) {
    constexpr std::string_view kScales[] = {"linear", "log"};
    if (!sampled) hwdesc::fail_at(*scale, "is for latin and sobol");
    axis.logarithmic = hwdesc::choice(*scale, kScales) == 1;
  }
  const bool grid = form->key == "range" || form->key == "log";
  if (const ConfigNode* points = node.find("points"); points && !grid) {
    hwdesc::fail_at(*points, sampled ? "is for range and log; latin and sobol have `samples`"
                                     : "is for range and log");
  }
  axis.logarithmic = axis.logarithmic || form->key == "log";
  if (form->key == "list") {
    read_list(*form, number, axis);
    return axis;
  }
  read_ends(*form, *number, axis);
  if (form->key == "latin") axis.kind = StudyAxis::Kind::kLatin;
  if (form->key == "sobol") axis.kind = StudyAxis::Kind::kSobol;
  if (grid) read_grid(node, axis);
  return axis;
}

}  // namespace

std::vector<StudyAxis> read_study_axes(const ConfigNode& axes, const StudyDevice& device) {
  if (!axes.is_mapping()) hwdesc::fail_at(axes, "expected keys of the description");
  std::vector<StudyAxis> result;
  for (const ConfigNode& node : axes.children) {
    result.push_back(read_axis(node, device));
    const StudyAxis& axis = result.back();
    try {  // a key the description cannot have is an error of the study, not of every point
      const bool sampled = axis.kind != StudyAxis::Kind::kGrid;
      static_cast<void>(device.source.with(
          {{axis.key, sampled ? hwdesc::format_quantity(axis.low, axis.unit) : axis.values[0]}}));
    } catch (const Error& error) {
      hwdesc::fail_at(node, error.what());
    }
  }
  return result;
}

}  // namespace tilecast::sim
