#include "hybrid/hybrid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hybrid/constants.h"
#include "hybrid/machines.h"
#include "measured/physics.h"

namespace tilecast::hybrid {
namespace {

using analytical::Correction;
using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;

constexpr std::string_view kModelName = "hybrid";
constexpr std::size_t kNeighbours = 3, kDrivers = 6;

void scale(Estimate& estimate, double factor) {
  estimate.time = estimate.time * factor;
  estimate.next_time = std::min(estimate.next_time * factor, estimate.time);
  for (Seconds& busy : estimate.bounds) busy = busy * factor;
}

struct Question {
  const ir::Kernel& kernel;
  const hwdesc::Device& device;
};

// The prior's estimate of the asked device, corrected by what is known of the trained one.
void correct(Estimate& estimate, const Question& asked, double residual,
             const Trust::Assessment& trust, double correlation) {
  const Seconds before = estimate.time;
  scale(estimate, std::exp(trust.weight * residual));
  // The least time counts what caches may hold; it is asked for only where it can matter.
  const Seconds least =
      estimate.time < estimate.speed_of_light
          ? std::min(estimate.speed_of_light, measured::light_time(asked.kernel, asked.device))
          : Seconds{0};
  if (estimate.time < least) {
    estimate.time = least;
    estimate.flags.emplace_back("held at the speed of light");
  }
  const Seconds time = estimate.time;
  estimate.utilisation = time.value > 0 ? std::min(1.0, estimate.speed_of_light / time) : 1.0;
  estimate.model = kModelName;
  // What errors outside have in common nobody measured: they may all be one.
  const bool outside = trust.verdict == Verdict::kOut;
  const Seconds low = time * std::exp(trust.low), high = time * std::exp(trust.high);
  estimate.correction = Correction{.analytical = before,
                                   .factor = before.value > 0 ? time / before : 1.0,
                                   .weight = trust.weight,
                                   .verdict = trust.verdict,
                                   .low = std::min(low, time),
                                   .high = std::max(high, time),
                                   .correlation = outside ? 1 : correlation};
}

}  // namespace

double weight_of_trials(const Trust::Assessment& assessment) {
  return assessment.weight;
}

double full_weight(const Trust::Assessment&) {
  return 1;
}

// The asked device, and the one that corrections are computed on.
struct HybridModel::View {
  hwdesc::Device asked;  // with the fitted constants, where it brings none and is of the lineage
  hwdesc::Device reference;                 // the trained one; `asked` where there is none
  std::optional<std::size_t> trained = {};  // into the devices
  bool same = true;      // `reference` and `asked` are one machine with the same constants
  bool changed = false;  // `asked` is a trained device with other numbers
};

struct HybridModel::Residual {
  double value = 0;  // log(measured / prior), before the weight
  Trust::Assessment trust;
  Position position;
  std::optional<std::size_t> trained;  // into the devices: the one it was computed on
};

struct HybridModel::Answers {
  std::vector<std::optional<Estimate>> estimates;  // corrected
  std::vector<Residual> residuals;
};

HybridModel::HybridModel(const analytical::CostModel& prior, HybridParts parts, WeightRule weight)
    : prior_(prior), parts_(std::move(parts)), weight_(weight) {
  TC_CHECK(!parts_.residual || !parts_.residual->ranks_only(), "residuals are of times");
}

HybridModel::View HybridModel::view_of(const hwdesc::Device& device) const {
  for (std::size_t i = 0; i < parts_.devices.size(); ++i) {
    if (!device.lineage_distance(parts_.devices.name(i))) continue;
    View view = view_as(device, i);
    view.changed = !view.same;
    return view;
  }
  return {.asked = device, .reference = device};
}

HybridModel::View HybridModel::view_as(const hwdesc::Device& device, std::size_t trained) const {
  const hwdesc::Device& known = parts_.devices[trained];
  View view{.asked = device, .reference = known, .trained = trained};
  if (device.calibration.source.empty()) view.asked.calibration = known.calibration;
  view.same =
      device.machine == known.machine && same_constants(view.asked.calibration, known.calibration);
  return view;
}

// `priors`: of the reference. Queries without one: residual 0, weight 0.
std::vector<HybridModel::Residual> HybridModel::residuals(std::span<const KernelQuery> queries,
                                                          const View& view, learned::Priors priors,
                                                          std::span<const double> machines) const {
  std::vector<Residual> result(queries.size());
  std::vector<double> log_times(queries.size());
  if (parts_.residual) parts_.residual->predict(queries, view.reference, priors, log_times);
  const ir::Kernel* kernel = nullptr;
  Seconds speed_of_light;
  Work work;
  Position position;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!priors[i]) continue;
    // Tiles of one kernel, which share its coordinates, usually follow each other.
    if (&queries[i].kernel != kernel || priors[i]->speed_of_light != speed_of_light) {
      kernel = &queries[i].kernel;
      speed_of_light = priors[i]->speed_of_light;
      work = work_of(*kernel, *priors[i]);
      position = parts_.domain.locate(work, view.reference.name);
    }
    rebind(work, *priors[i]);
    position.shares = work.shares;
    position.machine = machines.empty() ? 0 : machines[i];
    const double prior_s = priors[i]->time.value;
    Residual& residual = result[i];
    residual.position = position;
    residual.trained = view.trained;
    residual.trust = parts_.trust.assess(position, work.kind, prior_s,
                                         view.trained ? view.reference.name : std::string_view());
    if (view.changed) {
      residual.trust.verdict = std::max(residual.trust.verdict, Verdict::kEdge);
    }
    residual.trust.weight = weight_(residual.trust);
    const double value = parts_.residual ? log_times[i] - std::log(prior_s) : 0;
    if (std::isfinite(value)) {
      residual.value = parts_.trust.held(value);
    } else {
      residual.trust.weight = 0;
    }
  }
  return result;
}

