// Weights of several learners' corrections, on trials that none of them saw: ensemble selection
// (Caruana et al., ICML 2004). Starts from physics and adds one of them, or physics again, so often
// as kStackSteps, each time the one whose mean with those before has the least error; every group
// counts alike. Weights are multiples of 1 / kStackSteps and sum to 1 at most.
// Internal to hybrid_fit.cpp. Deterministic.
#pragma once

#include <span>
#include <vector>

#include "hybrid/trials.h"

namespace tilecast::hybrid {

inline constexpr int kStackSteps = 20;
// Fewer rows or groups: no stack.
inline constexpr std::size_t kStackRows = 50, kStackGroups = 5;

using Corrections = std::vector<double>;  // by row

// By learner; `predicted` by learner. Only `fitted` rows count.
[[nodiscard]] std::vector<double> stack_weights(const TrialRows& rows,
                                                std::span<const Corrections> predicted,
                                                std::span<const std::size_t> fitted);
// The mean of corrections with these weights.
[[nodiscard]] Corrections stacked(std::span<const Corrections> predicted,
                                  std::span<const double> weights);
// What a stack says of rows that its weights did not see: weights of each split's other rows.
[[nodiscard]] Corrections stack_trials(const TrialRows& rows,
                                       std::span<const Corrections> predicted,
                                       std::span<const measured::Split> splits);
[[nodiscard]] bool enough_to_stack(const TrialRows& rows, std::size_t learners);

}  // namespace tilecast::hybrid
