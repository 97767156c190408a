// What a program gains by other fusions or tiles, and how sure a model is of it.
//
//   ProgramGain gain = program_gain({before, model}, {after, model}, device);
//   gain.share()       // 0.03: 3 % less time
//
// Kernels that both have, with the same tile, are as wrong on both sides and cancel. Of the others
// the errors of the two sides count as independent: the interval of the difference is as far from
// it as the root of the sum of squares of the sides' half intervals (measured/total_interval.h).
#pragma once

#include <optional>

#include "analytical/cost_model.h"
#include "ir/program.h"
#include "measured/metrics.h"

namespace tilecast::sim {

struct ProgramGain {
  double before_s = 0, after_s = 0;           // sums over kernels of time x launches
  std::optional<measured::Interval> saved_s;  // 90 %, of before - after; nothing: not known

  [[nodiscard]] double share() const { return before_s > 0 ? 1 - after_s / before_s : 0; }
  // Certain by the interval; without one as the times say.
  [[nodiscard]] bool accepted() const { return saved_s ? saved_s->low > 0 : after_s < before_s; }
};

struct TimedProgram {
  const ir::Program& program;
  const analytical::CostModel& model;
};

// Throws Error where a model has no answer.
[[nodiscard]] ProgramGain program_gain(const TimedProgram& before, const TimedProgram& after,
                                       const hwdesc::Device& device);

}  // namespace tilecast::sim
