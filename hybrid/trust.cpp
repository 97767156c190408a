#include "hybrid/trust.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/statistics.h"

namespace tilecast::hybrid {
namespace {

constexpr double kNearQuantile = 0.8;
constexpr int kWeightSteps = 20;
constexpr double kMostLogRatio = 30;  // of a ratio
constexpr double kSymmetric = 9;      // effective trials from which 90 % has a rank

// What the largest of n absolute errors must be multiplied by to hold the next one in 90 of 100
// cases where errors have the double exponential distribution: the c of which
// product over k = 1 ... n of k / (k + c) is 0.1, solved numerically. n = 1 ... 8; 1 from 9 on.
constexpr std::array<double, 8> kFewFactors = {9.000, 3.000, 2.000, 1.596,
                                               1.374, 1.232, 1.133, 1.058};
constexpr std::size_t kFew = 5;

using Group = std::uint32_t;

// exp(log_ratio) - 1, where a learner may have predicted anything.
double grown(double log_ratio) {
  return std::expm1(std::clamp(log_ratio, -kMostLogRatio, kMostLogRatio));
}

// Log error of the row's whole time, of which the prior's kernel is `share`: measured and predicted
// kernel with the same dispatch on top.
double error_of(const Trial& trial, double weight) {
  return std::log1p(trial.share * grown(trial.residual)) -
         std::log1p(trial.share * grown(weight * trial.predicted));
}

struct GroupErrors {
  std::array<double, kWeightSteps + 1> sums{};  // by weight
  double rows = 0;
};

double weight_of_step(int step) {
  return static_cast<double>(step) / kWeightSteps;
}

// No held-out class or device may lose more than this by a correction that others taught.
constexpr double kMargin = 0.01;

// Trials that count: distance above `above` and at most `up_to`. The weight: at most `cap`; `safe`:
// with it no group is worse than without by more than kMargin.
struct Allowed {
  double above = -1, up_to = 0, cap = 1;
  bool safe = false;
};

double best_weight(std::span<const Trial> trials, const Allowed& allowed) {
  std::map<Group, GroupErrors> groups;
  for (const Trial& trial : trials) {
    if (!(trial.distance > allowed.above && trial.distance <= allowed.up_to)) continue;
    GroupErrors& group = groups[trial.group];
    group.rows += 1;
    for (int step = 0; step <= kWeightSteps; ++step) {
      group.sums[step] += std::fabs(error_of(trial, weight_of_step(step)));
    }
  }
  if (groups.size() < 2) return 0;
  const auto n = static_cast<double>(groups.size());
  std::array<double, kWeightSteps + 1> means{}, worst{};
  for (auto& [number, group] : groups) {
    for (int step = 0; step <= kWeightSteps; ++step) {
      group.sums[step] /= group.rows;
      means[step] += group.sums[step] / n;
      worst[step] = std::max(worst[step], group.sums[step] - group.sums[0]);
    }
  }
  int best = 0;
  for (int step = 1; step <= kWeightSteps && weight_of_step(step) <= allowed.cap; ++step) {
    if (allowed.safe && worst[step] > kMargin) break;
    if (means[step] < means[best]) best = step;
  }
  const double gain = means[0] - means[best];
  double squares = 0;
  for (const auto& [number, group] : groups) {
    const double difference = group.sums[0] - group.sums[best] - gain;
    squares += difference * difference;
  }
  return gain > std::sqrt(squares / (n - 1) / n) ? weight_of_step(best) : 0;
}

// Errors by group, for the analysis of variance.
struct Spread {
  double within = 0, between = 0;  // mean squares
  double typical = 1;              // rows of a group, as the estimator weighs them
  double rows = 0, groups = 0;
  double squared_sizes = 0;
};

template <class Points, class Label>
Spread spread_of(const Points& points, Label&& label) {
  struct Sums {
    double n = 0, mean = 0;
  };
  std::map<Group, Sums> groups;
  double mean = 0;
  for (const auto& point : points) {
    Sums& group = groups[label(point)];
    group.n += 1;
    group.mean += (point.error - group.mean) / group.n;
    mean += point.error / static_cast<double>(points.size());
  }
  Spread spread{.rows = static_cast<double>(points.size()),
                .groups = static_cast<double>(groups.size())};
  for (const auto& [number, group] : groups) {
    spread.between += group.n * (group.mean - mean) * (group.mean - mean);
    spread.squared_sizes += group.n * group.n;
  }
  for (const auto& point : points) {
    const double difference = point.error - groups.at(label(point)).mean;
    spread.within += difference * difference;
  }
  if (spread.groups > 1) {
    spread.between /= spread.groups - 1;
    spread.typical = (spread.rows - spread.squared_sizes / spread.rows) / (spread.groups - 1);
  }
  if (spread.rows > spread.groups) spread.within /= spread.rows - spread.groups;
  return spread;
}

// Donner (1986). 0 where no group has two rows.
double intraclass(const Spread& spread) {
  if (spread.groups < 2 || spread.rows <= spread.groups) return 0;
  const double total = spread.between + (spread.typical - 1) * spread.within;
  if (!(total > 0)) return 0;
  return std::clamp((spread.between - spread.within) / total, 0.0, 1.0);
}

double effective_number(const Spread& spread) {
  const double mean_size = spread.squared_sizes / spread.rows;  // of a row's group
  const double effect = spread.groups < 2 ? mean_size : 1 + (mean_size - 1) * intraclass(spread);
  return std::floor(std::max(spread.rows / effect, spread.groups));
}

// The value of rank ceil((n + 1) percent / 100) of n; of more values than n, at that share of them.
double ranked(const std::vector<double>& ascending, std::size_t n, std::size_t percent) {
  const std::size_t size = ascending.size();
  const std::size_t rank = (size * (n + 1) * percent + 100 * n - 1) / (100 * n);
  return ascending[std::min(rank, size) - 1];
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

void check(const Trial& trial) {
  TC_CHECK(std::isfinite(trial.residual) && std::isfinite(trial.predicted), "a trial's logarithms");
  TC_CHECK(trial.share > 0 && trial.share <= 1 && trial.time > 0, "a trial's share and time");
  TC_CHECK(trial.distance >= 0, "a trial's distance");
}

double largest_distance(std::span<const Trial> trials) {
  double most = 0;
  for (const Trial& trial : trials) {
    if (std::isfinite(trial.distance)) most = std::max(most, trial.distance);
  }
  return most;
}

}  // namespace

struct Trust::Point {
  double error = 0;
  const Trial* trial = nullptr;
};

void Trust::Band::widen(const Band& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  trials += other.trials;
}

Trust::Trust(const Trials& trials) {
  for (const auto* kind : {&trials.base, &trials.by_class, &trials.by_device}) {
    std::ranges::for_each(*kind, check);
  }
  if (trials.base.empty()) return;
  std::vector<double> distances;
  for (const Trial& trial : trials.base) {
    if (std::isfinite(trial.distance)) distances.push_back(trial.distance);
  }
  if (!distances.empty()) near_ = base::quantile(distances, kNearQuantile);
  far_ = std::max(near_, largest_distance(trials.base));
  decide_weights(trials);
  decide_bands(trials);
}

void Trust::decide_weights(const Trials& trials) {
  weights_.near = best_weight(trials.base, {.up_to = near_});
  weights_.far = best_weight(trials.base, {.above = near_, .up_to = far_, .cap = weights_.near});
  reach_ = {largest_distance(trials.by_class), largest_distance(trials.by_device)};
  weights_.new_class =
      best_weight(trials.by_class, {.up_to = reach_.new_class, .cap = weights_.near, .safe = true});
  weights_.new_device = best_weight(
      trials.by_device, {.up_to = reach_.new_device, .cap = weights_.near, .safe = true});
}

// Of a kernel whose class and device are known.
double Trust::weight_at(double distance) const {
  if (distance <= near_) return weights_.near;
  if (!(distance <= far_)) return 0;
  const double part = (distance - near_) / (far_ - near_);
  return weights_.near + part * (weights_.far - weights_.near);
}

double Trust::weight_of(const Position& position) const {
  if (position.known_class && position.known_device) return weight_at(position.distance);
  double weight = 1;
  const auto limit = [&](bool known, double deserved, double reach) {
    if (!known) weight = std::min(weight, position.distance <= reach ? deserved : 0);
  };
  limit(position.known_class, weights_.new_class, reach_.new_class);
  limit(position.known_device, weights_.new_device, reach_.new_device);
  return weight;
}

// The farthest `count`, or as many as are enough.
std::vector<Trust::Point> Trust::farthest(std::vector<Point> points, std::size_t count) {
  std::ranges::stable_sort(points, std::greater(),
                           [](const Point& p) { return p.trial->distance; });
  for (;;) {
    std::vector<Point> result(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count));
    if (enough(result) || count == points.size()) return result;
    count = std::min(count + count / 2 + 1, points.size());
  }
}

Trust::Band Trust::band_of(std::vector<Point> points) {
  if (points.empty()) return {};
  const auto n = static_cast<std::size_t>(
      effective_number(spread_of(points, [](const Point& p) { return p.trial->group; })));
  std::vector<double> above, below, size;
  for (const Point& point : points) {
    above.push_back(point.error);
    below.push_back(-point.error);
    size.push_back(std::fabs(point.error));
  }
  Band band{.low = 0, .high = 0, .trials = points.size()};
  if (n >= kTwoSided) {
    band.low = -std::clamp(ranked(sorted(below), n, 95), 0.0, kMostLogRatio);
    band.high = std::clamp(ranked(sorted(above), n, 95), 0.0, kMostLogRatio);
    return band;
  }
  const double factor = n <= kFewFactors.size() ? kFewFactors[n - 1] : 1;
  band.high = std::min(factor * ranked(sorted(size), n, 90), kMostLogRatio);
  if (n < kFew) band.high = std::max(band.high, kUnknown);
  band.low = -band.high;
  return band;
}

bool Trust::enough(const std::vector<Point>& points) {
  if (points.size() < kLeastTrials) return false;
  const Spread spread = spread_of(points, [](const Point& p) { return p.trial->group; });
  return effective_number(spread) >= kSymmetric;
}

// Nothing where a wider choice of trials says more.
std::optional<Trust::Band> Trust::trusted_band(std::vector<Point> points) {
  if (!enough(points)) return std::nullopt;
  return band_of(std::move(points));
}

Trust::Bands Trust::bands_of(const std::vector<Point>& points) const {
  Bands bands{.all = band_of(points)};
  std::map<std::string, std::vector<Point>> classes;
  for (const Point& point : points) classes[point.trial->op_class].push_back(point);
  for (const auto& [op_class, of_class] : classes) {
    const std::optional<Band> whole = trusted_band(of_class);
    if (!whole) continue;
    bands.by_class.emplace(op_class, *whole);
    std::array<std::vector<Point>, 2> halves;
    for (const Point& point : of_class) {
      halves[point.trial->time > median_time_.at(op_class) ? 1 : 0].push_back(point);
    }
    const std::optional<Band> short_ = trusted_band(std::move(halves[0]));
    const std::optional<Band> long_ = trusted_band(std::move(halves[1]));
    if (short_ && long_) bands.by_size.emplace(op_class, std::array{*short_, *long_});
  }
  return bands;
}

void Trust::decide_bands(const Trials& trials) {
  std::map<std::string, std::vector<double>> times;
  for (const Trial& trial : trials.base) times[trial.op_class].push_back(trial.time);
  for (auto& [op_class, of_class] : times) {
    median_time_[op_class] = base::median(std::move(of_class));
  }
  std::vector<Point> all, near, physics;
  for (const Trial& trial : trials.base) {
    all.push_back({error_of(trial, weight_at(trial.distance)), &trial});
    if (trial.distance <= near_) near.push_back(all.back());
    physics.push_back({error_of(trial, 0), &trial});
  }
  near_bands_ = far_bands_ = bands_of(enough(near) ? near : all);
  physics_ = band_of(physics);
  if (near.size() < all.size()) far_bands_ = bands_of(farthest(all, all.size() - near.size()));
  const auto band = [](const std::vector<Trial>& held_out, double weight) -> std::optional<Band> {
    if (held_out.empty()) return std::nullopt;
    std::vector<Point> points;
    for (const Trial& trial : held_out) points.push_back({error_of(trial, weight), &trial});
    return band_of(std::move(points));
  };
  new_class_ = band(trials.by_class, weights_.new_class);
  new_device_ = band(trials.by_device, weights_.new_device);
  const Spread families = spread_of(all, [](const Point& p) { return p.trial->family; });
  correlation_ = families.groups < 3 ? 0 : intraclass(families);
}

const Trust::Band& Trust::find(const Bands& bands, const std::string& op_class, double time) const {
  if (const auto sizes = bands.by_size.find(op_class); sizes != bands.by_size.end()) {
    return sizes->second[time > median_time_.at(op_class) ? 1 : 0];
  }
  const auto whole = bands.by_class.find(op_class);
  return whole == bands.by_class.end() ? bands.all : whole->second;
}

Trust::Assessment Trust::assess(const Position& position, const std::string& op_class,
                                double time) const {
  using analytical::Verdict;
  const bool known = position.known_class && position.known_device;
  const bool near = position.distance <= near_, reached = position.distance <= far_;
  const Verdict verdict = !known || !reached ? Verdict::kOut : near ? Verdict::kIn : Verdict::kEdge;
  Band band = find(near_bands_, op_class, time);
  if (verdict != Verdict::kIn) band.widen(find(far_bands_, op_class, time));
  if (verdict == Verdict::kOut) {
    if (physics_) band.widen(*physics_);
    if (!position.known_class) band.widen(new_class_.value_or(Band{}));
    if (!position.known_device) band.widen(new_device_.value_or(Band{}));
  }
  return {weight_of(position), verdict, band.low, band.high};
}

}  // namespace tilecast::hybrid
