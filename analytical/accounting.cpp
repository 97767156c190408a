#include "analytical/accounting.h"

#include <algorithm>
#include <bit>

#include "analytical/estimate.h"
#include "base/error.h"

namespace tilecast::analytical {
namespace {

constexpr double kAlike = 1e-9;  // relative: savings closer than this are equal

constexpr Bound kUnitBounds[] = {Bound::kMatrix, Bound::kVector, Bound::kTranscendental,
                                 Bound::kCrossLane, Bound::kOnChip};

Bound busiest(const PerBound& busy, std::span<const Bound> among) {
  return *std::max_element(among.begin(), among.end(),
                           [&](Bound a, Bound b) { return busy[index_of(a)] < busy[index_of(b)]; });
}

struct Freed {
  Bound bound = Bound::kOverhead;
  Accounting without;
};

// Upper bound on the time that removing each resource saves: its busy time. For a unit also at most
// the time waited for all units, because bound_time assigns a whole iteration to one of them.
PerBound most_saved(const Accounting& all) {
  double waited = 0;
  for (const Bound unit : kUnitBounds) waited += all.bound_time[index_of(unit)];
  PerBound most = all.busy;
  for (const Bound unit : kUnitBounds) {
    if (unit == Bound::kOnChip) continue;  // also moves data
    most[index_of(unit)] = std::min(most[index_of(unit)], waited);
  }
  return most;
}

// The resource whose removal saves most time; on a tie, the one the kernel waits for longest.
Freed most_saving(const AccountingOf& account, const Accounting& all) {
  Freed best{.bound = binding(all)};
  best.without = account(mask_of(best.bound));
  PerBound most = most_saved(all);
  most[index_of(best.bound)] = 0;
  for (;;) {
    const auto next = std::ranges::max_element(most);
    const double saved = all.total_s - best.without.total_s;
    if (*next <= saved * (1 + kAlike)) return best;
    *next = 0;
    const auto bound = static_cast<Bound>(next - most.begin());
    Accounting without = account(mask_of(bound));
    if (all.total_s - without.total_s > saved * (1 + kAlike)) best = {bound, without};
  }
}

}  // namespace

void Accounting::add_periods(const PipelineLoop& loop, const PerBound& busy_once, double times,
                             std::span<const Bound> paths) {
  add_occupied(loop, busy_once, times, paths);
  add_alone(Bound::kLatency, times * (steady_period_s(loop) - resource_bound_s(loop)));
}

void Accounting::add_occupied(const PipelineLoop& loop, const PerBound& busy_once, double times,
                              std::span<const Bound> paths) {
  for (std::size_t b = 0; b < kBoundCount; ++b) busy[b] += times * busy_once[b];
  if (loop.path_s >= loop.core_s) {
    bound_time[index_of(busiest(busy_once, paths))] += times * loop.path_s;
    return;
  }
  double use_s = loop.core_s;
  for (const Bound beside :
       {Bound::kIssue, Bound::kOverhead, Bound::kLatency}) {  // one after the other
    use_s -= busy_once[index_of(beside)];
    bound_time[index_of(beside)] += times * busy_once[index_of(beside)];
  }
  bound_time[index_of(busiest(busy_once, kUnitBounds))] += times * use_s;
}

void Accounting::add_alone(Bound bound, double seconds) {
  busy[index_of(bound)] += seconds;
  bound_time[index_of(bound)] += seconds;
}

Accounting& Accounting::operator+=(const Accounting& next) {
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    busy[b] += next.busy[b];
    bound_time[b] += next.bound_time[b];
  }
  total_s += next.total_s;
  read_bytes += next.read_bytes;
  write_bytes += next.write_bytes;
  for (std::size_t i = 0; i < kInnerLevels; ++i) inner_bytes[i] += next.inner_bytes[i];
  return *this;
}

Accounting sum_of_parts(const PerBound& parts, BoundMask removed) {
  Accounting sum;
  for (const double part : parts) sum.total_s += part;
  sum.busy = parts;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    if (!has(removed, static_cast<Bound>(b))) continue;
    sum.total_s -= parts[b];
    sum.busy[b] = 0;
  }
  sum.bound_time = sum.busy;
  return sum;
}

