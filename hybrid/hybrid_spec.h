// What a hybrid is made of, as data:
//
//   hybrids:                                      in an experiment, beside `learners:`
//     - {name: hybrid, calibrate: yes, try: [process, trees]}
//
//   name       of the column
//   calibrate  constants are fitted first (hybrid/calibrate.h); of several devices: a note, and
//   none try        learners of the experiment, simplest first; without: those of default_hybrid().
//              Cross-validation keeps the first whose error is within a standard error of the
//              least; `none` (physics alone) always runs
//   stack      no: one learner alone; default: several at once (hybrid/stack.h) where there are
//              enough rows, unless one alone is better by a standard error
//   trial_by   what trials hold out: family | kernel | row; default: family where there are at
//              least 5, else kernel where there are at least 5, else row
//   folds      of the trials, 5
//   guard      no: believes the correction everywhere (for ablations)
//   seed       of the trials and the learners, 1
// Learners named in `try` must have `target: residual` and cannot rank only. Plain values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/config_reader.h"
#include "hybrid/hybrid_model.h"
#include "learned/training/learner.h"

namespace tilecast::hybrid {

struct HybridSpec {
  std::string name;
  bool calibrate = true;
  std::vector<learned::LearnerSpec> candidates;  // simplest first
  bool stack = true;
  std::optional<learned::ValidateBy> trial_by;
  std::size_t folds = 5;
  WeightRule weight = weight_of_trials;
  std::uint64_t seed = 1;
};

// Throws Error with file, line and column.
[[nodiscard]] HybridSpec read_hybrid(const hwdesc::ConfigNode& node,
                                     std::span<const learned::LearnerSpec> learners);
// Without candidates: a Gaussian process, then trees. What `calibrate --then-train` uses.
[[nodiscard]] HybridSpec default_hybrid(std::string name);

}  // namespace tilecast::hybrid
