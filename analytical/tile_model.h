// The interface of a model of one kernel on one kind of core, evaluated per tile. KernelAnalysis
// ranks tiles with it; ScratchpadModel (TPU), SimtModel (GPU) and CacheModel (CPU) implement it.
// Immutable, thread-safe.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>
#include <string>
#include <vector>

#include "analytical/accounting.h"
#include "analytical/footprint.h"

namespace tilecast::analytical {

using GroupExtents = boost::container::small_vector<Extents, 48>;  // on the stack

class TileModel {
 public:
  virtual ~TileModel() = default;

  [[nodiscard]] const IterationSpace& space() const { return space_; }
  // Tiles worth trying, fewest iterations first, at most `limit`; independent of rates and
  // capacities.
  [[nodiscard]] virtual std::vector<TileConfig> candidates(std::size_t limit) const;
  // Seconds; infinity if the tile does not fit. No allocation.
  [[nodiscard]] virtual double time_s(const TileConfig& tile) const = 0;
  // The same for each of `tiles`; neighbours may share work.
  virtual void times_s(std::span<const TileConfig> tiles, std::span<double> times) const;
  // Accounts for that time when the `removed` resources take none. A tile that does not fit moves
  // its excess once more.
  [[nodiscard]] virtual Accounting account(const TileConfig& tile, BoundMask removed) const = 0;
  // The estimate, without model and kernel names: time, bounds, bytes, iterations, scratchpad use.
  [[nodiscard]] Estimate estimate(const TileConfig& tile) const;
  [[nodiscard]] virtual double scratchpad_bytes(const TileConfig& tile) const = 0;
  [[nodiscard]] double iterations(const TileConfig& tile) const;
  // Lower bound per iteration: n iterations take at least n times this.
  [[nodiscard]] virtual double least_iteration_s() const = 0;
  // Why the tile cannot run; empty when it can.
  [[nodiscard]] virtual std::string infeasible_reason(const TileConfig& tile) const = 0;
  // Whether a tile may state how its block is written (analytical/block_schedule.h).
  [[nodiscard]] virtual bool has_schedules() const { return false; }

 protected:
  TileModel(const ir::Kernel& kernel, const hwdesc::Device& device);
  [[nodiscard]] GroupExtents group_extents() const;  // uninitialised, one entry per group

  const hwdesc::Device* device_;
  IterationSpace space_;
  Footprints footprints_;
  double cycle_s_ = 1;
};

}  // namespace tilecast::analytical
