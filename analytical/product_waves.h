// The waves of a product whose blocks were written with stages and warps (block_schedule.h): what
// the blocks of one block tile have in common, and how long a step of all that run together takes.
//
// Blocks of a wave drift apart and steps of several get in each other's way where two resources are
// nearly busy: fourth powers are added. pipeline.h's bound is the limit of ever higher powers. Of
// those the fourth orders Triton's products on an A100 best, the third to the tenth hardly worse.
// Seconds and bytes. Pure functions, thread-safe.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>

#include "analytical/accounting.h"
#include "analytical/block_schedule.h"
#include "analytical/iteration_space.h"
#include "analytical/simt_launch.h"

namespace tilecast::analytical {

struct ProductBlock {  // of a block tile; but for `schedule` whatever its stages and warps
  struct Load {
    double bytes = 0;                        // of a step, in the worker's memory
    bool by_row = false, by_column = false;  // do the block's rows, columns choose what it is?
    double broadcast = 1;  // matrices of the batch, one after the other, that share it
  };
  LoopSizes extents{};
  BlockSchedule schedule;
  boost::container::small_vector<Load, 4> loads;
  double blocks = 1, steps = 1;
  WaveShape grid;            // all blocks of one product
  double cache_bytes = 0;    // of a step from the shared cache, with what short runs cost
  double outside_bytes = 0;  // of a block, beside its steps: results, what is loaded once
  double prologue_s = 0;     // of what is computed of operands in a step, beside the product
  double finish_s = 0;       // after the last step
};

struct Waves {  // alike
  double count = 0;
  double resident = 1, in_flight = 1;  // blocks of a worker, of all
};
// Whole ones, and what is left.
[[nodiscard]] std::array<Waves, 2> waves_of(double blocks, double resident, double workers);

// What the blocks of a wave load from main memory in one step, behind a cache of `capacity` bytes
// that all share, of a product that reads `input_bytes` in all.
[[nodiscard]] double wave_step_bytes(const ProductBlock& product, double in_flight, double capacity,
                                     double input_bytes);

// What is busy in a step of a wave, in this order: the unit; shared memory; the shared cache;
// vector units; main memory; issue; a block's own use; its round trip over its stages.
inline constexpr std::array<Bound, 8> kWaveResources{
    Bound::kMatrix,  Bound::kOnChip, Bound::kOnChip,  Bound::kVector,
    Bound::kHbmRead, Bound::kIssue,  Bound::kLatency, Bound::kLatency};
using WaveTimes = std::array<double, kWaveResources.size()>;

struct WavePeriod {  // one step of all blocks of a wave
  WaveTimes busy_s{};
  double times = 0;       // of the waves alike
  double ends_s = 0;      // before the first, after the last, all waves
  double read_bytes = 0;  // of main memory, in one
};

class ContendedPeriod {
 public:
  explicit ContendedPeriod(const WaveTimes& busy_s);
  [[nodiscard]] double seconds() const { return seconds_; }
  // Of it, what the period waits for resource `i`; all add up to it.
  [[nodiscard]] double waited_s(std::size_t i) const;

 private:
  WaveTimes power_{};
  double sum_ = 0, seconds_ = 0;
};

}  // namespace tilecast::analytical
