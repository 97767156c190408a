#include "validation/experiment_hybrids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilecast::validation {
namespace {

using hwdesc::Device;
using measured::Prediction;
using measured::SampleSet;

// Mean weights over the kinds of work it was fitted to.
void describe_weights(const hybrid::FittedHybrid& fitted, HybridRound& round) {
  const hybrid::Trust& trust = fitted.parts.trust;
  const std::vector<std::string>& kinds = fitted.parts.domain.kinds();
  const auto n = static_cast<double>(kinds.size());
  for (const std::string& kind : kinds) {
    const hybrid::Resource resource = hybrid::binding_of(kind);
    const hybrid::Position near = trust.example(resource, false);
    const hybrid::Position new_device = trust.example(resource, false, trust.typical_machine());
    round.near += trust.assess(near, kind, 0).weight / n;
    round.far += trust.assess(trust.example(resource, true), kind, 0).weight / n;
    round.new_kind += trust.assess(near, "", 0).weight / n;
    round.new_device += trust.assess(new_device, kind, 0).weight / n;
  }
}

HybridRound describe(const hybrid::HybridSpec& spec, const hybrid::FittedHybrid& fitted) {
  HybridRound round{.hybrid = spec.name,
                    .chosen = fitted.chosen,
                    .candidates = fitted.candidates,
                    .trial_by = fitted.trial_by,
                    .rows = fitted.rows,
                    .kernels = fitted.kernels,
                    .notes = fitted.notes};
  round.calibrated = !fitted.calibrated.empty();
  round.accepted = std::ranges::any_of(fitted.calibrated, &hybrid::Calibrated::accepted);
  describe_weights(fitted, round);
  round.correlation = fitted.parts.trust.correlation();
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
  options.accept_suspicious = true;
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
