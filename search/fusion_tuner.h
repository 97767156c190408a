// From what a model believes to what hardware shows: the protocol of Kaufman et al., MLSys 2021,
// section 7.3. The fastest programs that a search found are run in the order of their predicted
// times; what the rules give is run first and is kept unless something is faster. A share of the
// budget is for neighbours of the fastest that ran, where the model does not call them slower.
//
//   TunedFusion tuned = verify_fusions(plans, found, hardware, {.budget_s = 60}, journal);
//   tuned.speedup();      // of the winner over the rules, timed side by side at the end
//
// The winner of many noisy times is partly luck: the fastest kFinalists are run again together, and
// the fastest of these once more beside the rules, each in several sittings; only the last times
// count. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/fusion_search.h"
#include "search/hardware_trials.h"

namespace tilecast::search {

// Hardware as what a search asks: every program proposed is run, as long as there is budget.
class HardwareObjective final : public FusionObjective {
 public:
  // `plans` tells programs apart; programs have these tiles. All outlive this.
  HardwareObjective(FusionCost& plans, HardwareTrials& trials, const TileChoices& tiles);
  // Infinite seconds: it failed.
  [[nodiscard]] PlanCost of(const ir::FusionConfiguration& chosen) override;

 private:
  FusionCost& plans_;
  HardwareTrials& trials_;
  const TileChoices& tiles_;
  ir::FusionConfiguration rules_;
  HardwareTrial reference_;
};

inline constexpr std::size_t kFinalists = 5;

struct VerifyOptions {
  double budget_s = 60;   // of hardware, preparation included
  double refine = 0.5;    // share of it for neighbours
  std::size_t batch = 2;  // prepared together
  std::uint64_t seed = 1;
  TileChoices tiles = {};       // of every program
  std::function<double()> now;  // seconds of a clock that never goes back
  // After each program: how many were tried, the fastest time so far. Returning false stops.
  std::function<bool(std::size_t, double)> step = [](std::size_t, double) { return true; };
};

struct TriedFusion {
  std::size_t rank = 0;  // in the order of predicted times, then neighbours; 0: by the rules
  PlanCost predicted;
  HardwareTime measured;
};

struct TunedFusion {
  std::vector<TriedFusion> tried;  // in the order timed, the rules' first
  ir::FusionConfiguration chosen;  // the rules' where nothing is faster
  std::size_t chosen_rank = 0;
  double by_rules_s = 0, chosen_s = 0;  // of the closing pair; equal where the rules' is kept
  double spent_s = 0;                   // of hardware
  bool stopped = false;                 // by `step`

  [[nodiscard]] double speedup() const { return by_rules_s / chosen_s; }
};

// Throws Error where what the rules give does not run.
[[nodiscard]] TunedFusion verify_fusions(FusionCost& plans, const FusionSearch& found,
                                         Hardware& hardware, const VerifyOptions& options,
                                         TuningJournal& journal);

}  // namespace tilecast::search
