// Orders of directed graphs over 0..count-1, given as edges. The one place of ir/ that uses
// Boost.Graph. Nothing recurses: graphs may be chains of a million. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tilecast::ir {

using GraphEdge = std::pair<std::uint32_t, std::uint32_t>;  // from, to

// A depth-first walk along the edges from `roots`, or from every vertex where no roots are given;
// edges of one vertex are followed in the order in which they are listed. Linear.
struct DepthFirst {
  std::vector<std::uint32_t> post_order;  // what was reached, targets before sources
  std::optional<std::uint32_t> on_cycle;  // the first vertex found to lead back to itself
};
[[nodiscard]] DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges);
[[nodiscard]] DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges,
                                     std::span<const std::uint32_t> roots);

// Sources before targets, and of the vertices that may come next always the one with the smallest
// key (then number). Shorter than `keys` where edges form a cycle.
[[nodiscard]] std::vector<std::uint32_t> order_by_key(std::span<const std::uint32_t> keys,
                                                      const std::vector<GraphEdge>& edges);

}  // namespace tilecast::ir
