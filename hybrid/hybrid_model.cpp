#include "hybrid/hybrid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.h"
#include "hybrid/constants.h"

namespace tilecast::hybrid {
namespace {

using analytical::Correction;
using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;

constexpr std::string_view kModelName = "hybrid";
// A correction beyond it is a broken model, not a measurement.
constexpr double kLargestResidual = 3;  // log(20)
constexpr std::size_t kNeighbours = 3, kDrivers = 6;

void scale(Estimate& estimate, double factor) {
  estimate.time = estimate.time * factor;
  estimate.next_time = std::min(estimate.next_time * factor, estimate.time);
  for (Seconds& busy : estimate.bounds) busy = busy * factor;
}

// The prior's estimate of the asked device, corrected by what is known of the trained one.
void correct(Estimate& estimate, double residual, const Trust::Assessment& trust,
             double correlation) {
  const Seconds before = estimate.time;
  scale(estimate, std::exp(trust.weight * residual));
  if (estimate.time < estimate.speed_of_light) {
    estimate.time = estimate.speed_of_light;
    estimate.flags.emplace_back("held at the speed of light");
  }
  const Seconds time = estimate.time;
  estimate.utilisation = time.value > 0 ? estimate.speed_of_light / time : 1.0;
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

// The residual's table model, whichever it is; rows in, one number each.
struct TableModel {
  const learned::FeatureSelection* features = nullptr;
  std::function<double(std::span<const float>)> predict;
};

std::optional<TableModel> table_model(const learned::Predictor& predictor) {
  if (const learned::GbtPredictorParts* trees = predictor.trees()) {
    return TableModel{&trees->features, [trees](std::span<const float> row) {
                        float margin = 0;
                        trees->model.predict(row, std::span<float>(&margin, 1));
                        return static_cast<double>(margin) * trees->target.deviation;
                      }};
  }
  if (const learned::GpPredictorParts* parts = predictor.process()) {
    return TableModel{&parts->features, [parts](std::span<const float> row) {
                        std::vector<float> scaled(row.begin(), row.end());
                        parts->scaler.apply(scaled);
                        double mean = 0;
                        parts->process.predict(scaled, std::span<double>(&mean, 1));
                        return mean * parts->target.deviation;
                      }};
  }
  return std::nullopt;
}

// How far the residual moves when a feature is taken for missing, feature by feature.
std::vector<Driver> drivers_of(const learned::Predictor& predictor, const KernelQuery& query,
                               const hwdesc::Device& device, learned::Priors priors) {
  const std::optional<TableModel> model = table_model(predictor);
  if (!model) return {};
  const learned::TableFeatures features(*model->features);
  std::vector<float> row(features.width());
  features.extract(std::span<const KernelQuery>(&query, 1), device, priors, row);
  const double whole = model->predict(row);
  std::vector<Driver> drivers;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) continue;
    const float value = std::exchange(row[i], std::numeric_limits<float>::quiet_NaN());
    const double effect = whole - model->predict(row);
    row[i] = value;
    if (effect != 0) drivers.push_back({features.schema().columns[i].name, value, effect});
  }
  std::ranges::stable_sort(drivers, std::greater{},
                           [](const Driver& driver) { return std::abs(driver.effect); });
  if (drivers.size() > kDrivers) drivers.resize(kDrivers);
  return drivers;
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
  hwdesc::Device reference;  // the trained one; `asked` where there is none
  bool known = false;        // trained on it or its lineage
  bool same = true;          // `reference` and `asked` are one machine with the same constants
};

struct HybridModel::Residual {
  double value = 0;  // log(measured / prior), before the weight
  Trust::Assessment trust;
  Position position;
};

HybridModel::HybridModel(const analytical::CostModel& prior, HybridParts parts, WeightRule weight)
    : prior_(prior), parts_(std::move(parts)), weight_(weight) {
  TC_CHECK(!parts_.residual || !parts_.residual->ranks_only(), "residuals are of times");
}

HybridModel::View HybridModel::view_of(const hwdesc::Device& device) const {
  const auto trained = std::ranges::find_if(parts_.devices, [&](const hwdesc::Device& candidate) {
    return device.lineage_distance(candidate.name).has_value();
  });
  View view{.asked = device, .reference = device};
  if (trained == parts_.devices.end()) return view;
  view.known = true;
  if (device.calibration.source.empty()) view.asked.calibration = trained->calibration;
  view.same = device.machine == trained->machine &&
              same_constants(view.asked.calibration, trained->calibration);
  view.reference = *trained;
  return view;
}

// `priors`: of the reference. Queries without one: residual 0, weight 0.
std::vector<HybridModel::Residual> HybridModel::residuals(std::span<const KernelQuery> queries,
                                                          const View& view,
                                                          learned::Priors priors) const {
  std::vector<Residual> result(queries.size());
  std::vector<double> log_times(queries.size());
  if (parts_.residual) parts_.residual->predict(queries, view.reference, priors, log_times);
  const ir::Kernel* kernel = nullptr;
  Seconds speed_of_light;
  std::string op_class;
  Position position;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!priors[i]) continue;
    // Tiles of one kernel, which share a position, usually follow each other.
    if (&queries[i].kernel != kernel || priors[i]->speed_of_light != speed_of_light) {
      kernel = &queries[i].kernel;
      speed_of_light = priors[i]->speed_of_light;
      op_class = measured::op_class(*kernel);
      position =
          parts_.domain.locate(coordinates_of(*kernel, *priors[i]), op_class, view.reference);
    }
    const double prior_s = priors[i]->time.value;
    Residual& residual = result[i];
    residual.position = position;
    residual.trust = parts_.trust.assess(position, op_class, prior_s);
    if (view.known && !view.same) {
      residual.trust.verdict = std::max(residual.trust.verdict, Verdict::kEdge);
    }
    residual.trust.weight = weight_(residual.trust);
    const double value = parts_.residual ? log_times[i] - std::log(prior_s) : 0;
    if (std::isfinite(value)) {
      residual.value = std::clamp(value, -kLargestResidual, kLargestResidual);
    } else {
      residual.trust.weight = 0;
    }
  }
  return result;
}

