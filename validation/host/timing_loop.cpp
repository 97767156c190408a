#include "validation/host/timing_loop.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tilecast::host {
namespace {

constexpr int kMaxAttempts = 3;
constexpr int kMinGroups = 3;
constexpr int kMaxCallsPerGroup = 1'000'000;
constexpr Seconds kLongCall{20e-3};  // beyond it: one call a group, the fewest groups
constexpr int kReferenceSteps = 48'000;

// Written by the reference loop, so that it is not optimised away.
volatile std::uint64_t reference_result;

__attribute__((noinline)) std::uint64_t reference_work(std::uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x *= 0x9E3779B97F4A7C15ULL;
    x ^= x >> 29;
  }
  return x;
}

long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Timing summary(const std::vector<double>& samples_s, int calls) {
  Timing timing;
  const double middle = median(samples_s);
  std::vector<double> deviations;
  for (const double sample : samples_s) deviations.push_back(std::abs(sample - middle));
  timing.minimum = Seconds{*std::min_element(samples_s.begin(), samples_s.end())};
  timing.median = Seconds{middle};
  timing.spread = Seconds{median(deviations)};
  timing.calls = calls;
  return timing;
}

class Attempts {
 public:
  Attempts(KernelFunction function, Arrays& arrays, const TimingOptions& options)
      : function_(function), arrays_(arrays), options_(options) {}

  // Calls until a group's time has passed; decides how many calls a group has.
  void warm_up() {
    const Seconds start = now();
    Seconds before = start, shortest{1e9};
    do {
      arrays_.call(function_);
      const Seconds after = now();
      shortest = std::min(shortest, after - before);
      before = after;
    } while (before - start < options_.group);
    const double fill = std::ceil(options_.group.value / std::max(shortest.value, 1e-9));
    calls_ = static_cast<int>(std::clamp(fill, 1.0, double{kMaxCallsPerGroup}));
    groups_ = std::max(options_.groups, kMinGroups);
    if (shortest > kLongCall) groups_ = kMinGroups;
  }

  Timing attempt() {
    std::vector<double> samples_s;
    int thrown_away = 0;
    while (static_cast<int>(samples_s.size()) < groups_) {
      const long switches = involuntary_switches();
      const Seconds start = now();
      for (int i = 0; i < calls_; ++i) arrays_.call(function_);
      const Seconds time = now() - start;
      if (involuntary_switches() != switches && thrown_away < 2 * groups_) {
        ++thrown_away;
        continue;
      }
      samples_s.push_back(time.value / calls_);
    }
    return summary(samples_s, calls_ * groups_);
  }

 private:
  KernelFunction function_;
  Arrays& arrays_;
  const TimingOptions& options_;
  int calls_ = 1, groups_ = kMinGroups;
};

}  // namespace

Seconds ReferenceLoop::run() {
  Seconds shortest{1e9};
  for (int i = 0; i < 3; ++i) {
    const Seconds start = now();
    reference_result = reference_work(reference_result + 1, kReferenceSteps);
    shortest = std::min(shortest, now() - start);
  }
  best_ = best_.value == 0 ? shortest : std::min(best_, shortest);
  return shortest;
}

Seconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

RunOutcome time_function(KernelFunction function, Arrays& arrays, const TimingOptions& options,
                         ReferenceLoop& reference, const std::function<void()>& starts) {
  RunOutcome outcome;
  Attempts attempts(function, arrays, options);
  Timing best;
  bool quiet = false;
  for (int i = 1; i <= kMaxAttempts && !quiet; ++i) {
    starts();
    if (i == 1) attempts.warm_up();
    const Seconds before = reference.run();
    Timing timing = attempts.attempt();
    const Seconds after = reference.run();
    timing.reference = std::min(before, after);
    timing.drift = std::max(before, after) / reference.best() - 1;
    timing.attempts = i;
    const bool narrow = (timing.median - timing.minimum) / timing.minimum <= options.spread;
    quiet = narrow && timing.drift <= options.drift;
    if (i == 1 || quiet || timing.median < best.median) best = timing;
    best.attempts = i;
    if (narrow) outcome.status = RunStatus::kTimed;
    if (!narrow && i == 1) outcome.status = RunStatus::kUnstable;
  }
  outcome.timing = best;
  return outcome;
}

}  // namespace tilecast::host
