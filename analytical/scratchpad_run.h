// State that the scratchpad model keeps from tile to tile of a kernel. Internal to its files.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

#include "analytical/compute_units.h"
#include "analytical/tile_model.h"
#include "analytical/transfer.h"

namespace tilecast::analytical::scratchpad {

struct Stream : MemoryStream {
  bool in_main_memory = true;
  bool resident = false;             // outputs: kept as an accumulator over all loops
  std::uint32_t transferred_by = 0;  // loops whose steps transfer a window, one bit each
};
struct TileShape {
  LoopSizes extents;
  LoopSizes trips;
  std::uint32_t cut = 0;  // loops with more than one trip, one bit each
  double accumulator_bytes = 0, scratchpad_bytes = 0;
};
struct Rates {
  MemoryPath memory;
  double setup_s = 0, overhead_s = 0, launch_s = 0;
  double transfer_bytes = 0;  // bytes added to each transfer for its fixed cost

  // Each window of an in-place update waits for its read and its write.
  [[nodiscard]] double update_wait_s() const {
    return 2 * (memory.latency_s + setup_s) + overhead_s;
  }
};
struct WindowCost {                // cost of moving one window of a stream
  double bytes = 0, engine_s = 0;  // cost of short runs included in engine_s
  double updates = 0;              // windows that are read, changed and written in sequence
};
using WindowCosts = boost::container::small_vector<WindowCost, 16>;  // inputs, then outputs
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

  [[nodiscard]] std::span<const Extents> regions() const { return {groups.data(), groups.size()}; }
};

}  // namespace tilecast::analytical::scratchpad
