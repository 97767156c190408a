// Trust from trials: weights, reaches and bands.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "hybrid/trial_statistics.h"
#include "hybrid/trust.h"

namespace tilecast::hybrid {
namespace {

constexpr double kNearQuantile = 0.8, kHeldQuantile = 0.01;
constexpr double kMostBand = 30;  // of a bound
constexpr double kSymmetric = 9;  // effective trials from which 90 % has a rank
constexpr std::size_t kLeastGroups = 3;

// What the largest of n absolute errors must be multiplied by to hold the next one in 90 of 100
// cases where errors have the double exponential distribution: the c of which
// product over k = 1 ... n of k / (k + c) is 0.1, solved numerically. n = 1 ... 8; 1 from 9 on.
constexpr std::array<double, 8> kFewFactors = {9.000, 3.000, 2.000, 1.596,
                                               1.374, 1.232, 1.133, 1.058};
constexpr std::size_t kFew = 5, kFewDevices = 3;

void check(const Trial& trial) {
  TC_CHECK(std::isfinite(trial.residual) && std::isfinite(trial.predicted), "a trial's logarithms");
  TC_CHECK(trial.share > 0 && trial.share <= 1 && trial.time > 0, "a trial's share and time");
}

}  // namespace

struct Trust::Point {
  double error = 0;
  const Trial* trial = nullptr;
  double farness = 0;
};

// Fills a trust step by step; each uses what those before it found.
struct Trust::Builder {
  Trust& trust;
  Trials trials;

  void hold_residuals();
  void find_reaches();
  void find_median_times();
  void weigh_resources();
  void weigh_kinds();
  void weigh_machines();
  void hold_losing_devices();
  void find_bands();

  static Spread spread_by(std::span<const Point> points, std::uint32_t Trial::*label) {
    std::vector<Labelled> labelled;
    for (const Point& point : points) labelled.push_back({point.error, point.trial->*label});
    return spread_of(labelled);
  }
  // Trials that `share` gives a share above 0.
  template <class Share>
  static std::vector<Counted> counted(const std::vector<Trial>& all, Share&& share) {
    std::vector<Counted> result;
    for (const Trial& trial : all) {
      const double part = share(trial);
      if (part > 0) result.push_back({&trial, part});
    }
    return result;
  }
  // Of the resources that bind it.
  [[nodiscard]] double farness(const Trial& trial) const {
    return trust.assess(trial.position, trial.kind, trial.time).farness;
  }
  [[nodiscard]] Point point(const Trial& trial) const {
    const Assessment assessment =
        trust.assess(trial.position, trial.kind, trial.time, trial.device);
    return {error_of(trial, assessment.weight), &trial, assessment.farness};
  }
  [[nodiscard]] std::vector<Point> points(const std::vector<Trial>& all) const {
    std::vector<Point> result;
    for (const Trial& trial : all) result.push_back(point(trial));
    return result;
  }

