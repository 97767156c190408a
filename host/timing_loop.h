// Times one function: groups of calls, at visits some time apart.
//
// A group is as many calls as fill TimingOptions::group; its time over its calls is one sample. A
// group during which the system took the core away (an involuntary context switch) is thrown away
// and run again. What a hypervisor takes, and what others do to shared caches and memory, is
// counted nowhere; it lasts from microseconds to seconds. So a function is visited several times
// with others between, until two visits agree. Nothing is subtracted: a call costs a few loads and
// stores per array beside the function (probe.h's `call` is the whole of it).
#pragma once

#include <deque>
#include <vector>

#include "host/run_kernels.h"
#include "host/timing_arrays.h"

namespace tilecast::host {

// A chain of dependent integer operations, about 50 us, compiled here and the same in every run: it
// needs no memory, so its time changes only with the clock and with who shares the core.
class ReferenceLoop {
 public:
  // The shortest of three passes.
  Seconds run();
  // What it usually takes: a low quantile of the last runs. Not the shortest ever, for a moment of
  // a faster clock is no measure of the rest.
  [[nodiscard]] Seconds usual() const;

 private:
  std::deque<Seconds> last_;
};

// CLOCK_MONOTONIC_RAW: not slewed by clock adjustments.
[[nodiscard]] Seconds now();

class TimedFunction {
 public:
  TimedFunction(KernelFunction function, Arrays arrays, const TimingOptions& options);
  // Warms up and times some groups. `memory_drift`: how much slower than ever a pass over memory
  // just was, relative.
  void visit(ReferenceLoop& reference, double memory_drift = 0);
  // Enough visits, two of them quiet, and the two quietest agree; or as many as are allowed.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] RunOutcome outcome() const;

 private:
  struct Visit {
    int calls = 0;                  // timed
    std::vector<double> samples_s;  // of one call, a sample a group, ascending
    Seconds reference;
    double drift = 0;
    bool loud = false;  // the clock or memory had slowed, or the core was taken away
  };
  void plan_visit(double call_s);
  void warm_up();
  double timed_group();
  [[nodiscard]] std::vector<const Visit*> quietest_first() const;
  // Between the medians of the two quietest visits, relative to the smaller.
  [[nodiscard]] double disagreement() const;

  KernelFunction function_;
  Arrays arrays_;
  TimingOptions options_;
  int calls_ = 1, groups_ = 1;  // of a visit
  double fastest_s_ = 0;        // call
  std::vector<Visit> visits_;
};

}  // namespace tilecast::host