Bound binding(const Accounting& accounting, BoundMask removed) {
  PerBound candidates = accounting.bound_time;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    if (has(removed, static_cast<Bound>(b))) candidates[b] = -1;
  }
  const auto longest = std::max_element(candidates.begin(), candidates.end());
  return static_cast<Bound>(longest - candidates.begin());
}

Estimate explained(const AccountingOf& account) {
  const Accounting all = account(0);
  const auto [bound, without] = most_saving(account, all);
  Estimate estimate;
  estimate.time = Seconds{all.total_s};
  for (std::size_t b = 0; b < kBoundCount; ++b) estimate.bounds[b] = Seconds{all.busy[b]};
  estimate.bound = bound;
  estimate.next_bound = binding(without, mask_of(estimate.bound));
  estimate.next_time = Seconds{without.total_s};
  estimate.hbm_read = Bytes{all.read_bytes};
  estimate.hbm_write = Bytes{all.write_bytes};
  for (std::size_t i = 0; i < kInnerLevels; ++i) {
    estimate.inner_bytes[i] = Bytes{all.inner_bytes[i]};
  }
  estimate.iterations = all.iterations;
  return estimate;
}

Estimate explained(const Algorithm& algorithm) {
  Estimate estimate = explained(algorithm.account);
  if (!algorithm.name.empty()) estimate.flags.push_back(algorithm.name);
  return estimate;
}

std::vector<double> shapley_values(std::size_t players, const CoalitionValue& value) {
  constexpr std::size_t kMostPlayers = 20;
  TC_CHECK(players <= kMostPlayers, "too many players to try all orders");
  std::vector<double> values(std::size_t{1} << players);
  for (std::uint32_t s = 0; s < values.size(); ++s) values[s] = value(s);
  const auto n = static_cast<double>(players);
  std::vector<double> share(players);  // weight of a coalition of this size, without the player
  for (std::size_t size = 0; size < players; ++size) {  // size! (n - size - 1)! / n!
    const auto s = static_cast<double>(size);
    share[size] = size == 0 ? 1 / n : share[size - 1] * s / (n - s);
  }
  std::vector<double> result(players);
  for (std::size_t player = 0; player < players; ++player) {
    const std::uint32_t bit = std::uint32_t{1} << player;
    for (std::uint32_t s = 0; s < values.size(); ++s) {
      if ((s & bit) != 0) continue;
      result[player] +=
          share[static_cast<std::size_t>(std::popcount(s))] * (values[s | bit] - values[s]);
    }
  }
  return result;
}

PerBound attributed_time(const AccountingOf& account) {
  const Accounting all = account(0);
  std::vector<Bound> players;  // latency may be hidden until other resources are free
  BoundMask idle = 0;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    const auto bound = static_cast<Bound>(b);
    const bool works = all.busy[b] > 0 || account(mask_of(bound)).total_s != all.total_s;
    if (works || bound == Bound::kLatency) {
      players.push_back(bound);
    } else {
      idle |= mask_of(bound);
    }
  }
  const std::vector<double> values = shapley_values(players.size(), [&](std::uint32_t present) {
    BoundMask removed = idle;
    for (std::size_t p = 0; p < players.size(); ++p) {
      if ((present >> p & 1U) == 0) removed |= mask_of(players[p]);
    }
    return account(removed).total_s;
  });
  PerBound seconds{};
  for (std::size_t p = 0; p < players.size(); ++p) seconds[index_of(players[p])] = values[p];
  return seconds;
}

std::string_view name(Bound bound) {
  static constexpr std::array<std::string_view, kBoundCount> kNames = {
      "hbm_read", "hbm_write", "matrix", "vector",  "transcendental", "cross_lane",
      "on_chip",  "network",   "issue",  "latency", "fill_drain",     "overhead"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::string_view name(Verdict verdict) {
  static constexpr std::array<std::string_view, 3> kNames = {"in", "edge", "out"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace tilecast::analytical
