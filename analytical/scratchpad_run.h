// What the scratchpad model keeps while it goes from tile to tile of a kernel. Of its files only.
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
  std::uint32_t transferred_by = 0;  // loops whose steps transfer a window, a bit each
};
struct TileShape {
  LoopSizes extents;
  LoopSizes trips;
  std::uint32_t cut = 0;  // loops of more than one trip, a bit each
  double accumulator_bytes = 0, scratchpad_bytes = 0;
};
struct Rates {
  MemoryPath memory;
  double setup_s = 0, overhead_s = 0, launch_s = 0;
  double transfer_bytes = 0;  // by which a transfer is as if longer

  // One window of an update in place waits for its read and its write.
  [[nodiscard]] double update_wait_s() const {
    return 2 * (memory.latency_s + setup_s) + overhead_s;
  }
};
struct WindowCost {                // of moving one window of a stream
  double bytes = 0, engine_s = 0;  // short runs costed
  double updates = 0;              // windows that are read, changed and written one after the other
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
  double chain_s = 0;  // for which the critical path is longer than the units are busy
  double fill_s = 0;   // of the matrix unit, once: behind the next iteration until the last
  double loads = 0;    // cycles in which operands reach the products
  UnitCycles iteration, finish;
  UnitCycles partial;  // adding a partial result to the one before
};
struct Run {  // one tile after the other, with what is left of the machine
  Rates rates;
  BoundMask removed = 0;
  Accounting* accounting = nullptr;  // null on the hot path
  // The tile, and what the next one may have in common with it.
  TileShape shape;
  GroupExtents groups;
  boost::container::small_vector<double, 16> resident;  // bytes of a buffer: inputs, outputs
  std::uint32_t moved = Footprints::kEveryLoop;         // loops whose extents changed since ...
  ComputeTime compute;                                  // ... these were made
  WindowCosts costs;

  [[nodiscard]] std::span<const Extents> regions() const { return {groups.data(), groups.size()}; }
};

}  // namespace tilecast::analytical::scratchpad
