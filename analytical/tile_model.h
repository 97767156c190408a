// The interface of a model of one kernel on one kind of core, evaluated per tile. KernelAnalysis
// ranks tiles with it; ScratchpadModel (TPU), SimtModel (GPU) and CacheModel (CPU) implement it.
// Immutable, thread-safe.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
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
  // Extents of tiles worth trying, fewest iterations first, at most `limit`; independent of rates
  // and capacities.
  [[nodiscard]] virtual std::vector<LoopSizes> candidate_extents(std::size_t limit) const;
  [[nodiscard]] std::vector<TileConfig> candidates(std::size_t limit) const;  // those tiles
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
  // Lower bound of time_s() of the tile with these extents, at a fraction of its cost.
  [[nodiscard]] virtual double least_s(const LoopSizes& extents) const {
    return tile_count(space_, extents) * least_iteration_s();
  }
  // Why the tile cannot run; empty when it can.
  [[nodiscard]] virtual std::string infeasible_reason(const TileConfig& tile) const = 0;
  // The tile that the file states, if this kind of machine runs it.
  [[nodiscard]] virtual std::optional<TileConfig> stated() const { return std::nullopt; }
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

// The tile model for the device's kind of execution. `kernel` and `device` must outlive it.
[[nodiscard]] std::unique_ptr<const TileModel> tile_model(const ir::Kernel& kernel,
                                                          const hwdesc::Device& device);

struct ChosenTile {
  TileConfig tile;
  bool fits = true;  // false: no candidate fits; this one needs the least memory
  bool by_compiler = false;
};

// The tile that a compiler is assumed to use: the stated one, else the fastest candidate that fits.
[[nodiscard]] ChosenTile best_tile(const TileModel& model);

// The loop nests of a kernel that does several independent things, as kernels in the order of their
// first outputs; empty if there is only one. Outputs share a nest if they share a computation or an
// array that both read whole, or if they have the same dimensions (a compiler writes one loop over
// those). Other parts of a fusion (updates of several caches, slices of several arrays, a copy into
// another layout) are nests of their own, which run one after the other in one launch. Thread-safe.
[[nodiscard]] std::vector<ir::Kernel> loop_nests(const ir::Kernel& kernel);

// Nests at their best tiles, one after the other in one launch.
class NestSequence {
 public:
  NestSequence(const std::vector<ir::Kernel>& nests, const hwdesc::Device& device);
  [[nodiscard]] Accounting account(BoundMask removed) const;

 private:
  std::unique_ptr<const hwdesc::Device> launched_, further_;  // with and without launch cost
  struct Nest {
    std::unique_ptr<const TileModel> model;
    TileConfig tile;
  };
  std::vector<Nest> nests_;
};

}  // namespace tilecast::analytical
