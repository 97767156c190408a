#include "sim/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_values.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

constexpr std::string_view kStudyFormat = "tilecast.study/1";
constexpr std::uint64_t kMostSamples = 100'000'000;

constexpr std::uint64_t kMostPoints = 100'000'000;

using analytical::Bound;

constexpr auto kBounds = [] {
  std::array<Bound, analytical::kBoundCount> bounds{};
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<Bound>(i);
  return bounds;
}();

std::optional<double> bound_share(const Simulation& run, Bound bound) {
  Seconds held;
  for (const SimulatedKernel& kernel : run.kernels) {
    if (!kernel.skipped && kernel.estimate->bound == bound) held += kernel.total();
  }
  if (run.time.value <= 0) return 0.0;
  return held / run.time;
}

std::optional<double> belief_share(const Simulation& run, BeliefShare BeliefShares::*of) {
  const auto shares = belief_shares(run);
  if (!shares || run.time.value <= 0) return std::nullopt;
  return ((*shares).*of).time / run.time;
}

void add_communication(std::vector<StudyResult>& results) {
  results.push_back({"devices", [](const Simulation& run) {
                       const auto devices = static_cast<double>(run.devices);
                       return devices > 1 ? std::optional(devices) : std::nullopt;
                     }});
  results.push_back({"slice_devices", [](const Simulation& run) { return run.slice_devices; }});
  const auto add = [&results](const char* name, Seconds Communication::*of) {
    results.push_back({name, [of](const Simulation& run) {
                         return run.communication ? std::optional(((*run.communication).*of).value)
                                                  : std::nullopt;
                       }});
  };
  add("communication_s", &Communication::time);
  add("hidden_communication_s", &Communication::hidden);
}

std::vector<StudyResult> all_results() {
  std::vector<StudyResult> results = {
      {"time_s", [](const Simulation& run) { return run.time.value; }},
      {"timeline_s", [](const Simulation& run) { return run.timeline.value; }},
      {"host_dispatch_s", [](const Simulation& run) { return run.host_dispatch.value; }},
      {"low_s",
       [](const Simulation& run) {
         return run.interval ? std::optional(run.interval->low) : std::nullopt;
       }},
      {"high_s",
       [](const Simulation& run) {
         return run.interval ? std::optional(run.interval->high) : std::nullopt;
       }},
  };
  add_communication(results);
  for (const auto& numbers : {energy_numbers(), memory_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      results.push_back({std::string(number.name), number.of});
    }
  }
  for (const Bound bound : kBounds) {
    results.push_back({"share_" + std::string(analytical::name(bound)),
                       [bound](const Simulation& run) { return bound_share(run, bound); }});
  }
  const auto add_belief = [&results](const char* name, BeliefShare BeliefShares::*of) {
    results.push_back({name, [of](const Simulation& run) { return belief_share(run, of); }});
  };
  add_belief("share_k_above_half", &BeliefShares::most);
  add_belief("share_k_up_to_half", &BeliefShares::some);
  add_belief("share_physics_alone", &BeliefShares::none);
  results.push_back({"skipped_kernels", [](const Simulation& run) {
                       return static_cast<double>(
                           std::ranges::count_if(run.kernels, &SimulatedKernel::skipped));
                     }});
  return results;
}

