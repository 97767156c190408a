#include "analytical/bottleneck.h"

#include <algorithm>

#include "analytical/analytical_model.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {
namespace {

// Resources other than main memory.
constexpr Bound kResources[] = {Bound::kMatrix,    Bound::kVector, Bound::kTranscendental,
                                Bound::kCrossLane, Bound::kOnChip, Bound::kNetwork};

struct Busy {
  Bound bound;
  Seconds time;
};

// Reads and writes of main memory are one resource where they share its path.
std::vector<Busy> longest_first(const BoundVector& bounds, const hwdesc::Device& device) {
  const Seconds read = bounds[index_of(Bound::kHbmRead)];
  const Seconds write = bounds[index_of(Bound::kHbmWrite)];
  const double memory_s = memory_path(device.main_memory()).busy_s(read.value, write.value);
  std::vector<Busy> busy = {
      {read >= write ? Bound::kHbmRead : Bound::kHbmWrite, Seconds{memory_s}}};
  for (const Bound bound : kResources) busy.push_back({bound, bounds[index_of(bound)]});
  std::ranges::stable_sort(busy, std::greater<>(), &Busy::time);
  return busy;
}

// The same answer without the latencies and overheads that a pipeline adds.
Estimate bottleneck_of(Estimate e, const hwdesc::Device& device) {
  for (const Bound beside : {Bound::kIssue, Bound::kLatency, Bound::kFillDrain, Bound::kOverhead}) {
    e.bounds[index_of(beside)] = Seconds{0};
  }
  const std::vector<Busy> busy = longest_first(e.bounds, device);
  e.time = std::max(busy[0].time, e.speed_of_light);
  e.bound = busy[0].bound;
  e.next_bound = busy[1].bound;
  e.next_time = busy[1].time;
  e.utilisation = e.time.value > 0 ? e.speed_of_light / e.time : 1;
  e.model = "bottleneck";
  return e;
}

Estimate fastest_bottleneck(const KernelAnalysis& analysis, const hwdesc::Device& device) {
  Estimate best = bottleneck_of(analysis.estimate_best(), device);
  if (!analysis.tileable() || analysis.compiler_tile()) return best;
  for (const TileConfig& tile : analysis.tiles()) {
    const auto answer = analysis.estimate(tile);
    const auto* estimate = std::get_if<Estimate>(&answer);
    if (estimate == nullptr) continue;
    Estimate e = bottleneck_of(*estimate, device);
    if (e.time < best.time) best = std::move(e);
  }
  return best;
}

}  // namespace

std::vector<std::optional<Estimate>> BottleneckModel::estimate(std::span<const KernelQuery> queries,
                                                               const hwdesc::Device& device) const {
  std::vector<std::optional<Estimate>> answers;
  answers.reserve(queries.size());
  const ir::Kernel* analysed = nullptr;  // queries for one kernel are often adjacent
  std::optional<KernelAnalysis> analysis;
  for (const KernelQuery& query : queries) {
    if (analysed != &query.kernel) {
      analysis.emplace(query.kernel, device);
      analysed = &query.kernel;
    }
    if (query.tile == nullptr) {
      answers.emplace_back(fastest_bottleneck(*analysis, device));
      continue;
    }
    const auto answer = analysis->estimate(*query.tile);
    const auto* estimate = std::get_if<Estimate>(&answer);
    answers.push_back(estimate ? std::optional(bottleneck_of(*estimate, device)) : std::nullopt);
  }
  return answers;
}

}  // namespace tilecast::analytical
