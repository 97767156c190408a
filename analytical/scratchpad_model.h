// The pipelined model of a core with a software-managed scratchpad (TPU): one kernel, one tile.
//
// The loop nest of iteration_space.h runs tile by tile. While one tile is computed, the next tile's
// operands are loaded and the previous result is stored (Kaufman et al., MLSys 2021, Appendix A):
//
//   T = fill + sum over transitions (count * period) + last use + drain
//
// A transition advances one loop and resets the loops inside it; an operand is loaded again only if
// the loops that changed move its tile, and a result is stored when its tile is left. The period is
// pipeline.h's bound over {load path, store path (shared unless full duplex), compute units} with
// the memory's latency in the round trip. The engine moves bytes; the core issues the transfers and
// runs the loop besides computing, one after the other. Edge tiles move only what exists but
// compute in full: the code of an iteration is static. Results revisited by outer loops stay in the
// scratchpad as accumulators when they are small.
#pragma once

#include <limits>
#include <string>

#include "analytical/compute_units.h"
#include "analytical/estimate.h"
#include "analytical/streams.h"
#include "analytical/tile_model.h"

namespace tilecast::analytical {

class ScratchpadModel final : public TileModel {
 public:
  ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device);

  [[nodiscard]] const IterationSpace& space() const override { return space_; }
  [[nodiscard]] std::vector<TileConfig> candidates(std::size_t limit) const override;
  // Seconds; infinity when the tile does not fit. No allocation.
  [[nodiscard]] double time_s(const TileConfig& tile) const override;
  // Everything but names: time, bounds, bytes, iterations, scratchpad use. Tile must fit.
  [[nodiscard]] Estimate estimate(const TileConfig& tile) const override;
  // For kernels of which no tile fits: the tile all the same, what does not fit stored to and
  // loaded from main memory once more.
  [[nodiscard]] Estimate estimate_spilled(const TileConfig& tile) const override;
  [[nodiscard]] double scratchpad_bytes(const TileConfig& tile) const override;
  [[nodiscard]] double iterations(const TileConfig& tile) const override;
  // No iteration of any tile is faster: loop overhead, and filling the matrix unit once.
  [[nodiscard]] double least_iteration_s() const override;
  // Why the tile cannot run; empty when it can.
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const override;

 private:
  struct Stream : MemoryStream {
    bool in_main_memory = true;
    bool resident = false;  // outputs: kept as an accumulator over all loops
  };
  struct Shape {  // one tile, prepared
    LoopSizes extents;
    LoopSizes trips;
    double scratchpad_bytes = 0;
  };
  struct Tally {  // where the time goes; null on the hot path
    BoundVector busy{};
    std::array<double, kBoundCount> blame{};
    double read_bytes = 0, write_bytes = 0;
  };
  struct Moves {
    struct Way {
      double bytes = 0, transfers = 0;
      double engine_s = 0;  // short runs costed
    };
    Way read, write;

    [[nodiscard]] double transfers() const { return read.transfers + write.transfers; }
  };
  struct Uses {
    double iteration_s = 0, finish_s = 0;
    UnitCycles iteration, finish;
  };

  using GroupExtents = boost::container::small_vector<Extents, 48>;  // on the stack

  void add_streams(const ir::Kernel& kernel);
  void add(const Stream& stream, std::span<const Extents> groups, double rate,
           Moves::Way& way) const;
  [[nodiscard]] bool revisited(std::uint32_t loops) const;
  [[nodiscard]] Shape prepare(const TileConfig& tile, std::span<Extents> groups) const;
  [[nodiscard]] double footprint_bytes(const Shape& shape, std::span<const Extents> groups) const;
  [[nodiscard]] Uses uses(const Shape& shape, std::span<const Extents> groups,
                          BoundMask removed) const;
  [[nodiscard]] Moves moves(std::uint32_t changed, std::span<const Extents> groups) const;
  [[nodiscard]] double run_s(const TileConfig& tile, BoundMask removed, Tally* tally,
                             bool may_spill = false) const;
  [[nodiscard]] Estimate explained(const TileConfig& tile, bool may_spill) const;
  [[nodiscard]] double transitions_s(const Shape& shape, const Uses& use,
                                     std::span<const Extents> groups, BoundMask removed,
                                     Tally* tally) const;
  [[nodiscard]] double period_s(const Moves& moved, double use_s, BoundMask removed) const;
  void tally_period(const Moves& moved, const Uses& use, bool finishes, double weight,
                    double period, BoundMask removed, Tally& tally) const;
  [[nodiscard]] double ends_s(const Uses& use, std::span<const Extents> groups, BoundMask removed,
                              Tally* tally) const;

  const hwdesc::Device* device_;
  IterationSpace space_;
  Footprints footprints_;
  ComputeModel compute_;
  std::vector<Stream> inputs_, outputs_;
  double read_rate_ = 1, write_rate_ = 1;  // bytes per second, efficiency applied
  double latency_s_ = 0, setup_s_ = 0, overhead_s_ = 0, cycle_s_ = 1;
  double stages_ = 2;
  bool full_duplex_ = false;
};

}  // namespace tilecast::analytical
