// Integer division and rounding, and fast rounding of doubles.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tilecast::base {

// ceil(a / b) for b > 0. Never overflows. Divisors are mostly powers of two, and a division takes
// as long as ten shifts.
template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T a, T b) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(b);
  const bool power_of_two = (bits & (bits - 1)) == 0;  // std::has_single_bit() is a call
  if (!power_of_two) return a / b + (a % b > 0 ? 1 : 0);
  return (a >> std::countr_zero(bits)) + ((a & (b - 1)) != 0 ? 1 : 0);
}

// The least multiple of `unit` at or above `value`; unit > 0.
template <std::integral T>
[[nodiscard]] constexpr T round_up(T value, T unit) {
  return ceil_div(value, unit) * unit;
}

// std::ceil and std::floor without a function call, for hot paths: compilers call the library
// unless they may assume newer processors.
[[nodiscard]] inline double rounded_to_zero(double value) {
  constexpr double kAllWhole = 4503599627370496.0;  // 2^52
  if (!(value > -kAllWhole && value < kAllWhole)) return value;
  return static_cast<double>(static_cast<std::int64_t>(value));
}
[[nodiscard]] inline double ceil(double value) {
  const double whole = rounded_to_zero(value);
  return whole < value ? whole + 1 : whole;
}
[[nodiscard]] inline double floor(double value) {
  const double whole = rounded_to_zero(value);
  return whole > value ? whole - 1 : whole;
}

}  // namespace tilecast::base
