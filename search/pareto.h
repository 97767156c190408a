// Which of several answers no other one beats in everything asked for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilecast::search {

// Indices, ascending, of the points that no other dominates: at most as much of every objective and
// less of one. Smaller is better; equal points are all kept; a point with a NaN never is. Points
// have equally many objectives, one at least. Two objectives: O(n log n), more: O(n x front).
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

}  // namespace tilecast::search
