// Runs functions of a compiled library in a child process and times them so that the numbers can be
// trusted.
//
// The child is pinned to one core. A function is warmed up, then called in groups long enough for
// the clock; minimum and median over the groups are kept (Kaufman et al., MLSys 2021, section 4:
// the minimum of three runs). Cold: every call reads and writes other copies of its arrays, in
// rotation over more memory than the last-level cache holds; warm: the same arrays each time. A
// reference loop of known work runs between kernels: where its time has moved, the clock has, and
// the kernel is measured again. A function that crashes or overruns ends only its child; the next
// child goes on after it. Not thread-safe (forks).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/units.h"
#include "ir/shape.h"

namespace tilecast::host {

struct RunJob {
  std::string function;
  std::vector<ir::Shape> inputs, outputs;  // dense, host_bytes() each
  std::int64_t scratch_bytes = 0;
};

enum class CacheState { kCold, kWarm };

struct TimingOptions {
  CacheState state = CacheState::kCold;
  int core = -1;         // -1: the last one the process may run on
  int groups = 5;        // timed groups of calls, at least 3
  Seconds group{1e-3};   // a group's least duration (at least one call)
  Seconds timeout{10};   // of one function, warm-up included
  double drift = 0.02;   // of the reference loop, before a kernel is measured again
  double spread = 0.05;  // (median - minimum) / minimum, the same; at most 3 attempts
};

struct Timing {
  Seconds minimum, median, spread;  // of one call; spread: median absolute deviation
  int calls = 0;                    // timed
  int attempts = 1;
  double drift = 0;   // of the reference loop around it, relative to its fastest so far
  Seconds reference;  // of the reference loop around it: comparable between runs on one machine
};

enum class RunStatus { kTimed, kCrashed, kTimedOut, kUnstable };
struct RunOutcome {
  RunStatus status = RunStatus::kTimed;
  Timing timing;        // kUnstable: the best attempt
  std::string message;  // "killed by SIGSEGV", ...
};

// Calls `done(i, outcome)` in the order of `jobs`. Returning false from it stops.
void run_kernels(const std::string& library, std::span<const RunJob> jobs,
                 const TimingOptions& options,
                 const std::function<bool(std::size_t, const RunOutcome&)>& done);

// One call on the bytes given, in a child; the bytes of the outputs. Throws Error when it crashes
// or takes longer than `timeout`.
[[nodiscard]] std::vector<std::vector<std::byte>> run_once(
    const std::string& library, const RunJob& job, std::span<const std::vector<std::byte>> inputs,
    Seconds timeout = Seconds{10});

}  // namespace tilecast::host
