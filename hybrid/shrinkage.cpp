#include "hybrid/shrinkage.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "measured/samples.h"

namespace tilecast::hybrid {
namespace {

struct Gain {
  double mean = 0, error = 0;  // error: standard error over units
  std::size_t units = 0;
};

double shrunk(double c, const Opinion& said) {
  if (c == kPhysicsAlone) return 0;
  const double square = said.mean * said.mean;
  const double noise = c * said.deviation * said.deviation;
  return square + noise > 0 ? square / (square + noise) : 0;
}

constexpr std::string_view kBoundBy = " bound by ";

std::string_view class_of(std::string_view kind) {
  return kind.substr(0, kind.find(kBoundBy));
}

// Gain over physics in mean absolute log error, for the kind or class `of`; "": for all.
Gain gain_of(std::span<const Trial> trials, double c, std::string_view of = {}) {
  struct Unit {
    double gain = 0, rows = 0;
  };
  std::map<std::uint32_t, Unit> units;
  for (const Trial& trial : trials) {
    if (!of.empty() && trial.kind != of && class_of(trial.kind) != of) continue;
    const double correction = shrunk(c, trial.said) * trial.said.mean;
    Unit& unit = units[trial.unit];
    unit.gain += std::abs(whole_error(trial, 0)) - std::abs(whole_error(trial, correction));
    unit.rows += 1;
  }
  Gain gain{.units = units.size()};
  const auto n = static_cast<double>(units.size());
  for (const auto& [number, unit] : units) gain.mean += unit.gain / unit.rows / n;
  double squares = 0;
  for (const auto& [number, unit] : units) {
    const double off = unit.gain / unit.rows - gain.mean;
    squares += off * off;
  }
  gain.error = n > 1 ? std::sqrt(squares / (n - 1) / n) : kPhysicsAlone;
  return gain;
}

// Whether trials of the kind gained; with fewer than kLeastUnits groups, those of its class
// suffice.
bool gains(std::span<const Trial> trials, double c, std::string_view kind) {
  const Gain own = gain_of(trials, c, kind);
  if (own.mean <= 0 || own.units >= kLeastUnits) return own.mean > 0;
  const Gain of_class = gain_of(trials, c, class_of(kind));
  return of_class.mean > 0 && of_class.units >= kLeastUnits;
}

}  // namespace

BoundKind bound_kind(analytical::Bound bound) {
  using analytical::Bound;
  switch (bound) {
    case Bound::kHbmRead:
    case Bound::kHbmWrite:
    case Bound::kOnChip:
      return BoundKind::kMemory;
    case Bound::kMatrix:
      return BoundKind::kMatrix;
    case Bound::kVector:
    case Bound::kTranscendental:
    case Bound::kCrossLane:
    case Bound::kIssue:
      return BoundKind::kUnits;
    default:
      return BoundKind::kLatency;
  }
}

std::string kind_of(const ir::Kernel& kernel, const analytical::Estimate& estimate) {
  const auto bound = static_cast<std::size_t>(bound_kind(estimate.bound));
  return measured::op_class(kernel) + std::string(kBoundBy) + std::string(kBoundKinds[bound]);
}

double Shrinkage::weight(const Opinion& said, std::string_view kind) const {
  if (c == kPhysicsAlone || !kinds.contains(kind)) return 0;
  return shrunk(c, said);
}

Shrinkage safer(const Shrinkage& a, const Shrinkage& b) {
  Shrinkage rule{.c = std::max(a.c, b.c)};
  std::ranges::set_intersection(a.kinds, b.kinds, std::inserter(rule.kinds, rule.kinds.end()));
  return rule;
}

std::size_t count_units(std::span<const Trial> trials) {
  std::set<std::uint32_t> units;
  for (const Trial& trial : trials) units.insert(trial.unit);
  return units.size();
}

Shrinkage choose_shrinkage(std::span<const Trial> trials) {
  Shrinkage rule;
  double best = 0;
  for (const double c : kFactors) {
    const Gain gain = gain_of(trials, c);
    if (gain.units < kLeastUnits || gain.mean - gain.error <= best) continue;
    best = gain.mean - gain.error;
    rule.c = c;
  }
  if (rule.c == kPhysicsAlone) return rule;
  std::set<std::string> kinds;
  for (const Trial& trial : trials) kinds.insert(trial.kind);
  for (const std::string& kind : kinds) {
    if (gains(trials, rule.c, kind)) rule.kinds.insert(kind);
  }
  return rule;
}

double whole_error(const Trial& trial, double correction) {
  return std::log1p(trial.share * std::expm1(correction - trial.residual));
}

}  // namespace tilecast::hybrid
