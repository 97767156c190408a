// Events of one line of a device plane, in the order of the file, into times of what they show.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "measured/importers/time_samples.h"
#include "measured/importers/xplane_names.h"

namespace tilecast::measured {

struct XplaneEvent {
  std::int64_t start_ps = 0, duration_ps = 0;  // >= 0, and their sum is no overflow
  std::int64_t count = 1;                      // occurrences it stands for
  std::uint32_t kind = 0;
  std::uint32_t instruction = 0, module = 0;  // what the event itself names; 0: nothing
  std::optional<std::uint64_t> program;

  [[nodiscard]] std::int64_t end_ps() const { return start_ps + duration_ps; }
};

// Splits the time of ops that nest: each keeps what the ops inside it do not take. Events may be
// out of order by up to kWindow of them; one that is further back begins a new sequence.
class SelfTimes {
 public:
  static constexpr std::size_t kWindow = std::size_t{1} << 17;
  using Emit = std::function<void(const XplaneEvent&, std::int64_t self_ps)>;

  explicit SelfTimes(Emit emit) : emit_(std::move(emit)) {}
  void add(const XplaneEvent& event);
  void finish();

 private:
  struct Open {
    XplaneEvent event;
    std::int64_t inside_ps = 0;
  };
  void drain(std::size_t count);
  void nest(const XplaneEvent& event);
  void close();

  Emit emit_;
  std::vector<XplaneEvent> window_;
  std::vector<Open> open_;
  std::int64_t last_start_ = 0;
};

// One program as events name it; the module's name is 0 where they give only a number.
struct XplaneRunKey {
  std::uint64_t program = 0;
  std::uint32_t module = 0;
  auto operator<=>(const XplaneRunKey&) const = default;
};

struct XplaneTally {
  struct Instruction {
    TimeSamples times;
    std::uint32_t kind = 0;
  };
  struct Program {
    TimeSamples runs;
    std::unordered_map<std::uint32_t, Instruction> instructions, transfers;
  };
  std::map<XplaneRunKey, Program> programs;
  std::map<std::uint32_t, TimeSamples> nameless;  // name -> kernels of no instruction
  TimeSamples steps;
  double device_ps = 0, host_transfers_ps = 0;

  void add(const XplaneRunKey& program, std::uint32_t instruction, const XplaneEvent& event,
           double picoseconds);
};

// Kernels of a GPU stream: consecutive ones of one instruction are one occurrence of it (until the
// kernel that began it is launched again), consecutive ones of one program one run (until the
// instruction that began it comes again).
class StreamKernels {
 public:
  explicit StreamKernels(XplaneTally& tally) : tally_(tally) {}
  void add(const XplaneEvent& event);
  void finish();

 private:
  void end_occurrence();
  void end_run();

  XplaneTally& tally_;
  XplaneRunKey program_;
  bool running_ = false, occurring_ = false;
  std::uint32_t first_instruction_ = 0;
  XplaneEvent first_kernel_;        // of the occurrence
  std::int64_t occurrence_ps_ = 0;  // its kernels so far
  std::int64_t run_start_ = 0, run_end_ = 0;
};

}  // namespace tilecast::measured
