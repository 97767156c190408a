// Bottleneck analysis: a kernel takes as long as its busiest resource, nothing else. The baseline
// beside which ALCOP's pipeline model is shown (Huang et al., MLSys 2023, figure 12).
//
//   time = max(main memory, shared cache or shared memory, compute units, network)
//
// Seconds that each resource is busy under a tile are the analytical model's (Estimate::bounds):
// the same traffic, layouts, edges and rates. What it leaves out is what a pipeline adds to them:
// latency, stages, resident blocks that hide each other's latency, filling and draining, issue and
// launch overhead. What stays of occupancy is what makes a resource busy for longer: workers idle
// in the last wave, matrix units that too few warps use. A kernel without such a resource (a
// zero-sized result) takes no time.
#pragma once

#include "analytical/cost_model.h"

namespace tilecast::analytical {

// Domain and errors as AnalyticalModel's, tiles that cannot run included. Without a tile: the one
// that a dump states, else the fastest by this model; of equal ones the analytical model's first.
class BottleneckModel final : public CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override;
};

}  // namespace tilecast::analytical
