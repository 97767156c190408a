// Orders of directed graphs over the vertices 0..count-1, given as edges. The only user of
// Boost.Graph in ir/. No function recurses, so chains of a million vertices are fine. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tilecast::ir {

using GraphEdge = std::pair<std::uint32_t, std::uint32_t>;  // from, to

// A depth-first walk along the edges from `roots`, or from every vertex if no roots are given. The
// edges of a vertex are followed in the order listed. Linear time.
struct DepthFirst {
  std::vector<std::uint32_t> post_order;  // vertices reached, targets before sources
  std::optional<std::uint32_t> on_cycle;  // the first vertex found on a cycle
};
[[nodiscard]] DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges);
[[nodiscard]] DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges,
                                     std::span<const std::uint32_t> roots);

// Topological order, sources before targets: among the vertices that may come next, the one with
// the smallest key (then number) is taken. Shorter than `keys` if the edges form a cycle.
[[nodiscard]] std::vector<std::uint32_t> order_by_key(std::span<const std::uint32_t> keys,
                                                      const std::vector<GraphEdge>& edges);

}  // namespace tilecast::ir