// Constants that a hybrid fitted to other work are no better for a new kind than the description's.
void HybridModel::use_described_constants_outside(
    std::span<const KernelQuery> queries, const View& view, std::span<const Residual> residuals,
    std::vector<std::optional<Estimate>>& answers) const {
  if (view.asked.calibration.fitted_by != hwdesc::FittedBy::kHybrid) return;
  hwdesc::Device described = view.asked;
  described.calibration = {};
  std::vector<KernelQuery> outside;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || residuals[i].trust.farness <= 1) continue;
    outside.push_back(queries[i]);
    positions.push_back(i);
  }
  auto again = prior_.estimate(outside, described);
  for (std::size_t i = 0; i < positions.size(); ++i) answers[positions[i]] = std::move(again[i]);
}

// Corrects `estimates`, the prior's on the asked device of the view.
HybridModel::Answers HybridModel::corrected(std::span<const KernelQuery> queries, const View& view,
                                            std::vector<std::optional<Estimate>> estimates,
                                            std::span<const double> machines) const {
  std::vector<std::optional<Estimate>> of_trained;
  if (!view.same) of_trained = prior_.estimate(queries, view.reference);
  Answers answers{.estimates = std::move(estimates), .residuals = {}};
  answers.residuals =
      residuals(queries, view, view.same ? answers.estimates : of_trained, machines);
  use_described_constants_outside(queries, view, answers.residuals, answers.estimates);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers.estimates[i]) continue;
    correct(*answers.estimates[i], {queries[i].kernel, view.asked}, answers.residuals[i].value,
            answers.residuals[i].trust, parts_.trust.correlation());
  }
  return answers;
}

