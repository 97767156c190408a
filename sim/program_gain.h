// The gain of a program from other fusions or tiles, and its uncertainty.
//
//   ProgramGain gain = program_gain({before, model}, {after, model}, device);
//   gain.share()       // 0.03: 3 % less time
//
// Kernels with the same tile on both sides have the same error, which cancels. Errors of the other
// kernels are treated as independent between the sides: the half-widths of their intervals are
// combined as the root of the sum of squares (measured/total_interval.h).
#pragma once

#include <optional>

#include "analytical/cost_model.h"
#include "ir/program.h"
#include "measured/metrics.h"

namespace tilecast::sim {

struct ProgramGain {
  double before_s = 0, after_s = 0;           // sums over kernels of time x launches
  std::optional<measured::Interval> saved_s;  // 90 %, of before - after; nullopt: unknown

  [[nodiscard]] double share() const { return before_s > 0 ? 1 - after_s / before_s : 0; }
  // Whether the whole interval is a gain; without an interval, whether the time decreases.
  [[nodiscard]] bool accepted() const { return saved_s ? saved_s->low > 0 : after_s < before_s; }
};

struct TimedProgram {
  const ir::Program& program;
  const analytical::CostModel& model;
};

// Throws Error if a model has no estimate.
[[nodiscard]] ProgramGain program_gain(const TimedProgram& before, const TimedProgram& after,
                                       const hwdesc::Device& device);

}  // namespace tilecast::sim