// point, device, program, model, bound, feasible, broken, error: the other columns.
bool is_study_text_column(std::string_view name) {
  constexpr std::string_view kNames[] = {"point", "device",   "program", "model",
                                         "bound", "feasible", "broken",  "error"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool is_study_number(const Study& study, std::string_view name) {
  const std::vector<std::string_view> results = study_result_names();
  if (std::ranges::find(results, name) != results.end()) return true;
  if (std::ranges::find(study.derived, name, &StudyFormula::name) != study.derived.end()) {
    return true;
  }
  if (name.starts_with("peak.") && name.size() > 5) return true;
  return std::ranges::all_of(study.devices, [&](const StudyDevice& device) {
    return hwdesc::find_number(device.numbers, name) != nullptr;
  });
}

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

// Override texts; values for a number are checked, so that errors come before the work.
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

std::vector<StudyAxis> read_study_axes(const ConfigNode& axes, const StudyDevice& device) {
  if (!axes.is_mapping()) hwdesc::fail_at(axes, "expected keys of the description");
  std::vector<StudyAxis> result;
  for (const ConfigNode& node : axes.children) {
    result.push_back(read_axis(node, device));
    const StudyAxis& axis = result.back();
    try {  // an invalid key is an error of the study, not of every point
      const bool sampled = axis.kind != StudyAxis::Kind::kGrid;
      static_cast<void>(device.source.with(
          {{axis.key, sampled ? hwdesc::format_quantity(axis.low, axis.unit) : axis.values[0]}}));
    } catch (const Error& error) {
      hwdesc::fail_at(node, error.what());
    }
  }
  return result;
}

std::string beside(const std::string& study_file, const std::string& path) {
  if (fs::path(path).is_absolute()) return path;
  return (fs::path(study_file).parent_path() / path).lexically_normal().string();
}

StudyDevice read_device_of(const ConfigNode& node, const std::string& study_file) {
  std::string name = hwdesc::text_of(node);
  if (hwdesc::is_path(name)) name = beside(study_file, name);
  try {
    hwdesc::DeviceSource source(name);
    hwdesc::Device device = source.with({});
    std::vector<hwdesc::DeviceNumber> numbers = hwdesc::device_numbers(device);
    return {std::move(name), std::move(source), std::move(device), std::move(numbers)};
  } catch (const Error& error) {
    hwdesc::fail_at(node, error.what());
  }
}

std::string model_of(const ConfigNode& node, const std::string& study_file) {
  const std::string name = hwdesc::text_of(node);
  if (model_name_fault(name).empty()) return name;
  const std::string folder = beside(study_file, name);
  if (const std::string fault = model_name_fault(folder); !fault.empty()) {
    hwdesc::fail_at(node, fault);
  }
  return folder;
}

// The reason why a formula cannot use this name; "" if it can.
std::string name_fault(const Study& study, const std::string& name) {
  if (is_study_number(study, name)) return "";
  std::vector<std::string_view> known = study_result_names();
  for (const StudyFormula& derived : study.derived) known.push_back(derived.name);
  for (const auto& number : study.devices.front().numbers) {
    known.push_back(number.path);
    known.push_back(std::string_view(number.path)
                        .substr(number.path.starts_with("memory.") ? std::size("memory.") - 1 : 0));
  }
  const std::string near = base::nearest(name, known);
  return fmt::format("'{}' is no number of every device, no result and not derived before{}", name,
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

bool needs_results(const Study& study, const base::Formula& formula) {
  const std::vector<std::string_view> results = study_result_names();
  return std::ranges::any_of(formula.names(), [&](const std::string& name) {
    if (std::ranges::find(results, name) != results.end()) return true;
    const auto derived = std::ranges::find(study.derived, name, &StudyFormula::name);
    return derived != study.derived.end() && derived->needs_results;
  });
}

StudyFormula read_formula(const Study& study, const ConfigNode& node, std::string name) {
  try {
    StudyFormula read{std::move(name), base::Formula::parse(hwdesc::text_of(node)), false};
    for (const std::string& used : read.formula.names()) {
      const std::string fault = name_fault(study, used);
      if (!fault.empty()) hwdesc::fail_at(node, fault);
    }
    read.needs_results = needs_results(study, read.formula);
    return read;
  } catch (const base::FormulaError& error) {
    hwdesc::fail_at(node, fmt::format("at character {} of '{}': {}", error.offset + 1, node.scalar,
                                      error.what()));
  }
}

void check_derived_name(const Study& study, const ConfigNode& node) {
  const std::string& name = node.key;
  const bool plain =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
      !(name.front() >= '0' && name.front() <= '9');
  if (!plain) hwdesc::fail_at(node, "expected a name of small letters, digits and _");
  if (is_study_number(study, name) || is_study_text_column(name)) {
    hwdesc::fail_at(node, "is a name already");
  }
}

void read_objectives(const ConfigNode& node, Study& study) {
  for (const ConfigNode& entry : hwdesc::list(node)) {
    StudyObjective objective{.column = hwdesc::text_of(entry)};
    if (objective.column.starts_with('-')) {
      objective.larger = true;
      objective.column.erase(0, 1);
    }
    const std::string fault = name_fault(study, objective.column);
    if (!fault.empty()) hwdesc::fail_at(entry, fault);
    study.objectives.push_back(std::move(objective));
  }
}

void read_samples(const ConfigNode& root, Study& study) {
  const bool sampled = std::ranges::any_of(
      study.axes, [](const StudyAxis& axis) { return axis.kind != StudyAxis::Kind::kGrid; });
  for (const std::string_view key : {"samples", "seed"}) {
    const ConfigNode* node = root.find(key);
    if (node && !sampled) hwdesc::fail_at(*node, "there is no latin or sobol axis");
  }
  if (sampled) {
    study.samples = hwdesc::whole_number(hwdesc::required(root, "samples"), 1, kMostSamples);
  }
  hwdesc::read_number(root, "seed", 0, UINT64_MAX, study.seed);
}

void read_formulas(const ConfigNode& root, Study& study) {
  if (const ConfigNode* derive = root.find("derive")) {
    if (!derive->is_mapping()) hwdesc::fail_at(*derive, "expected names with formulas");
    for (const ConfigNode& entry : derive->children) {
      check_derived_name(study, entry);
      study.derived.push_back(read_formula(study, entry, entry.key));
    }
  }
  if (const ConfigNode* constraints = root.find("constraints")) {
    for (const ConfigNode& entry : hwdesc::list(*constraints)) {
      study.constraints.push_back(read_formula(study, entry, hwdesc::text_of(entry)));
    }
  }
  if (const ConfigNode* objectives = root.find("objectives")) read_objectives(*objectives, study);
}

}  // namespace

const std::vector<StudyResult>& study_results() {
  static const std::vector<StudyResult> results = all_results();
  return results;
}

std::vector<std::string_view> study_result_names() {
  std::vector<std::string_view> names;
  for (const StudyResult& result : study_results()) names.push_back(result.name);
  return names;
}

std::string main_bound(const Simulation& run) {
  const auto most =
      std::ranges::max_element(kBounds, {}, [&](Bound bound) { return *bound_share(run, bound); });
  return std::string(analytical::name(*most));
}

Study read_study(const std::string& text, const std::string& file) {
  const ConfigNode root = hwdesc::read_config(text, file);
  hwdesc::allow_only(
      root, {"format", "name", "description", "devices", "programs", "models", "axes", "samples",
             "seed", "derive", "constraints", "objectives", "unknown_op"});
  const ConfigNode& format = hwdesc::required(root, "format");
  if (hwdesc::text_of(format) != kStudyFormat) {
    hwdesc::fail_at(
        format, fmt::format("got {}, expected {}", hwdesc::show_text(format.scalar), kStudyFormat));
  }
  Study study;
  study.name = hwdesc::text(root, "name");
  study.file = file;
  study.text = text;
  for (const ConfigNode& node : hwdesc::list(hwdesc::required(root, "devices"))) {
    study.devices.push_back(read_device_of(node, file));
  }
  for (const ConfigNode& node : hwdesc::list(hwdesc::required(root, "programs"))) {
    study.programs.push_back(beside(file, hwdesc::text_of(node)));
  }
  if (const ConfigNode* models = root.find("models")) {
    for (const ConfigNode& node : hwdesc::list(*models)) {
      study.models.push_back(model_of(node, file));
    }
  } else {
    study.models = {"default"};
  }
  if (const ConfigNode* axes = root.find("axes")) {
    for (const StudyDevice& device : study.devices) study.axes = read_study_axes(*axes, device);
    study.axes = read_study_axes(*axes, study.devices.front());
  }
  if (const ConfigNode* unknown = root.find("unknown_op")) {
    constexpr std::string_view kChoices[] = {"error", "skip"};
    study.skip_unknown_ops = hwdesc::choice(*unknown, kChoices) == 1;
  }
  read_samples(root, study);
  read_formulas(root, study);
  return study;
}

Study load_study(const std::string& file) {
  return read_study(base::SourceText::read_bytes(file, hwdesc::kMaxConfigBytes), file);
}

}  // namespace tilecast::sim
