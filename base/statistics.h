// Order statistics of a sample of at least one value.
#pragma once

#include <vector>

namespace tilecast::base {

// The q-quantile for q in [0, 1]: linear interpolation between order statistics (Hyndman and Fan,
// 1996, type 7).
[[nodiscard]] double quantile(std::vector<double> values, double q);

// quantile(values, 0.5).
[[nodiscard]] double median(std::vector<double> values);

// The median as a value of the sample: for an even number, the larger of the two in the middle.
[[nodiscard]] double upper_median(std::vector<double> values);

}  // namespace tilecast::base
