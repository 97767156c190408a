#include "hybrid/hybrid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measured/physics.h"
#include "measured/samples.h"

namespace tilecast::hybrid {
namespace {

using analytical::Correction;
using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;

constexpr std::string_view kModelName = "hybrid";
constexpr std::size_t kNeighbours = 3, kDrivers = 6;
// In units of the reach: near up to kNear, not near from kFar on, with a linear transition.
constexpr double kNear = 1, kFar = 2;

void scale(Estimate& estimate, double factor) {
  estimate.time = estimate.time * factor;
  estimate.next_time = std::min(estimate.next_time * factor, estimate.time);
  for (Seconds& busy : estimate.bounds) busy = busy * factor;
}

// The least time takes caches into account; it is only computed if it can matter.
void hold_at_light(Estimate& estimate, const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (estimate.time >= estimate.speed_of_light) return;
  const Seconds least = std::min(estimate.speed_of_light, measured::light_time(kernel, device));
  if (estimate.time >= least) return;
  estimate.time = least;
  estimate.flags.emplace_back("held at the speed of light");
}

// Queries for the bag on a changed device: the estimates of the trained device with the tile chosen
// there, whatever tile is requested, so that r and k do not depend on the changed numbers.
std::vector<KernelQuery> without_tiles(std::span<const KernelQuery> queries) {
  std::vector<KernelQuery> own(queries.begin(), queries.end());
  for (KernelQuery& query : own) query.tile = nullptr;
  return own;
}

Band wider(const Band& a, const Band& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), std::min(a.trials, b.trials)};
}

}  // namespace

// The queried device, relative to the trained device that it equals or derives from.
struct HybridModel::View {
  const hwdesc::Device* trained = nullptr;  // nullptr: none
  std::uint32_t number = 0;                 // of the trained device in Stratum::place
  bool changed = false;                     // whether the queried device has other numbers
};

// A query's nearby places and the rules that apply there.
struct HybridModel::Trust {
  struct Near {
    const Place* place;
    const Shrinkage* rule;
    double share;  // share of the total weight
  };
  bool measured = false;  // whether this device and writer were measured
  std::vector<Near> near = {};
  const Place* nearest = nullptr;
  double distance = 0;  // to the nearest place, divided by its reach
  Coordinates at{};
  std::string kind;
  Verdict verdict = Verdict::kOut;
  double nearness = 0;  // total share of nearby places; the rest up to 1 is physics
  Band band;
};

HybridModel::HybridModel(const analytical::CostModel& prior, HybridParts parts, Belief belief)
    : prior_(prior), parts_(std::move(parts)), belief_(belief) {}

HybridModel::View HybridModel::view_of(const hwdesc::Device& device) const {
  std::optional<std::size_t> nearest;
  std::size_t number = 0;
  for (std::size_t i = 0; i < parts_.devices.size(); ++i) {
    const auto distance = device.lineage_distance(parts_.devices.name(i));
    if (!distance || (nearest && *nearest <= *distance)) continue;
    nearest = distance;
    number = i;
  }
  if (!nearest) return {};
  const hwdesc::Device& known = parts_.devices[number];
  // A calibrated description counts as another machine, as its constants already correct it.
  if (!device.calibration.source.empty() && device.calibration.source != known.calibration.source)
    return {};
  return {.trained = &known,
          .number = static_cast<std::uint32_t>(number + 1),
          .changed = device.machine != known.machine};
}

HybridModel::Trust HybridModel::trust_of(const KernelQuery& query, const View& view,
                                         const Estimate& prior) const {
  Trust trust;
  Stratum stratum{.bound = bound_kind(prior.bound), .size = size_kind(prior.time)};
  const auto band_at = [&](Regime regime, std::uint32_t place) {
    stratum.regime = regime;
    stratum.place = place;
    return parts_.bands.at(stratum);
  };
  if (view.trained != nullptr) find_near(query, view, prior, trust);
  trust.band = band_at(Regime::kPhysics, trust.measured ? view.number : 0);
  if (!trust.measured) return trust;
  bool first = trust.nearness == 1;
  for (const Trust::Near& one : trust.near) {
    const auto number = static_cast<std::uint32_t>(one.place - parts_.known.places().data()) + 1;
    const Band band = band_at(Regime::kNear, number);
    trust.band = first ? band : wider(trust.band, band);
    first = false;
  }
  const bool among = trust.nearness == 1 && !view.changed;
  trust.verdict = among ? Verdict::kIn : trust.nearness > 0 ? Verdict::kEdge : Verdict::kOut;
  return trust;
}

// Finds places of the trained device with a nearby kernel. Shares are continuous from 0 to 1.
void HybridModel::find_near(const KernelQuery& query, const View& view, const Estimate& prior,
                            Trust& trust) const {
  trust.at = coordinates_of(prior);
  trust.kind = kind_of(query.kernel, prior);
  double sum = 0;
  for (const Place& place : parts_.known.places()) {
    const bool timed = query.timed.empty() || query.timed == place.timed;
    if (place.device != view.trained->name || place.writer != query.writer || !timed) continue;
    const double distance = place.distance(trust.at);
    if (trust.nearest == nullptr || distance < trust.distance) {
      trust.nearest = &place;
      trust.distance = distance;
    }
    trust.measured = true;
    const double share = std::clamp((kFar - distance) / (kFar - kNear), 0.0, 1.0);
    const Shrinkage& rule = query.timed.empty() ? place.any : place.same;
    if (share > 0) trust.near.push_back({&place, &rule, share});
    sum += share;
  }
  for (Trust::Near& one : trust.near) one.share /= std::max(1.0, sum);
  trust.nearness = std::min(1.0, sum);
}

