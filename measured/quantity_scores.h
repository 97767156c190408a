// Errors of predictions of a quantity other than time, in its own unit. Unlike times, which are
// compared by ratios (measured/metrics.h), registers and shares are compared by differences.
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tilecast::measured {

struct QuantityPair {
  double predicted = 0, measured = 0;  // finite
};

struct QuantityScores {
  std::size_t rows = 0;
  double rmse = 0, mean_absolute = 0;   // in the quantity's unit
  std::optional<double> rmse_of_range;  // RMSE / range; absent if the range is 0
  std::optional<double> exact;          // counts only: share that is exact after rounding
};
// `range`: measured_range() of all scored rows, of which `pairs` may be a subset. nullopt without
// pairs.
[[nodiscard]] std::optional<QuantityScores> quantity_scores(std::span<const QuantityPair> pairs,
                                                            double range, bool count);
[[nodiscard]] double measured_range(std::span<const QuantityPair> pairs);  // 0 without pairs

}  // namespace tilecast::measured
