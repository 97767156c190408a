#include "base/statistics.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"

namespace tilecast::base {

double quantile(std::vector<double> values, double q) {
  TC_CHECK(!values.empty() && q >= 0 && q <= 1, "a quantile is of something, and from 0 to 1");
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  if (below + 1 >= values.size()) return *at;
  const double above = *std::min_element(at + 1, values.end());
  return *at + (place - static_cast<double>(below)) * (above - *at);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double upper_median(std::vector<double> values) {
  TC_CHECK(!values.empty(), "a median is of something");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tilecast::base