HybridModel::Answers HybridModel::answers(std::span<const KernelQuery> queries,
                                          const hwdesc::Device& device) const {
  const View view = view_of(device);
  auto estimates = prior_.estimate(queries, view.asked);
  if (view.trained) return corrected(queries, view, std::move(estimates), {});
  const std::vector<NearestMachine> nearest =
      nearest_machines(prior_, queries, device, estimates, parts_.devices.all());
  Answers all{.estimates = std::vector<std::optional<Estimate>>(queries.size()),
              .residuals = std::vector<Residual>(queries.size())};
  // Of the queries that the asked machine answers as trained machine `d` would; d of none: of the
  // others, on a machine that was never measured.
  const auto answer = [&](std::size_t d) {
    std::vector<KernelQuery> chosen;
    std::vector<std::size_t> positions;
    std::vector<std::optional<Estimate>> priors;
    std::vector<double> machines;
    const bool alike = d < parts_.devices.size();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const bool same = nearest[i].distance <= kSameMachine;
      if (same != alike || (alike && nearest[i].device != d)) continue;
      chosen.push_back(queries[i]);
      positions.push_back(i);
      priors.push_back(estimates[i]);
      machines.push_back(nearest[i].distance);
    }
    if (chosen.empty()) return;
    const View of_group = alike ? view_as(device, d) : view;
    if (alike) {
      priors = prior_.estimate(chosen, of_group.asked);  // with its constants
      machines.clear();
    }
    Answers group = corrected(chosen, of_group, std::move(priors), machines);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      all.estimates[positions[i]] = std::move(group.estimates[i]);
      all.residuals[positions[i]] = std::move(group.residuals[i]);
    }
  };
  for (std::size_t d = 0; d <= parts_.devices.size(); ++d) answer(d);
  return all;
}

std::vector<std::optional<Estimate>> HybridModel::estimate(std::span<const KernelQuery> queries,
                                                           const hwdesc::Device& device) const {
  return answers(queries, device).estimates;
}

hwdesc::Device HybridModel::with_constants(const hwdesc::Device& device) const {
  return view_of(device).asked;
}

std::string HybridModel::verdict_text(const Residual& residual, const View& view) const {
  const Trust::Assessment& trust = residual.trust;
  const std::string_view resource = kResourceNames[static_cast<std::size_t>(trust.farthest)];
  const double distance =
      static_cast<double>(residual.position.distance[static_cast<std::size_t>(trust.farthest)]);
  if (!std::isfinite(distance)) return fmt::format("no measured kernel is bound by {}", resource);
  const Trust::Reach& reach = parts_.trust.reach(trust.farthest);
  const std::string_view where = trust.farness == 0   ? "among the measured kernels"
                                 : trust.farness <= 1 ? "at the edge of the measured kernels"
                                                      : "far from every measured kernel";
  std::string text = fmt::format("{} by {}: distance {:.2f}, near up to {:.2f}, far from {:.2f}",
                                 where, resource, distance, reach.near, reach.far);
  if (view.changed) text += fmt::format("; {} is not as it was measured", view.asked.name);
  if (residual.position.machine > kSameMachine) {
    text += fmt::format("; {} was never measured", view.asked.name);
  }
  return text;
}

std::optional<CorrectionReasons> HybridModel::explain(const KernelQuery& query,
                                                      const hwdesc::Device& device) const {
  const std::span<const KernelQuery> queries(&query, 1);
  const Answers answer = answers(queries, device);
  if (!answer.estimates.front()) return std::nullopt;
  const Residual& residual = answer.residuals.front();
  const hwdesc::Device& reference = residual.trained ? parts_.devices[*residual.trained] : device;
  const auto priors = prior_.estimate(queries, reference);
  CorrectionReasons reasons{.correction = *answer.estimates.front()->correction,
                            .residual = residual.value};
  reasons.verdict = verdict_text(residual, view_of(device));
  if (!priors.front()) return reasons;
  reasons.nearest = parts_.domain.nearest(work_of(query.kernel, *priors.front()), kNeighbours);
  for (const Domain::Neighbour& neighbour : reasons.nearest) {
    reasons.nearest_names.push_back(parts_.domain.kernels()[neighbour.kernel].name);
  }
  if (parts_.residual) {
    reasons.drivers =
        learned::feature_effects(*parts_.residual, query, reference, priors, kDrivers);
  }
  return reasons;
}

}  // namespace tilecast::hybrid
