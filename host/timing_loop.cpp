#include "host/timing_loop.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/statistics.h"

namespace tilecast::host {
namespace {

constexpr int kMaxVisitsPerVisit = 2;  // limit / TimingOptions::visits, if visits disagree
constexpr int kMaxCallsPerGroup = 1'000'000;
constexpr int kMinWarmUp = 4;          // calls
constexpr Seconds kLongCall{10e-3};    // one call of this length is enough to warm up
constexpr double kMemoryDrift = 0.15;  // beyond it a visit is loud
constexpr Seconds kThrownAway{50e-3};  // limit per visit for groups that are run again
constexpr int kReferenceSteps = 48'000;
constexpr int kReferencePasses = 3;
constexpr std::size_t kReferenceRuns = 100;  // of about 50 visits, i.e. several seconds

// Written by the reference loop to prevent it from being optimised away.
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

}  // namespace

Seconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

Seconds ReferenceLoop::run() {
  Seconds shortest{1e9};
  for (int i = 0; i < kReferencePasses; ++i) {
    const Seconds start = now();
    reference_result = reference_work(reference_result + 1, kReferenceSteps);
    shortest = std::min(shortest, now() - start);
  }
  last_.push_back(shortest);
  if (last_.size() > kReferenceRuns) last_.pop_front();
  return shortest;
}

Seconds ReferenceLoop::usual() const {
  TC_CHECK(!last_.empty(), "the reference loop has run");
  std::vector<Seconds> sorted(last_.begin(), last_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 5];
}

TimedFunction::TimedFunction(KernelFunction function, Arrays arrays, const TimingOptions& options)
    : function_(function), arrays_(std::move(arrays)), options_(options) {}

// Sets calls per group and groups per visit for a call of `call_s`.
void TimedFunction::plan_visit(double call_s) {
  const double fill = std::ceil(options_.group.value / std::max(call_s, 1e-9));
  calls_ = static_cast<int>(std::clamp(fill, 1.0, double{kMaxCallsPerGroup}));
  const double room = options_.groups * options_.group.value / (calls_ * call_s);
  groups_ = std::clamp(static_cast<int>(std::ceil(room)), 1, std::max(options_.groups, 1));
}

// First visit: at least a group's time and a few calls, as the first calls are slow. Later visits:
// half a group, or nothing if that is less than a call.
void TimedFunction::warm_up() {
  if (!visits_.empty()) {
    plan_visit(fastest_s_);
    for (int i = 0; i < calls_ / 2; ++i) arrays_.call(function_);
    return;
  }
  const Seconds start = now();
  Seconds before = start;
  for (int calls = 1;; ++calls) {
    arrays_.call(function_);
    const Seconds after = now(), call = after - before;
    if (calls == 1 || call.value < fastest_s_) fastest_s_ = call.value;
    before = after;
    if (call > kLongCall || (calls >= kMinWarmUp && after - start >= options_.group)) break;
  }
  plan_visit(fastest_s_);
}

double TimedFunction::timed_group() {
  const Seconds start = now();
  for (int i = 0; i < calls_; ++i) arrays_.call(function_);
  return (now() - start).value / calls_;
}

void TimedFunction::visit(ReferenceLoop& reference, double memory_drift) {
  warm_up();
  Visit visit;
  const Seconds before = reference.run();
  Seconds thrown_away;
  while (static_cast<int>(visit.samples_s.size()) < groups_) {
    const long switches = involuntary_switches();
    const double sample_s = timed_group();
    if (involuntary_switches() != switches) {
      thrown_away += Seconds{sample_s * calls_};
      if (thrown_away < kThrownAway) continue;
      visit.loud = true;
    }
    visit.samples_s.push_back(sample_s);
    visit.calls += calls_;
  }
  const Seconds after = reference.run();
  std::sort(visit.samples_s.begin(), visit.samples_s.end());
  fastest_s_ = std::min(fastest_s_, visit.samples_s.front());
  visit.reference = std::min(before, after);
  visit.drift = std::max(0.0, std::max(before, after) / reference.usual() - 1);
  visit.loud = visit.loud || visit.drift > options_.drift || memory_drift > kMemoryDrift;
  visits_.push_back(std::move(visit));
}

// Visits sorted by median, loud ones last.
std::vector<const TimedFunction::Visit*> TimedFunction::quietest_first() const {
  std::vector<const Visit*> order;
  for (const Visit& visit : visits_) order.push_back(&visit);
  std::sort(order.begin(), order.end(), [&](const Visit* a, const Visit* b) {
    if (a->loud != b->loud) return b->loud;
    return base::median(a->samples_s) < base::median(b->samples_s);
  });
  return order;
}

double TimedFunction::disagreement() const {
  if (visits_.size() < 2) return 0;
  const auto order = quietest_first();
  const double first_s = base::median(order[0]->samples_s),
               second_s = base::median(order[1]->samples_s);
  return std::abs(second_s - first_s) / std::min(first_s, second_s);
}

bool TimedFunction::settled() const {
  const auto visits = static_cast<int>(visits_.size());
  const int enough = std::max(options_.visits, 1);
  return visits >= kMaxVisitsPerVisit * enough ||
         (visits >= enough && visits >= 2 && disagreement() <= options_.agree &&
          !quietest_first()[1]->loud);
}

RunOutcome TimedFunction::outcome() const {
  TC_CHECK(!visits_.empty(), "an outcome needs a visit");
  RunOutcome made;
  const auto order = quietest_first();
  std::vector<double> samples_s;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, order.size()); ++i) {
    const auto& more = order[i]->samples_s;
    samples_s.insert(samples_s.end(), more.begin(), more.end());
  }
  std::sort(samples_s.begin(), samples_s.end());
  std::vector<double> deviations_s;
  for (const double sample_s : samples_s) {
    deviations_s.push_back(std::abs(sample_s - base::median(samples_s)));
  }
  std::sort(deviations_s.begin(), deviations_s.end());
  made.timing = {.minimum = Seconds{samples_s.front()},
                 .median = Seconds{base::median(samples_s)},
                 .spread = Seconds{base::median(deviations_s)},
                 .attempts = static_cast<int>(visits_.size()),
                 .drift = order.front()->drift,
                 .reference = order.front()->reference};
  for (const Visit& visit : visits_) {
    made.timing.calls += visit.calls;
    made.timing.minimum = std::min(made.timing.minimum, Seconds{visit.samples_s.front()});
  }
  if (disagreement() > options_.spread) made.status = RunStatus::kUnstable;
  return made;
}

}  // namespace tilecast::host