// Constants that a hybrid fitted to other op classes are no better for a new one than the
// description's.
void HybridModel::use_described_constants_for_unseen_classes(
    std::span<const KernelQuery> queries, const View& view, std::span<const Residual> residuals,
    std::vector<std::optional<Estimate>>& answers) const {
  if (view.asked.calibration.fitted_by != hwdesc::FittedBy::kHybrid) return;
  hwdesc::Device described = view.asked;
  described.calibration = {};
  std::vector<KernelQuery> unseen;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || residuals[i].position.known_class) continue;
    unseen.push_back(queries[i]);
    positions.push_back(i);
  }
  auto again = prior_.estimate(unseen, described);
  for (std::size_t i = 0; i < positions.size(); ++i) answers[positions[i]] = std::move(again[i]);
}

std::vector<std::optional<Estimate>> HybridModel::estimate(std::span<const KernelQuery> queries,
                                                           const hwdesc::Device& device) const {
  const View view = view_of(device);
  auto answers = prior_.estimate(queries, view.asked);
  std::vector<std::optional<Estimate>> of_trained;
  if (!view.same) of_trained = prior_.estimate(queries, view.reference);
  const auto corrections = residuals(queries, view, view.same ? answers : of_trained);
  use_described_constants_for_unseen_classes(queries, view, corrections, answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    correct(*answers[i], corrections[i].value, corrections[i].trust, parts_.trust.correlation());
  }
  return answers;
}

hwdesc::Device HybridModel::with_constants(const hwdesc::Device& device) const {
  return view_of(device).asked;
}

std::string HybridModel::verdict_text(const Residual& residual, const View& view,
                                      const std::string& op_class) const {
  if (!residual.position.known_class)
    return fmt::format("op class {} was never measured", op_class);
  if (!view.known) return fmt::format("device {} was never measured", view.asked.name);
  const Verdict verdict = residual.trust.verdict;
  const std::string_view where = verdict == Verdict::kIn     ? "among the measured kernels"
                                 : verdict == Verdict::kEdge ? "at the edge of the measured kernels"
                                                             : "far from every measured kernel";
  const std::string changed =
      view.same ? "" : fmt::format("; {} is not as it was measured", view.asked.name);
  return fmt::format("{}: distance {:.2f}, near up to {:.2f}, far from {:.2f}{}", where,
                     residual.position.distance, parts_.trust.near(), parts_.trust.far(), changed);
}

std::optional<CorrectionReasons> HybridModel::explain(const KernelQuery& query,
                                                      const hwdesc::Device& device) const {
  const std::span<const KernelQuery> queries(&query, 1);
  const auto corrected = estimate(queries, device);
  if (!corrected.front()) return std::nullopt;
  const View view = view_of(device);
  const auto priors = prior_.estimate(queries, view.reference);
  const Residual residual = residuals(queries, view, priors).front();
  CorrectionReasons reasons{.correction = *corrected.front()->correction,
                            .residual = residual.value};
  reasons.verdict = verdict_text(residual, view, measured::op_class(query.kernel));
  if (!priors.front()) return reasons;
  reasons.nearest =
      parts_.domain.nearest(coordinates_of(query.kernel, *priors.front()), kNeighbours);
  for (const Domain::Neighbour& neighbour : reasons.nearest) {
    reasons.nearest_names.push_back(parts_.domain.kernels()[neighbour.kernel].name);
  }
  if (parts_.residual) {
    reasons.drivers = drivers_of(*parts_.residual, query, view.reference, priors);
  }
  return reasons;
}

}  // namespace tilecast::hybrid
