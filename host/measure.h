// A measuring session: kernels with tiles are written as C, compiled in parallel, timed on one core
// and stored as rows of a measurement set.
//
//   GrowingSet set("my_machine", manifest, settings);
//   SessionReport report = measure(plan_work(sources, device), set, this_machine(), options);
//
// Works in batches; compiling and timing never overlap. Rows are written to disk every few kernels.
// Items that the set already has are skipped, so a stopped session can resume. Items that cannot be
// measured are recorded with a reason:
//   unsupported      the generator does not support it
//   compile error    the compiler refused it, or took too long
//   crash, time-out  the kernel crashed or overran in its child process
//   unstable         its times did not agree, also when retried after all others
//   too long         predicted longer than SessionOptions::longest
//   not readable     parsing its HLO text does not give the same kernel
// Not thread-safe (forks).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/measure_plan.h"
#include "host/measure_set.h"
#include "host/run_kernels.h"
#include "hwdesc/device.h"

namespace tilecast::host {

// What a session needs from the machine; replaceable in tests.
struct Bench {
  using Generated = std::variant<CKernel, Unsupported>;
  using Done = std::function<bool(std::size_t, const RunOutcome&)>;
  std::string machine;   // the processor's name as the system reports it
  std::string compiler;  // name, version, flags
  std::function<Generated(const ir::Kernel&, const analytical::TileConfig&, const std::string&)>
      generate;
  std::function<std::vector<Compilation>(std::span<const std::string>, int)> compile;
  std::function<std::vector<Compilation>(std::span<const LinkedSource>, int)> link;
  std::function<void(const std::string&, std::span<const RunJob>, const TimingOptions&,
                     const Done&)>
      run;
  std::function<Seconds()> now;  // from a monotonic clock
};
// The system's compiler and this processor. Throws Error if there is no compiler.
[[nodiscard]] Bench this_machine();

struct SessionOptions {
  TimingOptions timing;
  int jobs = 2;  // compilers at once
  std::optional<Seconds> budget;
  Seconds longest{0.1};
  std::size_t kernels_per_file = 16;
};

struct SessionEvents {
  std::function<bool()> stop = [] { return false; };  // called after every kernel
  // Receives the number of finished plan items and the remaining budget.
  std::function<void(std::size_t, std::optional<Seconds>)> progress = [](std::size_t,
                                                                         std::optional<Seconds>) {};
};

enum class SessionEnd { kFinished, kOutOfTime, kStopped };

struct SessionReport {
  SessionEnd end = SessionEnd::kFinished;
  std::size_t planned = 0;                     // items of the plan
  std::size_t known = 0;                       // measured or skipped by earlier sessions
  std::size_t measured = 0;                    // new rows of this session
  std::size_t unstable_once = 0;               // not final: a later session retries them
  std::map<std::string, std::size_t> skipped;  // in this session, by reason
  Seconds generating, compiling, timing;       // of this session
};

[[nodiscard]] SessionReport measure(std::span<const WorkItem> plan, const hwdesc::Device& device,
                                    GrowingSet& set, const Bench& bench,
                                    const SessionOptions& options = {},
                                    const SessionEvents& events = {});

// Description of the timing method, for a set's manifest.
[[nodiscard]] std::string how_timed(const TimingOptions& options);

}  // namespace tilecast::host
