// The YAML of a calibrated device: what it extends, the fitted constants, where they come from.
#include <fmt/format.h>

#include "hwdesc/yaml_text.h"
#include "hybrid/calibrate.h"

namespace tilecast::hybrid {
namespace {

std::string quoted(std::string_view text) {
  return hwdesc::yaml_text(text, "calibrated device");
}

std::string value_text(const FittedConstant& constant) {
  return constant.is_time ? hwdesc::format_quantity(constant.fitted, hwdesc::UnitKind::kTime)
                          : fmt::format("{:.6g}", constant.fitted);
}

std::string comment(const FittedConstant& constant) {
  const auto shown = [&](double v) {
    return constant.is_time ? fmt::format("{:.4g} us", v * 1e6) : fmt::format("{:.4g}", v);
  };
  return fmt::format("  # {} to {} with 95 %", shown(constant.low), shown(constant.high));
}

constexpr std::string_view kDispatchPrefix = "dispatch.";

}  // namespace

std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                            const std::string& name, const std::string& provenance) {
  std::string text =
      fmt::format("extends: {}\nname: {}\ndescription: {}\n\ncalibration:\n", quoted(parent),
                  quoted(name), quoted(calibrated.device.description + ", calibrated"));
  std::string dispatch;
  for (const FittedConstant& constant : calibrated.constants) {
    if (constant.knowledge == Knowledge::kDescription) continue;
    if (constant.name.starts_with(kDispatchPrefix)) {
      dispatch += fmt::format("    {}: {}{}\n", constant.name.substr(kDispatchPrefix.size()),
                              value_text(constant), comment(constant));
    } else {
      text += fmt::format("  {}: {}{}\n", constant.name, value_text(constant), comment(constant));
    }
  }
  if (!dispatch.empty()) text += "  dispatch:\n" + dispatch;
  return text + fmt::format("  source: {}\n", quoted(provenance));
}

}  // namespace tilecast::hybrid
