// Small maths of whole numbers.
#pragma once

#include <concepts>
#include <cstdint>

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

// std::ceil, which is a call where the processor is not known: for hot paths.
[[nodiscard]] inline double ceil(double value) {
  constexpr double kAllWhole = 4503599627370496.0;  // 2^52
  if (!(value > -kAllWhole && value < kAllWhole)) return value;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole < value ? whole + 1 : whole;
}

}  // namespace tilecast::base