double HybridModel::weight_of(const Trust& trust, const Opinion& said) const {
  if (belief_ == Belief::kEverything) return 1;
  if (!trust.measured || said.mean == 0) return 0;
  double weight = 0;
  for (const Trust::Near& one : trust.near) {
    weight += one.share * one.rule->weight(said, trust.kind);
  }
  return weight;
}

void HybridModel::correct(const KernelQuery& query, const Trust& trust, const Opinion& said,
                          const hwdesc::Device& device, Estimate& estimate) const {
  const Seconds before = estimate.time;
  const double weight = weight_of(trust, said);
  if (weight * said.mean != 0) {
    scale(estimate, std::exp(weight * said.mean));
    hold_at_light(estimate, query.kernel, device);
    estimate.utilisation =
        estimate.time.value > 0 ? std::min(1.0, estimate.speed_of_light / estimate.time) : 1.0;
  }
  const Seconds time = estimate.time;
  estimate.model = kModelName;
  // Away from measured kernels the correlation of errors is unknown; assume 1.
  const bool near = trust.verdict == Verdict::kIn;
  estimate.correction = Correction{.analytical = before,
                                   .factor = before.value > 0 ? time / before : 1.0,
                                   .weight = weight,
                                   .verdict = trust.verdict,
                                   .low = time * std::exp(trust.band.low),
                                   .high = time * std::exp(trust.band.high),
                                   .correlation = near ? parts_.correlation : 1};
}

std::vector<std::optional<Estimate>> HybridModel::estimate(std::span<const KernelQuery> queries,
                                                           const hwdesc::Device& device) const {
  auto answers = prior_.estimate(queries, device);
  const View view = view_of(device);
  std::vector<KernelQuery> own;
  std::vector<std::optional<Estimate>> of_trained;
  if (view.changed) {
    own = without_tiles(queries);
    of_trained = prior_.estimate(own, *view.trained);
  }
  const std::vector<std::optional<Estimate>>& priors = view.changed ? of_trained : answers;
  std::vector<Trust> trust(queries.size());
  std::vector<std::size_t> asked;  // others are left to physics, whatever the bag says
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || !priors[i]) continue;
    trust[i] = trust_of(queries[i], view, *priors[i]);
    if (may_correct(trust[i])) asked.push_back(i);
  }
  std::vector<Opinion> said(queries.size());
  ask_bag(view.changed ? std::span<const KernelQuery>(own) : queries,
          view.changed ? *view.trained : device, priors, asked, said);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (answers[i]) correct(queries[i], trust[i], said[i], device, *answers[i]);
  }
  return answers;
}

void HybridModel::ask_bag(std::span<const KernelQuery> queries, const hwdesc::Device& device,
                          learned::Priors priors, std::span<const std::size_t> asked,
                          std::span<Opinion> said) const {
  if (asked.empty()) return;
  if (asked.size() == queries.size()) return parts_.bag.ask(queries, device, priors, said);
  std::vector<KernelQuery> chosen;
  std::vector<std::optional<Estimate>> of_chosen;
  for (const std::size_t i : asked) {
    chosen.push_back(queries[i]);
    of_chosen.push_back(priors[i]);
  }
  std::vector<Opinion> opinions(asked.size());
  parts_.bag.ask(chosen, device, of_chosen, opinions);
  for (std::size_t k = 0; k < asked.size(); ++k) said[asked[k]] = opinions[k];
}

bool HybridModel::may_correct(const Trust& trust) const {
  return belief_ == Belief::kEverything ||
         std::ranges::any_of(trust.near, [&](const Trust::Near& one) {
           return one.rule->c != kPhysicsAlone && one.rule->kinds.contains(trust.kind);
         });
}

std::string HybridModel::verdict_text(const Trust& trust, const View& view) const {
  if (!trust.measured) {
    return view.trained == nullptr ? "this machine was not measured: physics alone"
                                   : "code of this writer was not measured: physics alone";
  }
  std::string text =
      fmt::format("{} {} on {}: {:.2f} of the distance that its trials went",
                  trust.distance <= kNear ? "among the kernels of" : "away from the kernels of",
                  trust.nearest->source, trust.nearest->device, trust.distance);
  if (view.changed) text += "; its description is not as it was measured";
  return text;
}

std::optional<CorrectionReasons> HybridModel::explain(const KernelQuery& query,
                                                      const hwdesc::Device& device) const {
  const std::span<const KernelQuery> queries(&query, 1);
  const auto answers = estimate(queries, device);
  if (!answers.front()) return std::nullopt;
  const View view = view_of(device);
  const hwdesc::Device& reference = view.changed ? *view.trained : device;
  KernelQuery asked = query;
  if (view.changed) asked.tile = nullptr;
  const auto priors = prior_.estimate({&asked, 1}, reference);
  CorrectionReasons reasons{.correction = *answers.front()->correction};
  if (!priors.front()) return reasons;
  const Trust trust = trust_of(query, view, *priors.front());
  reasons.verdict = verdict_text(trust, view);
  if (!trust.measured && belief_ == Belief::kRules) return reasons;
  parts_.bag.ask({&asked, 1}, reference, priors, {&reasons.said, 1});
  reasons.drivers = parts_.bag.effects(asked, reference, priors, kDrivers);
  if (trust.measured) reasons.nearest = trust.nearest->nearest(trust.at, kNeighbours);
  return reasons;
}

}  // namespace tilecast::hybrid