  static Band band_of(std::span<const Point> points, std::size_t few = kFew);
  static bool enough(std::span<const Point> points);
  static std::vector<Point> farthest(std::vector<Point> points, std::size_t count);
  [[nodiscard]] Bands bands_of(const std::vector<Point>& points) const;
};

void Trust::Band::widen(const Band& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  trials += other.trials;
}

Trust::Trust(const Trials& trials) {
  for (const auto* part : {&trials.base, &trials.by_kind, &trials.by_device}) {
    std::ranges::for_each(*part, check);
  }
  if (trials.base.empty()) return;
  Builder builder{*this, trials};
  builder.hold_residuals();
  builder.find_reaches();
  builder.find_median_times();
  builder.weigh_resources();
  builder.weigh_kinds();
  builder.weigh_machines();
  builder.hold_losing_devices();
  builder.find_bands();
}

void Trust::Builder::hold_residuals() {
  std::vector<double> seen;
  for (const Trial& trial : trials.base) seen.push_back(trial.residual);
  trust.held_low_ = std::min(base::quantile(seen, kHeldQuantile), 0.0);
  trust.held_high_ = std::max(base::quantile(seen, 1 - kHeldQuantile), 0.0);
  for (auto* part : {&trials.base, &trials.by_kind, &trials.by_device}) {
    for (Trial& trial : *part) trial.predicted = trust.held(trial.predicted);
  }
}

void Trust::Builder::find_reaches() {
  for (std::size_t r = 0; r < kResources; ++r) {
    std::vector<double> distances;
    double most = 0;
    for (const auto* part : {&trials.base, &trials.by_kind}) {
      for (const Trial& trial : *part) {
        const double distance = static_cast<double>(trial.position.distance[r]);
        if (trial.position.shares[r] < kLeastShare || !std::isfinite(distance)) continue;
        if (part == &trials.base) distances.push_back(distance);
        most = std::max(most, distance);
      }
    }
    if (distances.empty()) continue;
    const double near = base::quantile(distances, kNearQuantile);
    trust.reach_[r] = {near, std::max(near, most)};
  }
}

void Trust::Builder::weigh_resources() {
  for (std::size_t r = 0; r < kResources; ++r) {
    const auto share_at = [&](bool near) {
      return [&, near](const Trial& trial) {
        const bool is_near = trust.farness(trial.position, r) == 0;
        return near == is_near ? static_cast<double>(trial.position.shares[r]) : 0.0;
      };
    };
    const auto weigh = [&](const std::vector<Trial>& all, Weights& weights, bool safe) {
      weights.near = best_weight(counted(all, share_at(true)), {.safe = safe});
      weights.far = best_weight(counted(all, share_at(false)), {.cap = weights.near, .safe = safe});
    };
    weigh(trials.base, trust.by_resource_[r], false);
    weigh(trials.by_kind, trust.new_kind_weights_[r], true);
  }
}

void Trust::Builder::weigh_kinds() {
  std::map<std::string, std::vector<Counted>> kinds;
  for (const Trial& trial : trials.base) kinds[trial.kind].push_back({&trial, 1});
  std::map<std::string, Weights, ByName> found;
  for (const auto& [kind, all] : kinds) {
    std::set<std::uint32_t> groups;
    std::vector<Counted> near, far;
    double gain = 0;
    for (const Counted& each : all) {
      groups.insert(each.trial->group);
      (farness(*each.trial) == 0 ? near : far).push_back(each);
      const double weight = trust.assess(each.trial->position, kind, each.trial->time).weight;
      gain += std::fabs(error_of(*each.trial, 0)) - std::fabs(error_of(*each.trial, weight));
    }
    if (all.size() >= kLeastTrials && groups.size() >= kLeastGroups) {
      Weights& weights = found[kind];
      weights.near = best_weight(near, {});
      for (const Trial& trial : trials.by_kind) {
        if (trial.kind == kind && farness(trial) > 0) far.push_back({&trial, 1});
      }
      weights.far = best_weight(far, {.cap = weights.near});
    } else if (gain < 0) {
      found[kind] = {};
    }
  }
  trust.by_kind_ = std::move(found);
}

void Trust::Builder::weigh_machines() {
  std::vector<double> distances;
  for (const Trial& trial : trials.by_device) {
    if (std::isfinite(trial.position.machine)) distances.push_back(trial.position.machine);
  }
  if (distances.empty()) return;
  trust.typical_machine_ = std::max(base::median(distances), kSameMachine);
  trust.farthest_machine_ = std::max(std::ranges::max(distances), trust.typical_machine_);
  for (std::size_t r = 0; r < kResources; ++r) {
    const auto share = [r](const Trial& trial) {
      return static_cast<double>(trial.position.shares[r]);
    };
    for (auto* all : {&trust.by_resource_, &trust.new_kind_weights_}) {
      Weights& weights = (*all)[r];
      weights.new_device =
          best_weight(counted(trials.by_device, share), {.cap = weights.near, .safe = true});
    }
  }
  for (auto& [kind, weights] : trust.by_kind_) {
    const auto is_of = [&](const Trial& trial) { return trial.kind == kind ? 1.0 : 0.0; };
    weights.new_device =
        best_weight(counted(trials.by_device, is_of), {.cap = weights.near, .safe = true});
  }
}

void Trust::Builder::hold_losing_devices() {
  std::map<std::pair<std::string, std::string>, std::vector<Counted>> devices;
  for (const Trial& trial : trials.base) {
    devices[{trial.kind, trial.device}].push_back({&trial, 1});
  }
  for (const auto& [key, all] : devices) {
    if (key.second.empty() || all.size() < kLeastTrials) continue;
    double gain = 0;
    for (const Counted& each : all) {
      gain += std::fabs(error_of(*each.trial, 0)) - std::fabs(point(*each.trial).error);
    }
    if (gain < 0) trust.most_[key.first][key.second] = best_weight(all, {});
  }
}

// The farthest `count`, or as many as are enough.
std::vector<Trust::Point> Trust::Builder::farthest(std::vector<Point> points, std::size_t count) {
  std::ranges::stable_sort(points, std::greater(), &Point::farness);
  for (;;) {
    std::vector<Point> result(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count));
    if (enough(result) || count == points.size()) return result;
    count = std::min(count + count / 2 + 1, points.size());
  }
}

