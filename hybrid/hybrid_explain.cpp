#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "analytical/analytical_model.h"
#include "hybrid/corrected_queries.h"

namespace tilecast::hybrid {
namespace {

using analytical::KernelQuery;
using analytical::Verdict;

constexpr std::size_t kNeighbours = 3, kDrivers = 6;

// The residual's table model, whichever it is; rows in, one number each.
struct TableModel {
  const learned::FeatureSelection* features = nullptr;
  std::function<double(std::span<const float>)> predict;
};

std::optional<TableModel> table_model(const learned::Predictor& predictor) {
  if (const learned::GbtPredictorParts* trees = predictor.trees()) {
    return TableModel{&trees->features, [trees](std::span<const float> row) {
                        float margin = 0;
                        trees->model.predict(row, {}, std::span<float>(&margin, 1));
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

std::string verdict_text(const HybridParts& parts, const CorrectedQuery& said,
                         const TrainedView& view, const std::string& op_class) {
  if (!said.place.known_class) return fmt::format("op class {} was never measured", op_class);
  if (!view.known) return fmt::format("device {} was never measured", view.asked.name);
  const std::string_view where = said.trust.verdict == Verdict::kIn ? "among the measured kernels"
                                 : said.trust.verdict == Verdict::kEdge
                                     ? "at the edge of the measured kernels"
                                     : "far from every measured kernel";
  const std::string changed =
      view.same ? "" : fmt::format("; {} is not as it was measured", view.asked.name);
  return fmt::format("{}: distance {:.2f}, near up to {:.2f}, far from {:.2f}{}", where,
                     said.place.distance, parts.trust.near(), parts.trust.far(), changed);
}

}  // namespace

std::optional<CorrectionReasons> HybridModel::explain(const KernelQuery& query,
                                                      const hwdesc::Device& device) const {
  const std::span<const KernelQuery> one(&query, 1);
  const auto corrected = estimate(one, device);
  if (!corrected.front()) return std::nullopt;
  const TrainedView view = trained_view(parts_, device);
  const auto priors = analytical::AnalyticalModel().estimate(one, view.reference);
  const CorrectedQuery said = correct_queries(parts_, one, view, priors).front();
  CorrectionReasons reasons{.correction = *corrected.front()->correction,
                            .residual = said.residual};
  reasons.verdict = verdict_text(parts_, said, view, measured::op_class(query.kernel));
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
