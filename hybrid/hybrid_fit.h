// Fits a hybrid to measurements: sets contradictory rows apart (hybrid/screening.h), fits a bag of
// trees to log(measured / physics), and determines from trials how much of it to apply.
//
//   FittedHybrid fitted = fit_hybrid(prior, spec, sets, devices, {.jobs = 2});
//   HybridModel model(prior, std::move(fitted.parts));
//
// With few rows, or if no trial gained, the hybrid is physics with an interval. Deterministic,
// whatever `jobs`. Throws TooFewRows (learned/training/examples.h) for fewer than kLeastFitted rows
// of single kernels with an analytical estimate.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hwdesc/config_reader.h"
#include "hybrid/bag_fit.h"
#include "hybrid/hybrid_model.h"
#include "hybrid/screening.h"
#include "hybrid/trials.h"
#include "learned/model_dir.h"

namespace tilecast::hybrid {

// The settings of a hybrid, as YAML:
//
//   hybrids:                                      in an experiment, beside `learners:`
//     - {name: hybrid, features: [prior], trial_by: family}
//
//   name       name of the column
//   features   groups of the trees' columns (learned/feature_schema.h); default: prior,
//              the analytical terms; if all devices are processors, every group without text
//   trial_by   unit that trials leave out: family | kernel | row, default family (programs);
//              the next finer one for a set with few of them
//   members    members of the bag, default 12
//   correct    no: physics with intervals, whatever trials gain
//   guard      no: applies the full correction everywhere (for ablations)
//   seed       seed of the bag, default 1
// Plain values.

struct HybridSpec {
  std::string name;
  std::optional<std::vector<learned::FeatureGroup>> features = {};
  learned::ValidateBy trial_by = learned::ValidateBy::kFamily;
  std::size_t members = 12;
  bool corrects = true;
  Belief belief = Belief::kRules;
  std::uint64_t seed = 1;
};

// Throws Error with file, line and column.
[[nodiscard]] HybridSpec read_hybrid(const hwdesc::ConfigNode& node);

inline constexpr std::size_t kLeastFitted = 8;

struct HybridOptions {
  int jobs = 1;
  std::function<void(const std::string&, double)> step = {};  // step name, share done
};

struct FittedHybrid {
  HybridParts parts;
  TrialReport report;
  std::vector<SetApart> apart;  // rows not used for the fit
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t rows = 0, kernels = 0;
  learned::ModelCard card;         // domain, settings, metrics and versions
  std::vector<std::string> notes;  // what was set apart or skipped, and why
};

// `devices`: one per set, as described.
[[nodiscard]] FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                                      std::span<const measured::SampleSet> sets,
                                      std::span<const hwdesc::Device> devices,
                                      const HybridOptions& options);
// The same for already screened sets.
[[nodiscard]] FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                                      const Screened& screened,
                                      std::span<const hwdesc::Device> devices,
                                      const HybridOptions& options);

}  // namespace tilecast::hybrid
