// A measuring session: kernels and tiles to C, compiled with all cores, timed on one, rows on disk.
//
//   GrowingSet set("my_machine", manifest, settings);
//   SessionReport report = measure(plan_work(sources, device), set, this_machine(), options);
//
// Works in batches: while it compiles nothing is timed, and while it times nothing compiles. Rows
// are on disk every few kernels. What the set holds already is passed over, so a
// session that was stopped resumes where it was. What cannot be measured is kept with its reason:
//   unsupported      the generator cannot write it as C
//   compile error    the compiler refused it, or took too long
//   crash, time-out  of the kernel; only its child process ends
//   unstable         its times did not agree, nor when it was tried once more after all others
//   too long         predicted longer than SessionOptions::longest
//   not readable     its HLO text does not read back as the same kernel
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

// What a session needs of the machine; tests give their own.
struct Bench {
  using Generated = std::variant<CKernel, Unsupported>;
  using Done = std::function<bool(std::size_t, const RunOutcome&)>;
  std::string machine;   // the processor, as the system calls it
  std::string compiler;  // name, version, flags
  std::function<Generated(const ir::Kernel&, const analytical::TileConfig&, const std::string&)>
      generate;
  std::function<std::vector<Compilation>(std::span<const std::string>, int)> compile;
  std::function<std::vector<Compilation>(std::span<const LinkedSource>, int)> link;
  std::function<void(const std::string&, std::span<const RunJob>, const TimingOptions&,
                     const Done&)>
      run;
  std::function<Seconds()> now;  // of a clock that never goes back
};
// The system's compiler and this processor. Throws Error when there is no compiler.
[[nodiscard]] Bench this_machine();

struct SessionOptions {
  TimingOptions timing;
  int jobs = 2;  // compilers at once
  std::optional<Seconds> budget;
  Seconds longest{0.1};
  std::size_t kernels_per_file = 16;
};

struct SessionEvents {
  std::function<bool()> stop = [] { return false; };  // asked after every kernel
  // Items of the plan that are settled, and the budget that is left.
  std::function<void(std::size_t, std::optional<Seconds>)> progress = [](std::size_t,
                                                                         std::optional<Seconds>) {};
};

enum class SessionEnd { kFinished, kOutOfTime, kStopped };

struct SessionReport {
  SessionEnd end = SessionEnd::kFinished;
  std::size_t planned = 0;                     // items of the plan
  std::size_t known = 0;                       // measured or skipped by sessions before
  std::size_t measured = 0;                    // rows of this session
  std::size_t unstable_once = 0;               // not settled: a later session tries them again
  std::map<std::string, std::size_t> skipped;  // by reason, of this session
  Seconds generating, compiling, timing;       // of this session
};

[[nodiscard]] SessionReport measure(std::span<const WorkItem> plan, const hwdesc::Device& device,
                                    GrowingSet& set, const Bench& bench,
                                    const SessionOptions& options = {},
                                    const SessionEvents& events = {});

// How the times of a set were got, for its manifest.
[[nodiscard]] std::string how_timed(const TimingOptions& options);

}  // namespace tilecast::host
