// Distribution of thread blocks over the workers (SMs, cores) of a machine: occupancy and waves.
//
// Every worker holds as many blocks as its shared memory and registers allow, at most max_resident.
// A wave is the set of blocks that all workers hold at once (ALCOP, MLSys 2023, Table I:
// N_threadblk_batch = waves, N_threadblk_per_SM = resident). Blocks of a wave share loaded data
// through the shared cache: a wave covers a rectangle of output tiles, as square in bytes as the
// grid allows.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>

#include "analytical/accounting.h"
#include "analytical/block_schedule.h"
#include "analytical/iteration_space.h"
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

// Share of `bytes` that a cache of `capacity` bytes loses until they are read again.
[[nodiscard]] double miss_share(double capacity, double bytes);

struct WaveShape {
  double rows = 1, columns = 1;  // tiles
};
// The rectangle of a wave that loads least, in a grid of `rows` x `columns` tiles.
[[nodiscard]] WaveShape wave_shape(double wave_blocks, double rows, double columns,
                                   double row_bytes, double column_bytes);

// Waves of a product whose blocks state stages and warps (block_schedule.h). Steps get in each
// other's way when two resources are nearly equally busy, so the period is the 4-norm of the busy
// times; pipeline.h's bound is the limit of ever higher powers.
struct ProductBlock {  // a block tile; only `schedule` depends on stages and warps
  struct Load {
    double bytes = 0;                        // per step, in the worker's memory
    bool by_row = false, by_column = false;  // does the data depend on the block's rows, columns?
    double broadcast = 1;                    // consecutive matrices of the batch that share it
  };
  LoopSizes extents{};
  BlockSchedule schedule;
  boost::container::small_vector<Load, 4> loads;
  double blocks = 1, steps = 1;
  WaveShape grid;            // all blocks of one product
  double cache_bytes = 0;    // per step from the shared cache, cost of short runs included
  double outside_bytes = 0;  // per block, outside its steps: results, data loaded once
  double prologue_s = 0;     // computation on operands per step, other than the product
  double finish_s = 0;       // after the last step
};

struct Waves {  // equal waves
  double count = 0;
  double resident = 1, in_flight = 1;  // blocks per worker, and on all workers
};
// The full waves, and the partial last one.
[[nodiscard]] std::array<Waves, 2> waves_of(double blocks, double resident, double workers);

// Bytes the blocks of a wave load from main memory in one step, behind a shared cache of `capacity`
// bytes, for a product that reads `input_bytes` in all.
[[nodiscard]] double wave_step_bytes(const ProductBlock& product, double in_flight, double capacity,
                                     double input_bytes);

// Resources of a step of a wave, in this order: the unit; shared memory; the shared cache; vector
// units; main memory; issue; a block's own use; its round trip over its stages.
inline constexpr std::array<Bound, 8> kWaveResources{
    Bound::kMatrix,  Bound::kOnChip, Bound::kOnChip,  Bound::kVector,
    Bound::kHbmRead, Bound::kIssue,  Bound::kLatency, Bound::kLatency};
using WaveTimes = std::array<double, kWaveResources.size()>;

struct WavePeriod {  // one step of all blocks of a wave
  WaveTimes busy_s{};
  double times = 0;       // steps of all equal waves
  double ends_s = 0;      // before the first and after the last step, all waves
  double read_bytes = 0;  // of main memory, per step
};

class ContendedPeriod {
 public:
  explicit ContendedPeriod(const WaveTimes& busy_s);
  [[nodiscard]] double seconds() const { return seconds_; }
  // The part of the period spent waiting for resource `i`; all parts sum to seconds().
  [[nodiscard]] double waited_s(std::size_t i) const;

 private:
  WaveTimes power_{};
  double sum_ = 0, seconds_ = 0;
};

}  // namespace tilecast::analytical
