// The fastest fusions of a program by a cost model: the fusion autotuner of Kaufman et al. (MLSys
// 2021, section 7.3) and of Phothilimthana et al. (PACT 2021), and simpler searches beside it, so
// that it has to earn its place.
//
//   FusionCost cost(space, device, model);
//   FusionSearch found = search_fusions(cost, {.strategy = FusionStrategy::kAnneal});
//   space.fused(found.best.front().chosen);
//
// kAnneal  simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983): a step changes
//          one decision, two near each other, or all around an instruction, and is kept when faster
//          or, at temperature T, with the probability exp(-(relative change) / T). T starts where
//          kFirstAccepted of what makes things slower would be kept and falls geometrically over
//          a quarter of the budget; then it starts again, cooler, from the best found.
// kRandom  configurations drawn one after the other.
// kGreedy  decisions in random order, each change kept when faster; again until nothing is.
// kBeam    the kernels that take longest first: every other choice of the decisions around the next
//          of them is tried on each of kBeamWidth configurations, the fastest go on.
// Deterministic for a seed; steps that lead to kernels met before cost no answer of the model, but
// count.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "search/fusion_cost.h"

namespace tilecast::search {

enum class FusionStrategy { kAnneal, kRandom, kGreedy, kBeam };
inline constexpr std::string_view kFusionStrategies[] = {"anneal", "random", "greedy", "beam"};

struct FusionProgress {
  std::size_t costs = 0;
  double best_s = 0, by_rules_s = 0;
};

struct FusionSearchOptions {
  FusionStrategy strategy = FusionStrategy::kAnneal;
  bool random_start = false;  // else from the rules
  std::uint64_t seed = 1;
  std::size_t costs = 20'000;  // full-program costs at most
  // Of another budget (time, hardware), the share that is spent, 0 to 1: the search cools by the
  // larger of this and of the share of costs, and ends at 1.
  std::function<double()> spent = [] { return 0.0; };
  std::size_t keep = 100;  // fastest different programs kept
  // After each cost; returning false stops.
  std::function<bool(const FusionProgress&)> step = [](const FusionProgress&) { return true; };
};

struct FoundFusion {
  ir::FusionConfiguration chosen;
  PlanCost cost;
};

struct FusionSearch {
  std::vector<FoundFusion> best;  // fastest first; no two of the same kernels
  PlanCost by_rules;
  std::size_t costs = 0, starts = 0;
};

inline constexpr double kFirstAccepted = 0.4;
inline constexpr std::size_t kBeamWidth = 4;

// By a model. Throws Error as FusionCost does.
[[nodiscard]] FusionSearch search_fusions(FusionCost& cost, const FusionSearchOptions& options);
// By any objective, anneal, random or greedy; `plans` tells programs apart.
[[nodiscard]] FusionSearch search_fusions(FusionObjective& objective, FusionCost& plans,
                                          const FusionSearchOptions& options);

}  // namespace tilecast::search
