// What a Gaussian process may be made of, for its fit and its files. Internal to
// learned/gaussian_process.h.
#pragma once

#include <array>
#include <string_view>

#include "learned/gaussian_process.h"

namespace tilecast::learned {

inline constexpr double kLeastHyper = 1e-9, kMostHyper = 1e6;
inline constexpr double kMostScale = 1e6;    // so that no product of finite numbers is infinite
inline constexpr double kMostValue = 1e12;   // of a table
inline constexpr double kMostWeight = 1e15;  // of a row in the mean
inline constexpr std::string_view kHyperNames[] = {"amplitude", "length", "noise"};

[[nodiscard]] inline std::array<double, 3> numbers_of(const GpHyper& hyper) {
  return {hyper.amplitude, hyper.length, hyper.noise};
}

}  // namespace tilecast::learned
