// What times whole programs: this machine, a command, anything a caller has.
//
//   HostHardware here(device, host::this_machine(), timing, jobs);
//   std::vector<HardwareTime> times = here.time(modules);
//
// One machine measures one program at a time; a batch is for what can be prepared together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/program_bench.h"
#include "ir/hlo.h"

namespace tilecast::search {

struct HardwareTime {
  std::optional<double> seconds;  // nothing: it failed
  std::string failure = {};       // why: crash, wrong result, not supported ...
};

class Hardware {
 public:
  virtual ~Hardware() = default;
  // One time per program, in their order. All are the same program, fused differently; the first
  // ever timed says what the results must be. Not thread-safe.
  [[nodiscard]] virtual std::vector<HardwareTime> time(std::span<const ir::Module> programs) = 0;
};

// This machine, by generated C (host/program_bench.h): the fastest run.
class HostHardware final : public Hardware {
 public:
  // The device chooses tiles; it outlives this.
  HostHardware(const hwdesc::Device& device, host::Bench bench, const host::TimingOptions& timing,
               int jobs)
      : bench_(device, std::move(bench), timing), jobs_(jobs) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const ir::Module> programs) override;

 private:
  host::ProgramBench bench_;
  int jobs_;
};

}  // namespace tilecast::search
