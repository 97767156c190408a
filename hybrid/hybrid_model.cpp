#include "hybrid/hybrid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hybrid/corrected_queries.h"

namespace tilecast::hybrid {
namespace {

using analytical::Correction;
using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;

constexpr std::string_view kModelName = "hybrid";

void scale(Estimate& estimate, double factor) {
  estimate.time = estimate.time * factor;
  estimate.next_time = std::min(estimate.next_time * factor, estimate.time);
  for (Seconds& busy : estimate.bounds) busy = busy * factor;
}

// The analytical estimate of the asked device, corrected as `said` about the trained one.
void correct(Estimate& estimate, const CorrectedQuery& said, double correlation) {
  const Seconds before = estimate.time;
  scale(estimate, std::exp(said.trust.weight * said.residual));
  if (estimate.time < estimate.speed_of_light) {
    estimate.time = estimate.speed_of_light;
    estimate.flags.emplace_back("held at the speed of light");
  }
  const Seconds time = estimate.time;
  estimate.utilisation = time.value > 0 ? estimate.speed_of_light / time : 1.0;
  estimate.model = kModelName;
  // What errors outside have in common nobody measured: they may all be one.
  const bool outside = said.trust.verdict == Verdict::kOut;
  const Seconds low = time * std::exp(said.trust.low), high = time * std::exp(said.trust.high);
  estimate.correction = Correction{.analytical = before,
                                   .factor = before.value > 0 ? time / before : 1.0,
                                   .weight = said.trust.weight,
                                   .verdict = said.trust.verdict,
                                   .low = std::min(low, time),
                                   .high = std::max(high, time),
                                   .correlation = outside ? 1 : correlation};
}

// Constants fitted to other op classes are no better for a new one than the description's.
void forget_constants(std::span<const KernelQuery> queries, const TrainedView& view,
                      std::span<const CorrectedQuery> said,
                      std::vector<std::optional<Estimate>>& answers) {
  const std::optional<hwdesc::Device> described = view.described();
  if (!described) return;
  std::vector<KernelQuery> asked;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || said[i].place.known_class) continue;
    asked.push_back(queries[i]);
    places.push_back(i);
  }
  auto again = analytical::AnalyticalModel().estimate(asked, *described);
  for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = std::move(again[i]);
}

}  // namespace

HybridModel::HybridModel(HybridParts parts) : parts_(std::move(parts)) {
  TC_CHECK(!parts_.residual || !parts_.residual->ranks_only(), "residuals are of times");
}

std::vector<std::optional<Estimate>> HybridModel::estimate(std::span<const KernelQuery> queries,
                                                           const hwdesc::Device& device) const {
  const TrainedView view = trained_view(parts_, device);
  auto answers = analytical::AnalyticalModel().estimate(queries, view.asked);
  std::vector<std::optional<Estimate>> of_trained;
  if (!view.same) of_trained = analytical::AnalyticalModel().estimate(queries, view.reference);
  const auto said = correct_queries(parts_, queries, view, view.same ? answers : of_trained);
  forget_constants(queries, view, said, answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) correct(*answers[i], said[i], parts_.trust.correlation());
  }
  return answers;
}

hwdesc::Device HybridModel::with_constants(const hwdesc::Device& device) const {
  return trained_view(parts_, device).asked;
}

}  // namespace tilecast::hybrid
