// The pipelined model of a core with a software-managed scratchpad (TPU): one kernel, one tile.
//
// The loop nest of iteration_space.h runs tile by tile. While one tile is computed, the next tile's
// operands are loaded and the previous result is stored (Kaufman et al., MLSys 2021, Appendix A):
//
//   T = fill + sum over transitions (count * period) + last use + drain
//
// A transition advances one loop and resets those inside it. An operand is reloaded only if a
// changed loop moves its tile; a result is stored when its tile is left. The engine moves the
// bytes; the core issues transfers, runs the loop, makes computed operands before their pushes and
// computes, one after the other. Edge tiles move only their existing part but compute in full.
// Small results that outer loops revisit stay as accumulators. A footprint beyond the capacity
// moves once more. An in-place update of part of its native tiles goes window by window. Seen on:
// docs/model.md.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

#include "analytical/compute_units.h"
#include "analytical/tile_model.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

class ScratchpadModel final : public TileModel {
 public:
  ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device);

  [[nodiscard]] double time_s(const TileConfig& tile) const override;
  void times_s(std::span<const TileConfig> tiles, std::span<double> times) const override;
  [[nodiscard]] Accounting account(const TileConfig& tile, BoundMask removed) const override;
  [[nodiscard]] double scratchpad_bytes(const TileConfig& tile) const override;
  // Loop overhead plus, for products, one block of the matrix unit without its fill, which may be
  // paid once for all iterations.
  [[nodiscard]] double least_iteration_s() const override;
  // Launch, loop overhead and the matrix unit.
  [[nodiscard]] double least_s(const LoopSizes& extents) const override;
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const override;

 private:
  struct Stream : MemoryStream {
    bool in_main_memory = true, written = false;
    bool resident = false;             // written: kept as an accumulator over all loops
    std::uint32_t transferred_by = 0;  // loops whose steps transfer a window, one bit each
  };
  struct TileShape {
    LoopSizes extents, trips;
    std::uint32_t cut = 0;  // loops with more than one trip, one bit each
    double accumulator_bytes = 0, scratchpad_bytes = 0;
  };
  struct Rates {
    MemoryPath memory;
    double setup_s = 0, overhead_s = 0, launch_s = 0;

    // Each window of an in-place update waits for its read and its write.
    [[nodiscard]] double update_wait_s() const {
      return 2 * (memory.latency_s + setup_s) + overhead_s;
    }
  };
  struct UpdateCost : WindowCost {
    double updates = 0;  // windows that are read, changed and written in sequence
  };
  using WindowCosts = boost::container::small_vector<UpdateCost, 16>;  // by stream
  struct Transfers {
    struct Direction {
      double bytes = 0, count = 0, engine_s = 0;
      void add(const WindowCost& window) {
        bytes += window.bytes;
        engine_s += window.engine_s;
        count += 1;
      }
    };
    Direction read, write;
    double updates = 0;

    void add(const Stream& stream, const UpdateCost& window) {
      (stream.written ? write : read).add(window);
      if (stream.written) updates += window.updates;
    }
    [[nodiscard]] double count() const { return read.count + write.count; }
  };
  struct ComputeTime {
    double iteration_s = 0, finish_s = 0;
    double chain_s = 0;  // by which the critical path exceeds the busy time
    double fill_s = 0;   // of the matrix unit, once: the next iteration hides it, except at the end
    double loads = 0;    // cycles of vector loads of the products' operands
    UnitCycles iteration, finish;
    UnitCycles partial;  // adding a partial result to the one before
  };
  struct Run {  // evaluates tiles in sequence, with `removed` resources taken away
    Rates rates;
    BoundMask removed = 0;
    Accounting* accounting = nullptr;  // null on the hot path
    // The current tile, and values that the next tile may share with it.
    TileShape shape;
    GroupExtents groups;
    boost::container::small_vector<double, 16> resident;  // bytes per buffer: inputs, then outputs
    std::uint32_t moved = Footprints::kEveryLoop;         // loops whose extents changed since ...
    ComputeTime compute;                                  // ... these were computed
    WindowCosts costs;

    [[nodiscard]] std::span<const Extents> regions() const {
      return {groups.data(), groups.size()};
    }
  };

  void add_streams(const ir::Kernel& kernel);
  [[nodiscard]] bool revisited(std::uint32_t loops) const;
  [[nodiscard]] Run begin_run(BoundMask removed, Accounting* accounting) const;
  void move_to(const TileConfig& tile, Run& run) const;
  [[nodiscard]] bool splits_reduction(const TileShape& shape) const {
    return (shape.cut & reductions_) != 0;
  }
  [[nodiscard]] double footprint_bytes(const Run& run) const;
  [[nodiscard]] Rates rates_without(BoundMask removed) const;
  [[nodiscard]] double chain_excess_s(double busy_s, BoundMask removed) const;
  void update_compute(Run& run) const;
  [[nodiscard]] UpdateCost window_cost(const Stream& stream, std::span<const Extents> groups,
                                       double rate) const;
  void update_costs(WindowCosts& costs, std::uint32_t changed, std::span<const Extents> groups,
                    const Rates& rates) const;
  [[nodiscard]] Transfers transfers(std::uint32_t changed, const WindowCosts& costs) const;
  [[nodiscard]] PipelineLoop loop_of(const Transfers& moved, double use_s,
                                     const Rates& rates) const;
  [[nodiscard]] UnitCycles operands_made(std::uint32_t changed, std::span<const Extents> groups,
                                         BoundMask removed) const;
  [[nodiscard]] PerBound busy_of(const Run& run, const Transfers& moved, const UnitCycles& made,
                                 bool finishes) const;
  // Seconds of `count` steps that move the tiles of the loops `changed`.
  [[nodiscard]] double steps_s(const Run& run, std::uint32_t changed, bool finishes, double count,
                               const WindowCosts& costs) const;
  [[nodiscard]] WindowCosts costs_at(std::uint32_t edges, const Run& run,
                                     GroupExtents& regions) const;
  [[nodiscard]] double transitions_s(const Run& run) const;
  [[nodiscard]] double ends_s(const Run& run) const;
  // Infinite for a tile that does not fit, unless an accounting is requested.
  [[nodiscard]] double run_s(const TileConfig& tile, Run& run) const;

  ComputeModel compute_;
  std::vector<Stream> streams_;  // inputs, then outputs
  Rates rates_;
  std::uint32_t reductions_ = 0;  // one bit per loop
  double stages_ = 2;
  double window_bytes_ = 0;     // most that a chosen tile may take
  bool makes_operands_ = true;  // false: no vector work before the products
};

}  // namespace tilecast::analytical
