// Fits a hybrid to measurements: constants, then a learner chosen by trials, then how far to trust
// it (hybrid/trust.h).
//
//   FittedHybrid fitted = fit_hybrid(spec, sets, devices, {.jobs = 2});
//   HybridModel model(std::move(fitted.parts));
//
// Few rows never hurt on purpose: `none` is among the candidates, and keeps its place unless
// another beats it by a standard error over groups.
// Deterministic whatever `jobs`. Throws Error for fewer than kLeastRows rows.
#pragma once

#include <functional>

#include "hybrid/calibrate.h"
#include "hybrid/hybrid_model.h"
#include "hybrid/hybrid_spec.h"

namespace tilecast::hybrid {

struct HybridOptions {
  int jobs = 1;
  std::function<void(const std::string&, double)> step = {};  // what, share done
};

// One candidate's trials, on base groups: every group counts alike.
struct CandidateScore {
  std::string name;      // "none" or the learner's
  double error = 0;      // mean absolute log error
  double deviation = 0;  // standard error of its difference to the best
};

struct FittedHybrid {
  HybridParts parts;
  std::vector<CandidateScore> candidates;
  std::string chosen;  // of them
  std::optional<Calibrated> calibrated;
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t rows = 0, kernels = 0;
  std::string training_csv;
  learned::ModelCard card;  // what the fit knows: kind, domain, settings, versions
};

// `devices`: one per set.
[[nodiscard]] FittedHybrid fit_hybrid(const HybridSpec& spec,
                                      std::span<const measured::SampleSet> sets,
                                      std::span<const hwdesc::Device> devices,
                                      const HybridOptions& options);

}  // namespace tilecast::hybrid
