#include "learned/target.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilecast::learned {
namespace {

constexpr std::string_view kTimeSetting = "time", kResidualSetting = "residual";

}  // namespace

std::string setting_of(const Target& target) {
  if (!target.is_time()) return target.quantity;
  return std::string(target.residual ? kResidualSetting : kTimeSetting);
}

Target target_of_setting(std::string_view setting) {
  if (setting == kTimeSetting || setting == kRuntime) return {};
  if (setting == kResidualSetting) return {.residual = true};
  return {.quantity = std::string(setting), .unit = ""};
}

double scaled(const Target& target, double value) {
  if (target.scale == TargetScale::kIdentity) return value;
  return value >= 0 ? std::log1p(value) : std::numeric_limits<double>::quiet_NaN();
}

double unscaled(const Target& target, double value) {
  if (target.scale == TargetScale::kIdentity) return value;
  return std::max(0.0, std::expm1(value));
}

}  // namespace tilecast::learned
