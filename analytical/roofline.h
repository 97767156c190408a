// The baseline of every report: max(bytes / bandwidth, FLOPs / peak), nothing else.
#pragma once

#include "analytical/cost_model.h"

namespace tilecast::analytical {

class RooflineModel final : public CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override;
};

// Lower bound for any implementation: every distinct input and output byte once over the outermost
// memory, every FLOP at the unit's peak, efficiencies not applied. On GPUs convolutions may need
// fewer multiplications (winograd.h).
[[nodiscard]] Seconds speed_of_light(const ir::Kernel& kernel, const hwdesc::Device& device);

}  // namespace tilecast::analytical
