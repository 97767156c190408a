// Reads device times from a Chrome / Perfetto trace (JSON, plain or gzip): sums the events (`ph` X,
// or pairs of B and E) of the lanes where the profilers of JAX and XLA record HLO instructions, by
// instruction. Memory grows with the number of distinct names, not of events.
//
// A device is a process named /device:... Of its lanes (threads), "XLA Ops" is used or, if there is
// none, all lanes that are not summaries ("Steps", "XLA Modules" ...). If a trace has no such
// process (like Tilecast's own), all its lanes are used. The instruction is args.hlo_op, else the
// name at the start of args.long_name ("%fusion.3 = ..."), else the event's name. The time is
// args.device_duration_ps, else `dur` (us), divided by args.launches if an event stands for several
// launches. Programs with the same name are distinguished by args.program_id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/units.h"
#include "measured/importers/importer.h"

namespace tilecast::measured {

// Times of an instruction or a module.
struct TraceTimes {
  double occurrences = 0;
  Seconds total;
  Seconds spread;  // standard deviation over occurrences; 0 if unknown

  [[nodiscard]] Seconds mean() const { return total / occurrences; }
};

struct TraceSummary {
  std::map<std::string, TraceTimes> instructions;  // all devices together
  std::map<std::string, TraceTimes> modules;  // from lanes "XLA Modules", names without run ids
  std::vector<std::string> lanes;             // lanes used: "/device:TPU:0 XLA Ops"
  bool found_devices = false;                 // false: all lanes were used
  bool is_kineto = false;                     // written by PyTorch's profiler
};

struct TraceOptions {
  std::string module;  // ignore events of other modules (args.hlo_module)
  bool keep_going = false;
  std::function<void(double)> progress = [](double) {};
};

// Bad events and ignored events are counted in `report`. Throws Error.
[[nodiscard]] TraceSummary read_traces(const std::vector<std::string>& files,
                                       const TraceOptions& options, ImportReport& report);

}  // namespace tilecast::measured
