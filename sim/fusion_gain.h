// What a program gains by another fusion, and how sure a model is of it.
//
//   FusionGain gain = fusion_gain(before, after, device, model);
//   gain.share()       // 0.03: 3 % less time
//
// Kernels that both have are as wrong on both sides and cancel. Of the others the errors of the two
// sides count as independent: the interval of the difference is as far from it as the root of the
// sum of squares of the sides' half intervals (measured/total_interval.h).
#pragma once

#include <optional>

#include "analytical/cost_model.h"
#include "ir/program.h"
#include "measured/metrics.h"

namespace tilecast::sim {

struct FusionGain {
  double before_s = 0, after_s = 0;           // sums over kernels of time x launches
  std::optional<measured::Interval> saved_s;  // 90 %, of before - after; nothing: not known

  [[nodiscard]] double share() const { return before_s > 0 ? 1 - after_s / before_s : 0; }
  // Certain by the interval; without one as the times say.
  [[nodiscard]] bool accepted() const { return saved_s ? saved_s->low > 0 : after_s < before_s; }
};

// Throws Error where the model has no answer.
[[nodiscard]] FusionGain fusion_gain(const ir::Program& before, const ir::Program& after,
                                     const hwdesc::Device& device,
                                     const analytical::CostModel& model);

}  // namespace tilecast::sim
