// The hybrid columns of an experiment: fitted to the fitted rows of a round (hybrid/hybrid_fit.h),
// asked for the scored ones, programs among them.
//
//   HybridAnswer answer = answer_hybrid(prior, spec, loaded, split, round, jobs);
//
// What physics cannot answer a hybrid cannot either. Thread-safe, deterministic whatever `jobs`.
#pragma once

#include <optional>

#include "hybrid/hybrid_fit.h"
#include "measured/splits.h"
#include "validation/experiment_load.h"

namespace tilecast::validation {

struct HybridAnswer {
  HybridRound round;
  // By scored row: seconds, comparable to the measured ones, and the 90 % interval.
  std::vector<std::optional<double>> predicted_s;
  std::vector<std::optional<measured::Interval>> interval_s;
};

// The hybrid of these rows.
[[nodiscard]] hybrid::FittedHybrid fit_rows(const analytical::CostModel& prior,
                                            const hybrid::HybridSpec& spec,
                                            const LoadedSets& loaded,
                                            std::span<const std::size_t> rows,
                                            const hybrid::HybridOptions& options);

// The seed of round i is the spec's + i. Throws Error that names the hybrid.
[[nodiscard]] HybridAnswer answer_hybrid(const analytical::CostModel& prior,
                                         const hybrid::HybridSpec& spec, const LoadedSets& loaded,
                                         const measured::Split& split, std::size_t round, int jobs);

}  // namespace tilecast::validation
