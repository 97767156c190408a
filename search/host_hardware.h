// This machine as hardware of a search.
//
//   HostHardware here(device, host::this_machine(), timing, jobs);
#pragma once

#include "host/program_bench.h"
#include "search/hardware.h"

namespace tilecast::search {

// This machine, by generated C (host/program_bench.h): the fastest run.
class HostHardware final : public Hardware {
 public:
  // The device chooses tiles where a job does not; it outlives this.
  HostHardware(const hwdesc::Device& device, host::Bench bench, const host::TimingOptions& timing,
               int jobs)
      : generate_(bench.generate), bench_(device, std::move(bench), timing), jobs_(jobs) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;
  [[nodiscard]] bool can_cut(const ir::Kernel& kernel,
                             const analytical::TileConfig& tile) const override;

 private:
  host::Generate generate_;
  host::ProgramBench bench_;
  int jobs_;
};

}  // namespace tilecast::search
