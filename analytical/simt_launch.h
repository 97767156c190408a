// Distribution of thread blocks over the workers (SMs, cores) of a machine: occupancy and waves.
//
// Every worker holds as many blocks as its shared memory and registers allow, at most max_resident.
// A wave is the set of blocks that all workers hold at once (ALCOP, MLSys 2023, Table I:
// N_threadblk_batch = waves, N_threadblk_per_SM = resident). Blocks of a wave share loaded data
// through the shared cache: a wave covers a rectangle of output tiles, as square in bytes as the
// grid allows.
#pragma once

#include "hwdesc/device.h"

namespace tilecast::analytical {

struct BlockNeeds {
  double shared_bytes = 0;    // buffers in the worker's own memory
  double register_bytes = 0;  // accumulators
};

struct Launch {
  double resident = 0;  // blocks per worker; 0: not even one fits
  double waves = 0;
  double per_worker = 0;   // blocks run by the busiest worker
  double wave_blocks = 0;  // blocks running at once, at most
};

// The memory of one worker: shared memory, or the L2 cache of a CPU core.
[[nodiscard]] const hwdesc::MemoryLevel& worker_memory(const hwdesc::Device& device);
// The cache shared by all workers, between main memory and their own; nullptr if there is none.
[[nodiscard]] const hwdesc::MemoryLevel* shared_cache(const hwdesc::Device& device);
[[nodiscard]] double resident_blocks(const hwdesc::Device& device, const BlockNeeds& needs);
// `resident` >= 1, `blocks` >= 1.
[[nodiscard]] Launch launch_of(const hwdesc::Device& device, double resident, double blocks);

// Slowdown factor >= 1 of matrix work that takes the core `core_s` at its full clock, if a power
// limit lowers the clock of long work.
[[nodiscard]] double slowed_by_power(const hwdesc::Device& device, double core_s);

struct WaveShape {
  double rows = 1, columns = 1;  // tiles
};
// The rectangle of a wave that loads least, in a grid of `rows` x `columns` tiles.
[[nodiscard]] WaveShape wave_shape(double wave_blocks, double rows, double columns,
                                   double row_bytes, double column_bytes);

}  // namespace tilecast::analytical
