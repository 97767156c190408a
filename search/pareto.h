// Pareto-optimal points among several objectives, all to be minimised. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilecast::search {

// Ascending indices of the points that no other dominates. A point dominates another if it is at
// most as large in every objective and smaller in one. Equal points are all kept; points with a NaN
// are dropped. All points have the same number of objectives, at least one. O(n log n) for two
// objectives, else O(n x front).
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

}  // namespace tilecast::search
