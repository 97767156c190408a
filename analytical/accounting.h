// Where the time of a kernel goes, what binds it and what would bind next, for all machines alike.
// A resource that is taken away takes no time. Pure functions; all times in seconds.
#pragma once

#include <functional>
#include <span>

#include "analytical/estimate.h"
#include "analytical/pipeline.h"

namespace tilecast::analytical {

constexpr std::size_t index_of(Bound bound) {
  return static_cast<std::size_t>(bound);
}

using BoundMask = std::uint32_t;  // bit per Bound: the resources taken away
constexpr BoundMask mask_of(Bound bound) {
  return BoundMask{1} << index_of(bound);
}
constexpr bool has(BoundMask mask, Bound bound) {
  return (mask & mask_of(bound)) != 0;
}
constexpr double kept_s(BoundMask removed, Bound bound, double seconds) {
  return has(removed, bound) ? 0 : seconds;
}

using PerBound = std::array<double, kBoundCount>;  // seconds

struct Accounting {
  PerBound busy{};        // as Estimate::bounds
  PerBound bound_time{};  // time for which the kernel waits for each resource: adds up to total_s
  double total_s = 0;
  double read_bytes = 0, write_bytes = 0;  // of main memory
  // Between memory[i + 1] and what is inside of it; 0: as much as comes from outside.
  std::array<double, kInnerLevels> inner_bytes{};
  double iterations = 1;

  // `times` periods of a loop; `busy_once`: each resource in one of them, of which `paths` move the
  // data. What the period is longer than its resources are busy is latency.
  void add_periods(const PipelineLoop& loop, const PerBound& busy_once, double times,
                   std::span<const Bound> paths);
  // The same without latency: iterations that wait for no load.
  void add_occupied(const PipelineLoop& loop, const PerBound& busy_once, double times,
                    std::span<const Bound> paths);
  // Time in which nothing else happens: launches, filling, draining.
  void add_alone(Bound bound, double seconds);
  // A kernel that runs after this one, as part of the same operation.
  Accounting& operator+=(const Accounting& next);
};

// The ways of data: main memory alone, and with a cache that all workers share.
inline constexpr Bound kMemoryPaths[] = {Bound::kHbmRead, Bound::kHbmWrite};
inline constexpr Bound kCachedPaths[] = {Bound::kHbmRead, Bound::kHbmWrite, Bound::kOnChip};

// Of a machine that does one thing after the other.
[[nodiscard]] Accounting sum_of_parts(const PerBound& parts, BoundMask removed);

// What a kernel waits for longest, of what is not removed.
[[nodiscard]] Bound binding(const Accounting& accounting, BoundMask removed = 0);
// Of one kernel, with what is removed.
using AccountingOf = std::function<Accounting(BoundMask removed)>;
// Time, bounds, what binds (without which most time is saved) and what would next, bytes and
// iterations.
[[nodiscard]] Estimate explained(const AccountingOf& account);

}  // namespace tilecast::analytical
