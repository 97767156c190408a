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

// Bottleneck analysis: a kernel takes as long as its busiest resource. The baseline against which
// ALCOP's pipeline model is compared (Huang et al., MLSys 2023, figure 12).
//
//   time = max(main memory, shared cache or shared memory, compute units, network)
//
// The busy time of each resource is the analytical model's (Estimate::bounds), with the same
// traffic, layouts, edges and rates. Everything a pipeline adds is left out: latency, stages,
// latency hiding between resident blocks, fill and drain, issue and launch overhead. Occupancy
// counts only where it keeps a resource busy for longer: idle workers in the last wave, matrix
// units without enough warps. A kernel that uses none of these resources (a zero-sized result)
// takes no time.

// Same domain and errors as AnalyticalModel. A query without a tile gets the tile that a dump
// states, else the fastest by this model; on a tie the one the analytical model prefers.
class BottleneckModel final : public CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override;
};

}  // namespace tilecast::analytical
