#include "validation/experiment_hybrids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "learned/training/examples.h"

namespace tilecast::validation {
namespace {

using hwdesc::Device;
using measured::Prediction;
using measured::SampleSet;

HybridRound describe(const hybrid::HybridSpec& spec, const hybrid::FittedHybrid& fitted) {
  return {.hybrid = spec.name,
          .report = fitted.report,
          .trial_by = fitted.trial_by,
          .rows = fitted.rows,
          .kernels = fitted.kernels,
          .correlation = fitted.parts.correlation,
          .notes = fitted.notes};
}

void add(const Prediction& prediction, HybridAnswer& answer) {
  const double time_s = prediction.comparable().value;
  const bool usable = prediction.answered && std::isfinite(time_s) && time_s > 0;
  answer.predicted_s.push_back(usable ? std::optional(time_s) : std::nullopt);
  answer.interval_s.push_back(usable ? prediction.interval : std::nullopt);
}

}  // namespace

hybrid::FittedHybrid fit_rows(const analytical::CostModel& prior, const hybrid::HybridSpec& spec,
                              const LoadedSets& loaded, std::span<const std::size_t> rows,
                              const hybrid::HybridOptions& options) {
  std::vector<SampleSet> sets;
  std::vector<Device> devices;
  std::vector<SampleSet> all = restricted(loaded.sets, rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].samples.empty()) continue;
    sets.push_back(std::move(all[i]));
    devices.push_back(loaded.devices[i]);
  }
  return hybrid::fit_hybrid(prior, spec, sets, devices, options);
}

HybridAnswer answer_hybrid(const analytical::CostModel& prior, const hybrid::HybridSpec& given,
                           const LoadedSets& loaded, const measured::Split& split,
                           std::size_t round, int jobs) {
  hybrid::HybridSpec spec = given;
  spec.seed += round;
  HybridAnswer answer{.round = {.hybrid = spec.name}, .predicted_s = {}, .interval_s = {}};
  std::optional<hybrid::HybridModel> fitted_model;
  try {
    hybrid::FittedHybrid fitted = fit_rows(prior, spec, loaded, split.fit, {.jobs = jobs});
    answer.round = describe(spec, fitted);
    fitted_model.emplace(prior, std::move(fitted.parts), spec.belief);
  } catch (const learned::TooFewRows& few) {
    answer.round.notes = {fmt::format("physics alone, without intervals: {}", few.what())};
  } catch (const Error& error) {
    throw Error(fmt::format("hybrid {}: {}", spec.name, error.what()));
  }
  const analytical::CostModel& model = fitted_model ? *fitted_model : prior;
  const std::vector<SampleSet> scored = restricted(loaded.sets, split.score);
  for (std::size_t i = 0; i < scored.size(); ++i) {
    for (const Prediction& prediction :
         measured::predict(scored[i], model, loaded.devices[i], jobs)) {
      add(prediction, answer);
    }
  }
  return answer;
}

}  // namespace tilecast::validation
