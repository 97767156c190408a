#include "sim/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_values.h"
#include "sim/model_choice.h"
#include "sim/study/study_columns.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

constexpr std::string_view kStudyFormat = "tilecast.study/1";
constexpr std::uint64_t kMostSamples = 100'000'000;

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

// Why a formula cannot name this; "": it can.
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
