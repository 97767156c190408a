// Runs functions of compiled libraries in a child process and times them so that the numbers can be
// trusted.
//
//   run_kernels(library.path(), jobs, {.state = CacheState::kCold},
//               [&](std::size_t i, const RunOutcome& outcome) { keep(i, outcome); return true; });
//
// The child is pinned to one core. A function is warmed up, then called in groups long enough for
// the clock, at several visits with other functions in between, until two visits agree: what a
// neighbour does to caches and memory lasts up to seconds, and one sitting would not see it.
// The minimum over all visits is the number to use (Kaufman et al., MLSys 2021, section 4: the
// minimum of three runs); the median is of the two quietest. Cold: every call reads and writes
// other copies of its arrays, in rotation over several times the last-level cache; warm: the same
// arrays each time (timing_arrays.h). A reference loop of known work runs around every visit and,
// cold, a pass over memory before it: where either was slow, the visit is loud, another one
// follows, and it counts last. A function that crashes or overruns ends only its child; the next
// child continues after it.
//
// A child fills its arrays once, a tenth of a second or more: give many jobs at a time. Jobs are
// visited in turn by chunks of 32 and reported when their chunk is done, 30 to 50 ms a job. Not
// thread-safe (forks).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"
#include "ir/shape.h"

namespace tilecast::host {

struct RunJob {
  std::string function;
  std::vector<ir::Shape> inputs, outputs;  // dense, host_bytes() each
  std::int64_t scratch_bytes = 0;
  std::string library;  // that has the function; empty: the one given beside the jobs
};

enum class CacheState { kCold, kWarm };

struct TimingOptions {
  CacheState state = CacheState::kCold;
  int core = -1;         // -1: the last one the process may run on
  int visits = 3;        // at least; up to twice as many until two agree
  int groups = 6;        // timed groups of calls in a visit; fewer where a call fills several
  Seconds group{5e-4};   // a group's least duration (at least one call)
  Seconds timeout{10};   // of one visit, warm-up included
  double drift = 0.04;   // of the reference loop: a visit that drifted more is the last to be used
  double agree = 0.02;   // between the medians of the two quietest visits: no more are needed
  double spread = 0.05;  // the same after all visits: beyond it the function is kUnstable
};

struct Timing {
  Seconds minimum;         // of one call, over all visits
  Seconds median, spread;  // over the two quietest visits; spread: median absolute deviation
  int calls = 0;           // timed, in all visits
  int attempts = 1;        // visits
  double drift = 0;        // of the reference loop around the quietest visit, over what is usual
  Seconds reference;       // the reference loop then: comparable between runs on one machine
};

enum class RunStatus { kTimed, kCrashed, kTimedOut, kUnstable };
// Why there is no time that can be trusted: "crash", "time-out", "unstable"; empty for kTimed.
[[nodiscard]] std::string_view reason(RunStatus status);
struct RunOutcome {
  RunStatus status = RunStatus::kTimed;
  Timing timing;        // kUnstable: the best attempt
  std::string message;  // "killed by SIGSEGV", ...
};

// Calls `done(i, outcome)` in the order of `jobs`. Returning false from it stops.
void run_kernels(const std::string& library, std::span<const RunJob> jobs,
                 const TimingOptions& options,
                 const std::function<bool(std::size_t, const RunOutcome&)>& done);

}  // namespace tilecast::host
