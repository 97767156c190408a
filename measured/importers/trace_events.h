// What a Chrome / Perfetto trace (JSON, plain or gzip) says about the time on devices: complete
// events (`ph` X; B and E) of the lanes where a profiler of JAX or XLA puts HLO instructions, added
// up by instruction. Memory grows with distinct names, not with events.
//
// A device is a process called /device:...; of its lanes (threads) the one called "XLA Ops" counts,
// or without it all that are not summaries ("Steps", "XLA Modules" ...). A trace without such
// processes (one of ours) counts with all its lanes. The instruction is args.hlo_op, else the name
// that starts args.long_name ("%fusion.3 = ..."), else the event's name. A time is
// args.device_duration_ps, else `dur` (us), over args.launches where an event stands for several.
// Programs of one name are told apart by args.program_id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/units.h"
#include "measured/importers/importer.h"

namespace tilecast::measured {

// Times of one instruction, or of one module.
struct TraceTimes {
  double occurrences = 0;
  Seconds total;
  Seconds spread;  // standard deviation over occurrences; 0 where events cannot be told apart

  [[nodiscard]] Seconds mean() const { return total / occurrences; }
};

struct TraceSummary {
  std::map<std::string, TraceTimes> instructions;  // all devices together
  std::map<std::string, TraceTimes> modules;       // of lanes "XLA Modules", without run ids
  std::vector<std::string> lanes;                  // what counted: "/device:TPU:0 XLA Ops"
  bool found_devices = false;                      // false: every lane counted
  bool is_kineto = false;                          // of PyTorch's profiler
};

struct TraceOptions {
  std::string module;  // events of other modules (args.hlo_module) are left out
  bool keep_going = false;
  std::function<void(double)> progress = [](double) {};
};

// Bad events and events of other modules go into `report`. Throws Error.
[[nodiscard]] TraceSummary read_traces(const std::vector<std::string>& files,
                                       const TraceOptions& options, ImportReport& report);

}  // namespace tilecast::measured
