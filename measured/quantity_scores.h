// How far predictions of a quantity other than time are off, in its own unit: times are judged by
// ratios (measured/metrics.h), registers and shares by differences. Thread-safe.
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
  double rmse = 0, mean_absolute = 0;   // in the unit
  std::optional<double> rmse_of_range;  // share of the range; absent where the range is 0
  std::optional<double> exact;          // of counts: share that is right when rounded
};
// `range`: greatest less least measured value of all rows scored, which `pairs` may be a part of.
// nullopt without pairs.
[[nodiscard]] std::optional<QuantityScores> quantity_scores(std::span<const QuantityPair> pairs,
                                                            double range, bool count);
[[nodiscard]] double measured_range(std::span<const QuantityPair> pairs);  // 0 without pairs

}  // namespace tilecast::measured
