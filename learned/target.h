// The quantity that a model predicts: a kernel's time, or another quantity of measurement sets.
//
// Times are learned as logarithms, or as the logarithm of their ratio to the analytical time
// (residual), since trees and networks extrapolate badly and physics does not. Other quantities are
// learned unchanged or as log(1 + value) and predicted in their own unit. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::learned {

inline constexpr std::string_view kRuntime = "runtime";

// Scale on which a quantity is learned. kLog1p is for counts and cycles that span decades.
enum class TargetScale { kIdentity, kLog1p };
inline constexpr std::string_view kTargetScales[] = {"identity", "log1p"};

struct Target {
  std::string quantity = std::string(kRuntime);  // or one of measured::Manifest::quantities
  std::string unit = "s";                        // as in the measurement sets; "": not known yet
  bool count = false;                            // whole numbers
  bool residual = false;                         // for times only
  TargetScale scale = TargetScale::kIdentity;    // for quantities other than time
  friend bool operator==(const Target&, const Target&) = default;

  [[nodiscard]] bool is_time() const { return quantity == kRuntime; }
};

// The target as text in settings: time, residual, or the quantity's name. The unit is not included.
[[nodiscard]] std::string setting_of(const Target& target);
[[nodiscard]] Target target_of_setting(std::string_view setting);

// Converts a quantity other than time from its unit to the learner's scale, and back. kLog1p:
// scaled() gives NaN for negative values; unscaled() returns at least 0.
[[nodiscard]] double scaled(const Target& target, double value);
[[nodiscard]] double unscaled(const Target& target, double value);

}  // namespace tilecast::learned