Trust::Band Trust::Builder::band_of(std::span<const Point> points, std::size_t few) {
  if (points.empty()) return {};
  const Spread spread = spread_by(points, &Trial::group);
  const auto n = static_cast<std::size_t>(effective_number(spread));
  std::vector<double> above, below, size;
  for (const Point& point : points) {
    above.push_back(point.error);
    below.push_back(-point.error);
    size.push_back(std::fabs(point.error));
  }
  const std::size_t ranks = spread.groups < 2 ? n : points.size();
  double factor = spread.groups < 2 ? 1 : new_group_factor(spread);
  Band band{.low = 0, .high = 0, .trials = points.size()};
  if (n >= kTwoSided) {
    band.low = -std::clamp(factor * ranked(below, ranks, 95), 0.0, kMostBand);
    band.high = std::clamp(factor * ranked(above, ranks, 95), 0.0, kMostBand);
    return band;
  }
  if (ranks <= kFewFactors.size()) factor *= kFewFactors[ranks - 1];
  band.high = std::min(factor * ranked(size, ranks, 90), kMostBand);
  if (n < few) band.high = std::max(band.high, kUnknown);
  band.low = -band.high;
  return band;
}

bool Trust::Builder::enough(std::span<const Point> points) {
  if (points.size() < kLeastTrials) return false;
  const Spread spread = spread_by(points, &Trial::group);
  return effective_number(spread) >= kSymmetric;
}

Trust::Bands Trust::Builder::bands_of(const std::vector<Point>& points) const {
  Bands bands{.all = band_of(points)};
  std::map<std::string, std::vector<Point>> kinds;
  for (const Point& point : points) kinds[point.trial->kind].push_back(point);
  for (const auto& [kind, of_kind] : kinds) {
    if (!enough(of_kind)) continue;
    bands.by_kind.emplace(kind, band_of(of_kind));
    std::array<std::vector<Point>, 2> halves;
    for (const Point& point : of_kind) {
      halves[point.trial->time > trust.median_time_.at(kind) ? 1 : 0].push_back(point);
    }
    if (!enough(halves[0]) || !enough(halves[1])) continue;
    bands.by_size.emplace(kind, std::array{band_of(halves[0]), band_of(halves[1])});
  }
  return bands;
}

void Trust::Builder::find_median_times() {
  std::map<std::string, std::vector<double>> times;
  for (const Trial& trial : trials.base) times[trial.kind].push_back(trial.time);
  for (auto& [kind, of_kind] : times) trust.median_time_[kind] = base::median(std::move(of_kind));
}

void Trust::Builder::find_bands() {
  const std::vector<Point> all = points(trials.base);
  std::vector<Point> near, physics;
  for (const Point& point : all) {
    if (point.farness == 0) near.push_back(point);
    physics.push_back({error_of(*point.trial, 0), point.trial});
  }
  trust.near_bands_ = trust.far_bands_ = bands_of(enough(near) ? near : all);
  trust.physics_ = band_of(physics);
  if (near.size() < all.size()) {
    trust.far_bands_ = bands_of(farthest(all, all.size() - near.size()));
  }
  if (!trials.by_kind.empty()) trust.new_kind_ = band_of(points(trials.by_kind));
  if (!trials.by_device.empty()) {
    const std::vector<Point> without = points(trials.by_device);
    trust.new_device_ = Bands{.all = band_of(without, kFewDevices)};
    std::map<std::string, std::vector<Point>> kinds;
    for (const Point& point : without) kinds[point.trial->kind].push_back(point);
    for (const auto& [kind, of_kind] : kinds) {
      if (of_kind.size() < kLeastTrials) continue;
      trust.new_device_->by_kind.emplace(kind, band_of(of_kind, kFewDevices));
    }
  }
  const Spread families = spread_by(all, &Trial::family);
  trust.correlation_ = families.groups < 3 ? 0 : intraclass(families);
}

}  // namespace tilecast::hybrid
