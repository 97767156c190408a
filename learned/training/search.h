// A search over the parameters of a learner: its trials, and the epochs or trees per round.
// Internal to training; deterministic.
#pragma once

#include <vector>

#include "learned/training/fit.h"

namespace tilecast::learned {

// spec.search.trials specs: the first is unchanged, so that on validation rows a search is never
// worse than none; the others have parameters drawn from the ranges with spec.seed. Contradictory
// draws are repeated; throws Error after a hundred in a row.
[[nodiscard]] std::vector<LearnerSpec> draw_trials(const LearnerSpec& spec);

struct HalvingRound {
  int trials = 0;    // number of trials
  int resource = 0;  // maximum epochs or trees
};
[[nodiscard]] std::vector<HalvingRound> halving(int trials, int rounds, int resource);

struct SearchStep {
  int trial = 0, round = 0, rounds = 0;  // from 1
  const LearnerSpec* spec = nullptr;
  FitStep fit;
  double done = 0;  // fraction of the whole search, 0 ... 1
};
struct SearchResult {
  LearnerSpec spec;
  int trial = 0;  // from 1
  FitResult fit;
};
// The best of the last round; of equal ones, the one drawn first.
[[nodiscard]] SearchResult run_search(const LearnerSpec& spec, const Fitter& fitter, int threads,
                                      const std::function<void(const SearchStep&)>& step);

}  // namespace tilecast::learned
