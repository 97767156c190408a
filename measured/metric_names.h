// The metrics that evaluations and files name (measured/metrics.h computes them).
#pragma once

#include <cstddef>
#include <string_view>

namespace tilecast::measured {

enum class Metric {
  kMape,
  kMedianApe,
  kP90Ape,
  kBias,
  kTotal,
  kLogL1,          // mean |log(predicted / measured)|
  kRowTau,         // tau-b over all rows of the stratum: are programs, operators, kernels in order?
  kCoverage,       // share of rows inside their 90 % interval; undefined without intervals
  kIntervalWidth,  // mean of high / low - 1
  kMapeSurest25,   // MAPE of the 25 % of the rows with the narrowest intervals, and so on
  kMapeSurest50,
  kMapeSurest75,
  kAnnounced,  // share of errors above 2 x that the interval covers (announced_share)
  kTileTau,    // from here on: tiles within kernels
  kTileSizeApe,
  kTop1Slowdown,
  kTop1SlowdownP90,  // 90th percentile over kernels
  kTop5Slowdown,
  kTop10Slowdown,
  kBestInTop1,
  kBestInTop5,
  kBestInTop10,
  kBestInTopTenth,  // best found by measuring the tenth of a kernel's tiles predicted fastest
  kTop1Within2,     // share of kernels whose predicted fastest is within 2 % of the best
  kRowSpearman,     // from here on: only where asked for. Spearman's rho over all rows
  kRmseOfRange,     // of a quantity other than time (QuantityScores); evaluate() gives none
  kExact
};
constexpr std::size_t kMetricCount = 24;  // metrics of every evaluation
constexpr std::size_t kNamedMetricCount = 27;
[[nodiscard]] std::string_view name(Metric metric);  // "mape", "tile_size_ape", ...
// True for metrics that are predicted / measured, where 1 is best.
[[nodiscard]] constexpr bool is_ratio(Metric metric) {
  return metric == Metric::kBias || metric == Metric::kTotal;
}
[[nodiscard]] constexpr bool is_of_quantity(Metric metric) {
  return metric == Metric::kRmseOfRange || metric == Metric::kExact;
}
[[nodiscard]] constexpr bool ranks_tiles(Metric metric) {
  return metric >= Metric::kTileTau && metric <= Metric::kTop1Within2;
}

}  // namespace tilecast::measured
