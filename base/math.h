// Small integer maths.
#pragma once

#include <concepts>

namespace tilecast::base {

// The least integer at or above a / b; b > 0. Never overflows.
template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T a, T b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// The least multiple of `unit` at or above `value`; unit > 0.
template <std::integral T>
[[nodiscard]] constexpr T round_up(T value, T unit) {
  return ceil_div(value, unit) * unit;
}

}  // namespace tilecast::base
