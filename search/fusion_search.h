// Searches for a program's fastest fusions by a cost model: the fusion autotuner of Kaufman et al.
// (MLSys 2021, section 7.3) and Phothilimthana et al. (PACT 2021), with random draws as a
// baseline.
//
//   FusionCost cost(space, device, model);
//   FusionSearch found = search_fusions(cost, {.strategy = FusionStrategy::kAnneal});
//   space.fused(found.best.front().chosen);
//
// kAnneal  simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983): a step changes
//          one decision, two near each other, or all at an instruction, and is kept if faster
//          or, at temperature T, with the probability exp(-(relative change) / T). T starts where
//          a share kFirstAccepted of slower steps would be kept and falls geometrically over
//          a quarter of the budget; then it restarts, cooler, from the best found.
// kRandom  independent random configurations.
// Deterministic for a seed. Steps that lead to known kernels need no estimate, but count as costs.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "search/fusion_cost.h"

namespace tilecast::search {

enum class FusionStrategy { kAnneal, kRandom };
inline constexpr std::string_view kFusionStrategies[] = {"anneal", "random"};

struct FusionProgress {
  std::size_t costs = 0;
  double best_s = 0, by_rules_s = 0;
};

struct FusionSearchOptions {
  FusionStrategy strategy = FusionStrategy::kAnneal;
  bool random_start = false;  // false: start from the rules' configuration
  std::uint64_t seed = 1;
  std::size_t costs = 20'000;  // maximum number of full-program costs
  // Spent share of another budget (time, hardware), 0 to 1. Cooling follows the larger of this and
  // the share of costs; the search ends at 1.
  std::function<double()> spent = [] { return 0.0; };
  std::size_t keep = 100;  // number of fastest distinct programs to keep
  // After each cost; returning false stops.
  std::function<bool(const FusionProgress&)> step = [](const FusionProgress&) { return true; };
};

struct FoundFusion {
  ir::FusionConfiguration chosen;
  PlanCost cost;
};

struct FusionSearch {
  std::vector<FoundFusion> best;  // fastest first; no two with the same kernels
  PlanCost by_rules;
  std::size_t costs = 0, starts = 0;
};

inline constexpr double kFirstAccepted = 0.4;

// Searches by a model. Throws Error as FusionCost does.
[[nodiscard]] FusionSearch search_fusions(FusionCost& cost, const FusionSearchOptions& options);
// Searches by any objective.
[[nodiscard]] FusionSearch search_fusions(FusionObjective& objective, const ir::FusionSpace& space,
                                          const FusionSearchOptions& options);

// Neighbours of a fusion configuration: the changes that one search step can make. Used by
// search_fusions(). Immutable; thread-safe.

class FusionMoves {
 public:
  explicit FusionMoves(const ir::FusionSpace& space);

  // Changes one decision, or swaps the choices of two decisions at one instruction, or sets all
  // decisions at it to one choice. Requires at least one decision.
  void step(ir::FusionConfiguration& chosen, std::mt19937_64& random) const;
  // The choices available to a decision, other than its current one.
  [[nodiscard]] std::vector<ir::FusionChoice> others(const ir::FusionConfiguration& chosen,
                                                     std::uint32_t decision) const;

 private:
  void flip(ir::FusionConfiguration& chosen, std::uint32_t decision, std::mt19937_64& random) const;
  [[nodiscard]] std::span<const std::uint32_t> around(std::uint32_t decision,
                                                      std::mt19937_64& random) const;

  const ir::FusionSpace& space_;
  // Decisions at each instruction, both as the array and as the reader.
  std::map<std::pair<ir::ComputationId, ir::InstrId>, std::vector<std::uint32_t>> at_;
};

}  // namespace tilecast::search
