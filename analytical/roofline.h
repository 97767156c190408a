// The baseline every report shows: max(bytes / bandwidth, FLOPs / peak), nothing else.
#pragma once

#include "analytical/cost_model.h"

namespace tilecast::analytical {

class RooflineModel final : public CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override;
};

// No implementation can be faster: every byte of distinct input and output once over the outermost
// path, every FLOP at the unit's peak. Efficiencies are not applied. On GPUs convolutions may do
// with fewer multiplications (winograd.h).
[[nodiscard]] Seconds speed_of_light(const ir::Kernel& kernel, const hwdesc::Device& device);

}  // namespace tilecast::analytical
