// Hardware that times programs for a search: this machine, a command, a measurement set, or a
// caller's own.
//
//   std::unique_ptr<Hardware> here = host_hardware(device, {.jobs = 2});
//   CommandHardware there({"ssh board run {hlo} {tiles}", Seconds{60}});
//   SetHardware known(set, device);
//   std::vector<HardwareTime> times = here->time(jobs);
//
// Programs are measured one at a time; a batch only allows preparing them together.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hwdesc/device.h"
#include "ir/hlo.h"
#include "measured/samples.h"
#include "search/tile_choice.h"

namespace tilecast::search {

// A program to run, possibly a single kernel.
struct HardwareJob {
  std::string name;   // name of the computation: jobs with the same name must give equal results
  ir::Module module;  // fused
  TileChoices tiles = {};  // of its kernels; the hardware chooses the others
};

struct HardwareTime {
  std::optional<double> seconds;  // nullopt: failed
  std::string failure = {};       // crash, wrong result, not supported ...
};

class Hardware {
 public:
  virtual ~Hardware() = default;
  // One time per job, in order. Among consecutive jobs of one name, the first one timed is the
  // reference for results. Not thread-safe.
  [[nodiscard]] virtual std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) = 0;
  // Whether it can run the kernel with this tile.
  [[nodiscard]] virtual bool can_cut(const ir::Kernel& kernel,
                                     const analytical::TileConfig& tile) const {
    static_cast<void>(kernel);
    static_cast<void>(tile);
    return true;
  }
};

// This machine: programs are written as C, compiled, checked and timed (host/program_bench.h).
// Reports the minimum time.
struct HostHardwareOptions {
  int core = -1;        // core to measure on; -1: the last one the process may run on
  Seconds timeout{60};  // per visit
  int jobs = 1;         // compilers at once
};

// Tiles that a job does not give are chosen for `device`, which must outlive the result. Throws
// Error if there is no C compiler.
[[nodiscard]] std::unique_ptr<Hardware> host_hardware(const hwdesc::Device& device,
                                                      const HostHardwareOptions& options = {});

// A shell command, for example on another machine. The answer is the last line of its output that
// is a time ("12.3 us", or a number of seconds). The command must check results itself and fail if
// they are wrong.
struct Command {
  std::string text;
  Seconds timeout;
};
// Runs the command once. `placeholders`: text to replace and its replacement, e.g. {"{tile}",
// "out=2x26"}. A failure reports how the command ended and the end of its output.
using Placeholders = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] HardwareTime time_by(const Command& command, const Placeholders& placeholders);

// {hlo} and {tiles} are replaced by file names: the fused program as HLO text, and its tiles as
// written by search::text_of().
class CommandHardware final : public Hardware {
 public:
  explicit CommandHardware(Command command) : command_(std::move(command)) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;

 private:
  Command command_;
};

// A measurement set: a program's time is the sum of its kernels' times, looked up by canonical hash
// (ir/canonical_hash.h) and tile. A program with a kernel that is not in the set fails.
// Deterministic, for comparing searches.
class SetHardware final : public Hardware {
 public:
  // Programs are laid out for `device`, which must outlive this. If a kernel and tile were measured
  // more than once, the fastest time is used.
  SetHardware(const measured::SampleSet& set, const hwdesc::Device& device);
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;
  [[nodiscard]] bool can_cut(const ir::Kernel& kernel,
                             const analytical::TileConfig& tile) const override;

 private:
  // Seconds; nullopt: not in the set.
  [[nodiscard]] std::optional<double> find(const ir::Kernel& kernel,
                                           const analytical::TileConfig& tile) const;
  [[nodiscard]] HardwareTime time(const HardwareJob& job) const;

  const hwdesc::Device& device_;
  std::map<std::pair<std::string, std::string>, double> seconds_;  // by hash and tile
};

}  // namespace tilecast::search
