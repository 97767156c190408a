#include "validation/experiment_hybrids.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace tilecast::validation {
namespace {

using hwdesc::Device;
using measured::Prediction;
using measured::SampleSet;

// Weights as Trust would answer, whatever the kernel.
HybridRound describe(const hybrid::HybridSpec& spec, const hybrid::FittedHybrid& fitted) {
  const hybrid::Trust& trust = fitted.parts.trust;
  const auto weight = [&](const hybrid::Position& position) {
    return trust.assess(position, "", 0).weight;
  };
  HybridRound round{.hybrid = spec.name,
                    .chosen = fitted.chosen,
                    .candidates = fitted.candidates,
                    .trial_by = fitted.trial_by,
                    .rows = fitted.rows,
                    .kernels = fitted.kernels,
                    .notes = fitted.notes};
  round.calibrated = fitted.calibrated.has_value();
  round.accepted = round.calibrated && fitted.calibrated->accepted;
  if (round.calibrated) round.suspicious = accepted_although_suspicious(*fitted.calibrated);
  round.near = weight({.distance = 0, .known_class = true, .known_device = true});
  round.far = weight({.distance = trust.far(), .known_class = true, .known_device = true});
  round.new_class = weight({.distance = 0, .known_class = false, .known_device = true});
  round.new_device = weight({.distance = 0, .known_class = true, .known_device = false});
  round.correlation = trust.correlation();
  return round;
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
                              hybrid::HybridOptions options) {
  std::vector<SampleSet> sets;
  std::vector<Device> devices;
  std::vector<SampleSet> all = restricted(loaded.sets, rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].samples.empty()) continue;
    sets.push_back(std::move(all[i]));
    devices.push_back(loaded.devices[i]);
  }
  options.accept_suspicious = true;
  return hybrid::fit_hybrid(prior, spec, sets, devices, options);
}

HybridAnswer answer_hybrid(const analytical::CostModel& prior, const hybrid::HybridSpec& given,
                           const LoadedSets& loaded, const measured::Split& split,
                           std::size_t round, int jobs) {
  hybrid::HybridSpec spec = given;
  spec.seed += round;
  for (learned::LearnerSpec& candidate : spec.candidates) candidate.seed += round;
  try {
    hybrid::FittedHybrid fitted = fit_rows(prior, spec, loaded, split.fit, {.jobs = jobs});
    HybridAnswer answer{.round = describe(spec, fitted), .predicted_s = {}, .interval_s = {}};
    const hybrid::HybridModel model(prior, std::move(fitted.parts), spec.weight);
    const std::vector<SampleSet> scored = restricted(loaded.sets, split.score);
    for (std::size_t i = 0; i < scored.size(); ++i) {
      const Device device = model.with_constants(loaded.devices[i]);
      for (const Prediction& prediction : measured::predict(scored[i], model, device, jobs)) {
        add(prediction, answer);
      }
    }
    return answer;
  } catch (const Error& error) {
    throw Error(fmt::format("hybrid {}: {}", spec.name, error.what()));
  }
}

}  // namespace tilecast::validation
