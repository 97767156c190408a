// What a model predicts: the time of a kernel, or another quantity of measurement sets.
//
// Times are learned as logarithms, or as the logarithm of their ratio to physics' time (residual:
// trees and networks extrapolate badly, physics carries them). Other quantities are learned as they
// are or as log(1 + value), and answered in their own unit: nothing of them is seconds.
// Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::learned {

inline constexpr std::string_view kRuntime = "runtime";

// How a quantity is learned. kLog1p: counts and cycles that span decades.
enum class TargetScale { kIdentity, kLog1p };
inline constexpr std::string_view kTargetScales[] = {"identity", "log1p"};

struct Target {
  std::string quantity = std::string(kRuntime);  // or one of measured::Manifest::quantities
  std::string unit = "s";                        // as the measured sets say; "": not known yet
  bool count = false;                            // whole numbers
  bool residual = false;                         // of times only
  TargetScale scale = TargetScale::kIdentity;    // of quantities that are no time
  friend bool operator==(const Target&, const Target&) = default;

  [[nodiscard]] bool is_time() const { return quantity == kRuntime; }
};

// As settings name it: time, residual, or the quantity's name. The unit of a quantity is unknown.
[[nodiscard]] std::string setting_of(const Target& target);
[[nodiscard]] Target target_of_setting(std::string_view setting);

// Of a quantity that is no time, in its unit: what a learner sees, and back. kLog1p: values of at
// least 0, else NaN; and answers are held at 0 or above.
[[nodiscard]] double scaled(const Target& target, double value);
[[nodiscard]] double unscaled(const Target& target, double value);

}  // namespace tilecast::learned
