#include "hybrid/corrected_queries.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "hwdesc/device_yaml.h"

namespace tilecast::hybrid {
namespace {

using analytical::KernelQuery;

// A correction beyond it is a broken model, not a measurement.
constexpr double kLargestResidual = 3;  // log(20)

bool is_of(const hwdesc::Device& device, const std::string& trained) {
  return device.name == trained ||
         std::ranges::find(device.lineage, trained) != device.lineage.end();
}

bool calibrated(const hwdesc::Device& device) {
  return !device.calibration.source.empty();
}

// Every value besides what the description is called.
std::vector<std::pair<std::string, std::string>> machine_of(const hwdesc::Device& device) {
  auto leaves = hwdesc::flatten(device);
  std::erase_if(leaves, [](const auto& leaf) {
    return leaf.first == "name" || leaf.first == "description" || leaf.first == "extends";
  });
  return leaves;
}

}  // namespace

TrainedView trained_view(const HybridParts& parts, const hwdesc::Device& device) {
  const auto trained = std::ranges::find_if(
      parts.devices, [&](const hwdesc::Device& one) { return is_of(device, one.name); });
  TrainedView view{.asked = device, .reference = device};
  if (trained == parts.devices.end()) return view;
  view.known = true;
  if (!calibrated(device)) view.asked.calibration = trained->calibration;
  view.same = machine_of(view.asked) == machine_of(*trained);
  view.reference = *trained;
  return view;
}

std::optional<hwdesc::Device> TrainedView::described() const {
  if (!asked.calibration.source.starts_with(kFittedSource)) return std::nullopt;
  hwdesc::Device device = asked;
  device.calibration = {};
  return device;
}

std::vector<CorrectedQuery> correct_queries(const HybridParts& parts,
                                            std::span<const KernelQuery> queries,
                                            const TrainedView& view, learned::Priors priors) {
  std::vector<CorrectedQuery> result(queries.size());
  std::vector<double> log_times(queries.size());
  if (parts.residual) parts.residual->predict(queries, view.reference, priors, log_times);
  const ir::Kernel* kernel = nullptr;
  std::string op_class;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!priors[i]) continue;
    if (&queries[i].kernel != kernel) {  // those of one kernel usually follow each other
      kernel = &queries[i].kernel;
      op_class = measured::op_class(*kernel);
    }
    CorrectedQuery& said = result[i];
    const double prior_s = priors[i]->time.value;
    said.place = parts.domain.place(*kernel, op_class, *priors[i], view.reference);
    said.trust = parts.trust.say(said.place, op_class, prior_s);
    if (view.known && !view.same) {
      said.trust.verdict = std::max(said.trust.verdict, analytical::Verdict::kEdge);
    }
    if (!parts.guard) said.trust.weight = 1;
    const double residual = parts.residual ? log_times[i] - std::log(prior_s) : 0;
    if (!std::isfinite(residual)) {
      said.trust.weight = 0;
      continue;
    }
    said.residual = std::clamp(residual, -kLargestResidual, kLargestResidual);
  }
  return result;
}

}  // namespace tilecast::hybrid
