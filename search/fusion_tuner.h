// Verifies the results of a fusion search on hardware, with the protocol of Kaufman et al., MLSys
// 2021, section 7.3. The rules' configuration is run first and is kept unless another is faster;
// then the fastest programs of the search run in the order of their predicted times. A share of the
// budget goes to neighbours of the fastest program so far that the model does not predict to be
// slower.
//
//   TunedFusion tuned = verify_fusions(plans, found, hardware, {.budget_s = 60}, journal);
//   tuned.speedup();      // of the winner over the rules, timed together at the end
//
// The minimum of many noisy times is biased. So the fastest kFinalists run again together, and the
// fastest of these once more together with the rules' program, each in several sittings; only the
// last times are reported. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/fusion_search.h"
#include "search/hardware_trials.h"

namespace tilecast::search {

// Hardware as a search objective: runs every proposed program while the budget lasts.
class HardwareObjective final : public FusionObjective {
 public:
  // `plans` identifies programs; `tiles` are used in all of them. All arguments must outlive this.
  HardwareObjective(FusionCost& plans, HardwareTrials& trials, const TileChoices& tiles);
  // Infinite seconds if the program failed.
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
  double budget_s = 60;   // hardware time, preparation included
  double refine = 0.5;    // share of the budget for neighbours
  std::size_t batch = 2;  // programs prepared together
  std::uint64_t seed = 1;
  TileChoices tiles = {};       // used in every program
  std::function<double()> now;  // seconds of a monotonic clock
  // Called after each program with the number tried and the fastest time so far; false stops.
  std::function<bool(std::size_t, double)> step = [](std::size_t, double) { return true; };
};

struct TriedFusion {
  std::size_t rank = 0;  // by predicted time, then neighbours; 0: the rules' program
  PlanCost predicted;
  HardwareTime measured;
};

struct TunedFusion {
  std::vector<TriedFusion> tried;  // in the order timed, the rules' program first
  ir::FusionConfiguration chosen;  // the rules' configuration if nothing is faster
  std::size_t chosen_rank = 0;
  double by_rules_s = 0, chosen_s = 0;  // from the final comparison; equal if the rules' is kept
  double spent_s = 0;                   // hardware time
  bool stopped = false;                 // by `step`

  [[nodiscard]] double speedup() const { return by_rules_s / chosen_s; }
};

// Throws Error if the rules' program does not run.
[[nodiscard]] TunedFusion verify_fusions(FusionCost& plans, const FusionSearch& found,
                                         Hardware& hardware, const VerifyOptions& options,
                                         TuningJournal& journal);

}  // namespace tilecast::search
