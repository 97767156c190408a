// Text about fitted constants: the YAML of a calibrated device, its provenance, and what is
// suspicious.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hwdesc/yaml_text.h"
#include "hybrid/calibrate.h"

namespace tilecast::hybrid {
namespace {

std::string yaml_quoted(std::string_view text) {
  return hwdesc::yaml_text(text, "calibrated device");
}

std::string yaml_value(const FittedConstant& constant) {
  return constant.is_time ? hwdesc::format_quantity(constant.fitted, hwdesc::UnitKind::kTime)
                          : fmt::format("{:.6g}", constant.fitted);
}

std::string short_value(const FittedConstant& constant, double value) {
  return constant.is_time ? fmt::format("{:.4g} us", value * 1e6) : fmt::format("{:.4g}", value);
}

constexpr std::string_view kDispatchPrefix = "dispatch.";

}  // namespace

std::string suspicion(const FittedConstant& constant) {
  return fmt::format(
      "{}: {}, described {}: {}{:.1f} standard deviations of its prior away", constant.name,
      short_value(constant, constant.fitted), short_value(constant, constant.described),
      constant.at_bound ? "at its bound, and the rows pull it " : "", constant.deviations);
}

std::string changed(const HeldOutScore& score) {
  return fmt::format("{} {}: mean |log error| {:.1f} -> {:.1f} %, noise {:.1f} %", score.group,
                     score.worse()    ? "worse"
                     : score.better() ? "better"
                                      : "no better beyond noise",
                     100 * score.before, 100 * score.after, 100 * score.noise);
}

std::string refusal(const Calibrated& calibrated) {
  if (calibrated.accepted) return {};
  if (calibrated.refused_as_suspicious) {
    std::vector<std::string> reasons;
    for (const FittedConstant& constant : calibrated.suspicious()) {
      reasons.push_back(suspicion(constant));
    }
    return fmt::format("suspicious: {}", fmt::join(reasons, "; "));
  }
  if (calibrated.refused.empty()) return "the rows identify no constant";
  return "held-out rows: " + changed(calibrated.refused.front().worst);
}

std::string provenance_of(const Calibrated& calibrated, std::span<const measured::SampleSet> sets) {
  std::vector<std::string> used;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (calibrated.rows_of_sets[i] == 0) continue;
    used.push_back(fmt::format("{} ({} rows, data {})", sets[i].name, calibrated.rows_of_sets[i],
                               sets[i].hash.substr(0, 12)));
  }
  return fmt::format(
      "tilecast calibrate on {}; {} kernels, {} rows not used as outliers; held-out kernels: {}; "
      "left: "
      "{}",
      fmt::join(used, ", "), calibrated.kernels, calibrated.outliers.size(),
      changed(calibrated.held_out.front()), calibrated.left);
}

std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                            const std::string& name, const std::string& provenance) {
  std::string text =
      fmt::format("extends: {}\nname: {}\ndescription: {}\n\ncalibration:\n", yaml_quoted(parent),
                  yaml_quoted(name), yaml_quoted(calibrated.device.description + ", calibrated"));
  std::string dispatch;
  for (const FittedConstant& c : calibrated.constants) {
    if (c.knowledge == Knowledge::kDescription) continue;
    const bool is_dispatch = c.name.starts_with(kDispatchPrefix);
    (is_dispatch ? dispatch : text) +=
        fmt::format("{}{}: {}  # {} to {} with 95 %\n", is_dispatch ? "    " : "  ",
                    is_dispatch ? c.name.substr(kDispatchPrefix.size()) : c.name, yaml_value(c),
                    short_value(c, c.low), short_value(c, c.high));
  }
  if (!dispatch.empty()) text += "  dispatch:\n" + dispatch;
  return text + fmt::format("  source: {}\n", yaml_quoted(provenance));
}

}  // namespace tilecast::hybrid
