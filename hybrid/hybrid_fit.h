// Fits a hybrid to measurements: rows that contradict the rest set apart and constants fitted
// (hybrid/prepared_fit.h), then a learner chosen by trials, then how far to trust it
// (hybrid/trust.h).
//
//   FittedHybrid fitted = fit_hybrid(prior, spec, sets, devices, {.jobs = 2});
//   HybridModel model(prior, std::move(fitted.parts));
//
// With few rows the fit falls back to physics: `none` is among the candidates, and keeps its place
// unless another beats it by a standard error over groups.
// Deterministic whatever `jobs`. Throws TooFewRows for fewer than kLeastRows rows.
#pragma once

#include <functional>

#include "hybrid/hybrid_model.h"
#include "hybrid/hybrid_spec.h"
#include "hybrid/prepared_fit.h"

namespace tilecast::hybrid {

struct HybridOptions {
  int jobs = 1;
  bool accept_suspicious = false;                             // constants: hybrid/calibrate.h
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
  std::string chosen;                  // of them
  std::vector<Calibrated> calibrated;  // by device with rows enough
  std::vector<SetApart> apart;         // rows it was not fitted to
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t rows = 0, kernels = 0;
  std::string training_csv;
  learned::ModelCard card;         // what the fit knows: kind, domain, settings, versions
  std::vector<std::string> notes;  // what was set apart, refused or not done, and why
};

// `devices`: one per set.
[[nodiscard]] FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                                      std::span<const measured::SampleSet> sets,
                                      std::span<const hwdesc::Device> devices,
                                      const HybridOptions& options);

// The same of what was prepared already; spec.calibrate says nothing.
[[nodiscard]] FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                                      PreparedFit prepared, const HybridOptions& options);

// default_hybrid(name) of what was prepared. The card says which data it is of.
[[nodiscard]] FittedHybrid fit_default_hybrid(const analytical::CostModel& prior,
                                              const std::string& name, const PreparedFit& prepared,
                                              const HybridOptions& options);

}  // namespace tilecast::hybrid
