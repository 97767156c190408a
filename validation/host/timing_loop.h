// Times one function: groups of calls, again where the machine was not quiet.
//
// A group is as many calls as fill TimingOptions::group; its time over its calls is one sample. A
// group during which the system took the core away (an involuntary context switch) is thrown away
// and run again. What the hypervisor takes is not counted anywhere; it shows as a long group, which
// minimum and median pass over, or in the reference loop. Nothing is subtracted: a call costs two
// or three loads and stores per array beside the function (probe.h's `call` is the whole of it).
#pragma once

#include <functional>

#include "validation/host/run_kernels.h"
#include "validation/host/timing_arrays.h"

namespace tilecast::host {

// A chain of dependent integer operations, about 50 us, compiled here and the same in every run: it
// needs no memory, so its time changes only with the clock and with who shares the core.
class ReferenceLoop {
 public:
  // The shortest of three passes.
  Seconds run();
  // The shortest so far.
  [[nodiscard]] Seconds best() const { return best_; }

 private:
  Seconds best_{0};
};

// CLOCK_MONOTONIC_RAW: not slewed by clock adjustments.
[[nodiscard]] Seconds now();

// Calls `starts()` before each of at most three attempts.
[[nodiscard]] RunOutcome time_function(KernelFunction function, Arrays& arrays,
                                       const TimingOptions& options, ReferenceLoop& reference,
                                       const std::function<void()>& starts);

}  // namespace tilecast::host
