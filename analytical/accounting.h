// Splits the time of a kernel over the resources it waits for: which one binds it, and which would
// bind next if that one were free. Shared by all machine models. A removed resource takes no time.
// Pure functions; all times in seconds.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analytical/estimate.h"
#include "analytical/pipeline.h"

namespace tilecast::analytical {

constexpr std::size_t index_of(Bound bound) {
  return static_cast<std::size_t>(bound);
}

using BoundMask = std::uint32_t;  // one bit per Bound: the removed resources
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
  PerBound bound_time{};  // time the kernel waits for each resource; sums to total_s
  double total_s = 0;
  double read_bytes = 0, write_bytes = 0;  // main memory
  // Bytes between memory[i + 1] and the level inside it. 0: same as the bytes arriving from
  // outside.
  std::array<double, kInnerLevels> inner_bytes{};
  double iterations = 1;

  // Adds `times` iterations of a loop. `busy_once`: busy time per resource in one iteration;
  // `paths`: the resources that move its data. The part of the period in which no resource is busy
  // is latency.
  void add_periods(const PipelineLoop& loop, const PerBound& busy_once, double times,
                   std::span<const Bound> paths);
  // As add_periods(), without latency: for iterations that wait for no load.
  void add_occupied(const PipelineLoop& loop, const PerBound& busy_once, double times,
                    std::span<const Bound> paths);
  // Adds time that overlaps with nothing: launches, pipeline fill and drain.
  void add_alone(Bound bound, double seconds);
  // Appends a kernel that runs after this one as part of the same operation.
  Accounting& operator+=(const Accounting& next);
};

// Resources that move data: main memory alone, or with a cache that all workers share.
inline constexpr Bound kMemoryPaths[] = {Bound::kHbmRead, Bound::kHbmWrite};
inline constexpr Bound kCachedPaths[] = {Bound::kHbmRead, Bound::kHbmWrite, Bound::kOnChip};

// Accounting of a machine without overlap: the parts add up.
[[nodiscard]] Accounting sum_of_parts(const PerBound& parts, BoundMask removed);

// The resource the kernel waits for longest, among those not removed.
[[nodiscard]] Bound binding(const Accounting& accounting, BoundMask removed = 0);
// Accounts for one kernel with the `removed` resources taking no time.
using AccountingOf = std::function<Accounting(BoundMask removed)>;
// Builds the estimate: time, busy times, bytes and iterations; `bound` is the resource whose
// removal saves most time, `next_bound` what the kernel then waits for longest.
[[nodiscard]] Estimate explained(const AccountingOf& account);

// A way to run a kernel other than by tiles. `name`: a flag of its estimate; "": none.
struct Algorithm {
  std::string name;
  AccountingOf account;
};
[[nodiscard]] Estimate explained(const Algorithm& algorithm);

// Contribution of each resource to the time of a kernel: its Shapley value ("A Value for n-Person
// Games", 1953), the mean growth of the time when it is added to a machine on which everything else
// is free, over all orders. They sum to the time; resources that are busy at the same time share
// what they add (Estimate::bound gives it to the longer one alone). 2^n evaluations for n
// resources.

// v of the players whose bits are set.
using CoalitionValue = std::function<double(std::uint32_t players)>;
// One value per player, at most 20 players. Evaluates each coalition once.
[[nodiscard]] std::vector<double> shapley_values(std::size_t players, const CoalitionValue& value);

// Seconds per resource; they sum to the time. 0 for a resource without work.
[[nodiscard]] PerBound attributed_time(const AccountingOf& account);

}  // namespace tilecast::analytical
