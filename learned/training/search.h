// A search over the parameters of a learner: which trials, and how many epochs or trees each round
// gives them. Internal to training; deterministic.
#pragma once

#include <vector>

#include "learned/training/fit.h"

namespace tilecast::learned {

// spec.search.trials specs: the first as it is written, so that a search is no worse on its
// validation rows than none; the others with parameters drawn from the ranges, by spec.seed. A draw
// whose parameters contradict each other is drawn again; Error when a hundred in a row do.
[[nodiscard]] std::vector<LearnerSpec> draw_trials(const LearnerSpec& spec);

struct HalvingRound {
  int trials = 0;    // how many run in it
  int resource = 0;  // epochs or trees, at most
};
[[nodiscard]] std::vector<HalvingRound> halving(int trials, int rounds, int resource);

struct SearchStep {
  int trial = 0, round = 0, rounds = 0;  // from 1
  const LearnerSpec* spec = nullptr;
  FitStep fit;
  double done = 0;  // of the whole search, 0 ... 1
};
struct SearchResult {
  LearnerSpec spec;
  int trial = 0;  // from 1
  FitResult fit;
};
// The best of the last round; of equals, the first drawn.
[[nodiscard]] SearchResult run_search(const LearnerSpec& spec, const Fitter& fitter, int threads,
                                      const std::function<void(const SearchStep&)>& step);

}  // namespace tilecast::learned
