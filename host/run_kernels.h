// Runs functions of compiled libraries in a child process and times them reliably.
//
//   run_kernels(library.path(), jobs, {.state = CacheState::kCold},
//               [&](std::size_t i, const RunOutcome& outcome) { keep(i, outcome); return true; });
//
// The child is pinned to one core. A function is warmed up, then called in groups long enough for
// the clock's resolution. It is visited several times, with other functions in between, until two
// visits agree, because disturbance of caches and memory by other processes can last for seconds.
// Use the minimum over all visits (Kaufman et al., MLSys 2021, section 4: the minimum of three
// runs); the median is over the two quietest visits. Cold: successive calls use different copies of
// the arrays, rotating over several times the last-level cache. Warm: every call uses the same
// arrays (timing_arrays.h). A reference loop of known work runs around every visit and, for cold, a
// pass over memory before it. If either was slow, the visit is marked loud, is used last for the
// median, and another visit follows. If a function crashes or overruns, only its child ends; a new
// child continues with the next function.
//
// A child fills its arrays once, which takes a tenth of a second or more, so pass many jobs per
// call. Jobs are visited in turn within chunks of 32 and reported when their chunk is done, at 30
// to 50 ms per job. Not thread-safe (forks).
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
  std::string library;  // with the function; empty: the argument of run_kernels()
};

enum class CacheState { kCold, kWarm };

struct TimingOptions {
  CacheState state = CacheState::kCold;
  int core = -1;         // -1: the last core the process may run on
  int visits = 3;        // minimum; up to twice as many until two agree
  int groups = 6;        // timed groups per visit; fewer if one call takes longer than a group
  Seconds group{5e-4};   // minimum duration of a group (at least one call)
  Seconds timeout{10};   // per visit, warm-up included
  double drift = 0.04;   // limit for the reference loop: visits beyond it are used last
  double agree = 0.02;   // stop once the medians of the two quietest visits differ by less
  double spread = 0.05;  // the same after all visits; kUnstable if exceeded
};

struct Timing {
  Seconds minimum;         // per call, over all visits
  Seconds median, spread;  // over the two quietest visits; spread: median absolute deviation
  int calls = 0;           // timed, in all visits
  int attempts = 1;        // visits
  double drift = 0;        // relative slowdown of the reference loop around the quietest visit
  Seconds reference;       // the reference loop's time then; compares runs on one machine
};

enum class RunStatus { kTimed, kCrashed, kTimedOut, kUnstable };
// Reason without a reliable time: "crash", "time-out", "unstable"; empty for kTimed.
[[nodiscard]] std::string_view reason(RunStatus status);
struct RunOutcome {
  RunStatus status = RunStatus::kTimed;
  Timing timing;        // of the best attempt if kUnstable
  std::string message;  // "killed by SIGSEGV", ...
};

// Calls `done(i, outcome)` in the order of `jobs` until it returns false.
void run_kernels(const std::string& library, std::span<const RunJob> jobs,
                 const TimingOptions& options,
                 const std::function<bool(std::size_t, const RunOutcome&)>& done);

// Runs a generated function once on given bytes, in arrays surrounded by guard pages.

// Calls the function in a child process and returns the bytes of its outputs. Throws Error if it
// crashes, writes beyond its arrays or takes longer than `timeout`.
[[nodiscard]] std::vector<std::vector<std::byte>> run_once(
    const std::string& library, const RunJob& job, std::span<const std::vector<std::byte>> inputs,
    Seconds timeout = Seconds{10});

}  // namespace tilecast::host
