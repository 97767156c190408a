#include "measured/quantity_scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilecast::measured {

double measured_range(std::span<const QuantityPair> pairs) {
  if (pairs.empty()) return 0;
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, &QuantityPair::measured);
  return most->measured - least->measured;
}

std::optional<QuantityScores> quantity_scores(std::span<const QuantityPair> pairs, double range,
                                              bool count) {
  if (pairs.empty()) return std::nullopt;
  QuantityScores scores{.rows = pairs.size()};
  const auto rows = static_cast<double>(pairs.size());
  double squares = 0, exact = 0;  // exact: number of rows
  for (const QuantityPair& pair : pairs) {
    TC_CHECK(std::isfinite(pair.predicted) && std::isfinite(pair.measured), "a finite quantity");
    const double off = pair.predicted - pair.measured;
    squares += off * off / rows;
    scores.mean_absolute += std::abs(off) / rows;
    exact += std::round(pair.predicted) == std::round(pair.measured) ? 1 : 0;
  }
  scores.rmse = std::sqrt(squares);
  if (range > 0) scores.rmse_of_range = scores.rmse / range;
  if (count) scores.exact = exact / rows;
  return scores;
}

}  // namespace tilecast::measured
