#include "measured/total_interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace tilecast::measured {
namespace {

constexpr double kNormalQuantile = 1.6448536269514722;  // z, the 0.95 quantile

// Sums over parts of (a_i d_i)^2 and a_i d_i, for one side.
struct Deviations {
  double sum = 0, sum_of_squares = 0;

  void add(double share, double ratio) {
    const double deviation = share * std::log(ratio) / kNormalQuantile;
    sum += deviation;
    sum_of_squares += deviation * deviation;
  }
  // exp(z d)
  [[nodiscard]] double factor(double rho) const {
    return std::exp(kNormalQuantile * std::sqrt((1 - rho) * sum_of_squares + rho * sum * sum));
  }
};

}  // namespace

std::optional<Interval> total_interval(std::span<const IntervalPart> parts, double rho) {
  TC_CHECK(rho >= 0 && rho <= 1, "a correlation of errors is 0 ... 1");
  if (parts.empty()) return std::nullopt;
  double total = 0;
  for (const IntervalPart& part : parts) {
    TC_CHECK(0 < part.low && part.low <= part.time && part.time <= part.high &&
                 std::isfinite(part.high) && part.launches > 0,
             "a part takes time, inside its interval");
    total += part.time * part.launches;
  }
  Deviations low, high;
  for (const IntervalPart& part : parts) {
    const double share = part.time * part.launches / total;
    low.add(share, part.time / part.low);
    high.add(share, part.high / part.time);
  }
  return Interval{.low = total / low.factor(rho), .high = total * high.factor(rho)};
}

std::optional<Interval> total_interval(std::span<const LaunchedEstimate> kernels) {
  std::vector<IntervalPart> parts;
  double rho = 0, corrected = 0;  // weighted by time
  bool any = false;
  for (const auto& [estimate, launches] : kernels) {
    const double time = estimate->time.value;
    if (!std::isfinite(time)) return std::nullopt;
    if (time <= 0 || launches <= 0) continue;  // no contribution
    IntervalPart part{.time = time, .low = time, .high = time, .launches = launches};
    if (estimate->correction) {
      any = true;
      part.low = std::min(time, estimate->correction->low.value);
      part.high = std::max(time, estimate->correction->high.value);
      rho += time * launches * estimate->correction->correlation;
      corrected += time * launches;
    }
    parts.push_back(part);
  }
  if (!any) return std::nullopt;
  return total_interval(parts, corrected > 0 ? std::min(rho / corrected, 1.0) : 0);
}

}  // namespace tilecast::measured
