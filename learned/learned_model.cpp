#include "learned/learned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/roofline.h"
#include "base/error.h"
#include "measured/samples.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;

constexpr std::string_view kModelName = "learned";

bool knows(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Queries of op classes in the training set. Queries of one kernel are usually consecutive.
std::vector<std::size_t> in_domain(std::span<const KernelQuery> queries, const ModelCard& card) {
  std::vector<std::size_t> result;
  const ir::Kernel* kernel = nullptr;
  bool known = false;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (&queries[i].kernel != kernel) {
      kernel = &queries[i].kernel;
      known = knows(card.op_classes, measured::op_class(*kernel));
    }
    if (known) result.push_back(i);
  }
  return result;
}

// Puts the predicted time into a roofline estimate.
void take_time(Estimate& estimate, double log_seconds, const KernelQuery& query,
               const ModelCard& card) {
  const Seconds predicted{std::exp(log_seconds)};
  if (!std::isfinite(predicted.value)) {
    throw Error(fmt::format("model {}: kernel {}: predicts exp({}) s, which is not a finite time",
                            card.name, query.kernel.name(), log_seconds));
  }
  estimate.time = std::max(predicted, estimate.speed_of_light);
  estimate.next_time = std::min(estimate.next_time, estimate.time);
  estimate.utilisation = estimate.time.value > 0 ? estimate.speed_of_light / estimate.time : 1.0;
  if (query.tile != nullptr) estimate.tile = *query.tile;
  estimate.model = kModelName;
  estimate.flags.emplace_back("learned time; bounds are the roofline's");
  if (predicted < estimate.speed_of_light) {
    estimate.flags.emplace_back("held at the speed of light");
  }
}

}  // namespace

LearnedModel::LearnedModel(LoadedModel model, const analytical::CostModel& prior)
    : model_(std::move(model)), prior_(prior) {
  TC_CHECK(model_.predictor != nullptr, "a model without a predictor");
  require_times(*model_.predictor, model_.card.name);
  if (!model_.card.ranks_only && !model_.predictor->ranks_only()) return;
  throw Error(
      fmt::format("model {}: was trained to rank the tiles of a kernel and predicts no times; "
                  "expected a model with the loss log_time or huber",
                  model_.card.name));
}

std::vector<std::optional<Estimate>> LearnedModel::estimate(std::span<const KernelQuery> queries,
                                                            const hwdesc::Device& device) const {
  std::vector<std::optional<Estimate>> answers(queries.size());
  const std::vector<std::size_t> known = in_domain(queries, model_.card);
  std::vector<KernelQuery> inside;
  inside.reserve(known.size());
  for (const std::size_t i : known) inside.push_back(queries[i]);
  std::vector<double> log_seconds(inside.size());
  const Predictor& predictor = *model_.predictor;
  const auto priors = priors_for(predictor, prior_, inside, device);
  predictor.predict(inside, device, priors, log_seconds);
  const auto roofs = analytical::RooflineModel().estimate(inside, device);
  const bool known_device = device.lineage_distance(model_.card.devices).has_value();
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (!roofs[k]) continue;
    if (predictor.needs_prior() && std::isnan(log_seconds[k])) continue;  // no analytical estimate
    Estimate estimate = *roofs[k];
    const KernelQuery query =
        priors.empty() ? inside[k] : analytical::with_tile_of(priors[k], inside[k]);
    take_time(estimate, log_seconds[k], query, model_.card);
    if (!known_device) {
      estimate.flags.push_back(fmt::format("not trained on {}", device.name));
    }
    answers[known[k]] = std::move(estimate);
  }
  return answers;
}

namespace {

// Whether kernels of this class, or fused ones that do the like, are among those trained on.
// XLA:TPU writes products as convolutions.
bool knows(const std::vector<std::string>& trained, const ir::Kernel& kernel) {
  const std::string fused = measured::fused_class(kernel);
  return std::ranges::any_of(trained, [&](const std::string& one) {
    return one == measured::op_class(kernel) || one == fused ||
           (fused == "matmul_fusion" && one == "convolution_fusion");
  });
}

}  // namespace

RankModel::RankModel(LoadedModel model, const analytical::CostModel& prior)
    : model_(std::move(model)), prior_(prior) {
  TC_CHECK(model_.predictor != nullptr, "a model without a predictor");
}

std::vector<std::optional<double>> RankModel::scores(const ir::Kernel& kernel,
                                                     std::span<const analytical::TileConfig> tiles,
                                                     const hwdesc::Device& device) const {
  std::vector<std::optional<double>> scores(tiles.size());
  if (!knows(model_.card.op_classes, kernel)) return scores;
  std::vector<analytical::KernelQuery> queries;
  for (const analytical::TileConfig& tile : tiles) queries.push_back({kernel, &tile});
  std::vector<double> answers(tiles.size());
  const Predictor& predictor = *model_.predictor;
  predictor.predict(queries, device, priors_for(predictor, prior_, queries, device), answers);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (std::isfinite(answers[i])) scores[i] = answers[i];
  }
  return scores;
}

}  // namespace tilecast::learned
