// Times one function in groups of calls, over several visits some time apart.
//
// A group is as many calls as fill TimingOptions::group; its time divided by its calls is one
// sample. A group interrupted by an involuntary context switch is discarded and run again. Time
// taken by a hypervisor and interference in shared caches and memory cannot be detected; they last
// from microseconds to seconds. So a function is visited several times, with others in between,
// until two visits agree. No overhead is subtracted: a call costs a few loads and stores per array
// (Probed::call in probe.h measures it).
#pragma once

#include <deque>
#include <vector>

#include "host/run_kernels.h"
#include "host/timing_arrays.h"

namespace tilecast::host {

// A chain of dependent integer operations, about 50 us, the same code in every run. It accesses no
// memory, so its time changes only with the clock frequency and with other users of the core.
class ReferenceLoop {
 public:
  // Runs three passes and returns the shortest.
  Seconds run();
  // Its usual time: a low quantile of recent runs. Not the minimum, which a brief clock boost could
  // set.
  [[nodiscard]] Seconds usual() const;

 private:
  std::deque<Seconds> last_;
};

// CLOCK_MONOTONIC_RAW: not slewed by clock adjustments.
[[nodiscard]] Seconds now();

class TimedFunction {
 public:
  TimedFunction(KernelFunction function, Arrays arrays, const TimingOptions& options);
  // Warms up and times some groups. `memory_drift`: relative slowdown of the preceding pass over
  // memory against the fastest one.
  void visit(ReferenceLoop& reference, double memory_drift = 0);
  // True after enough visits, two of them quiet, if the two quietest agree, or at the visit limit.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] RunOutcome outcome() const;

 private:
  struct Visit {
    int calls = 0;                  // timed calls
    std::vector<double> samples_s;  // per call, one sample per group, ascending
    Seconds reference;
    double drift = 0;
    bool loud = false;  // the clock or memory was slow, or the core was preempted
  };
  void plan_visit(double call_s);
  void warm_up();
  double timed_group();
  [[nodiscard]] std::vector<const Visit*> quietest_first() const;
  // Difference of the medians of the two quietest visits, relative to the smaller.
  [[nodiscard]] double disagreement() const;

  KernelFunction function_;
  Arrays arrays_;
  TimingOptions options_;
  int calls_ = 1, groups_ = 1;  // per visit
  double fastest_s_ = 0;        // per call
  std::vector<Visit> visits_;
};

}  // namespace tilecast::host
