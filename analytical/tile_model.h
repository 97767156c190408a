// What a model of one kernel on one kind of core answers about tiles. KernelAnalysis ranks tiles
// with it; ScratchpadModel (TPU) and SimtModel (GPU, CPU) implement it. Immutable, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analytical/estimate.h"
#include "analytical/iteration_space.h"

namespace tilecast::analytical {

using BoundMask = std::uint32_t;  // bit per Bound: resources taken away, for "what would bind next"

constexpr std::size_t index_of(Bound bound) {
  return static_cast<std::size_t>(bound);
}
constexpr bool has(BoundMask mask, Bound bound) {
  return (mask >> index_of(bound) & 1U) != 0;
}

class TileModel {
 public:
  virtual ~TileModel() = default;

  [[nodiscard]] virtual const IterationSpace& space() const = 0;
  // Tiles worth trying, fewest iterations first, at most `limit`; independent of rates and
  // capacities.
  [[nodiscard]] virtual std::vector<TileConfig> candidates(std::size_t limit) const = 0;
  // Seconds; infinity when the tile does not fit. No allocation.
  [[nodiscard]] virtual double time_s(const TileConfig& tile) const = 0;
  // Everything but names: time, bounds, bytes, iterations, scratchpad use. Tile must fit.
  [[nodiscard]] virtual Estimate estimate(const TileConfig& tile) const = 0;
  // For kernels of which no tile fits: the tile all the same, moving the excess once more.
  [[nodiscard]] virtual Estimate estimate_spilled(const TileConfig& tile) const = 0;
  [[nodiscard]] virtual double scratchpad_bytes(const TileConfig& tile) const = 0;
  [[nodiscard]] virtual double iterations(const TileConfig& tile) const = 0;
  // A tile of n iterations takes at least n times this.
  [[nodiscard]] virtual double least_iteration_s() const = 0;
  // Why the tile cannot run; empty when it can.
  [[nodiscard]] virtual std::string infeasible_reason(const TileConfig& tile) const = 0;
};

}  // namespace tilecast::analytical
