#include "host/program_bench.h"
#include "ir/canonical_hash.h"
#include "search/hardware.h"

namespace tilecast::search {
namespace {

class HostHardware final : public Hardware {
 public:
  HostHardware(const hwdesc::Device& device, host::Bench bench, const HostHardwareOptions& options)
      : generate_(bench.generate),
        bench_(device, std::move(bench), {.core = options.core, .timeout = options.timeout}),
        jobs_(options.jobs) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;
  [[nodiscard]] bool can_cut(const ir::Kernel& kernel,
                             const analytical::TileConfig& tile) const override;

 private:
  host::Generate generate_;
  host::ProgramBench bench_;
  int jobs_;
};

std::vector<HardwareTime> HostHardware::time(std::span<const HardwareJob> jobs) {
  std::vector<host::BenchProgram> programs;
  for (const HardwareJob& job : jobs) {
    programs.push_back({job.name, job.module});
    if (job.tiles.empty()) continue;
    programs.back().tile =
        [&job](const ir::Kernel& kernel) -> std::optional<analytical::TileConfig> {
      const auto found = job.tiles.find(ir::canonical_hash(kernel));
      return found == job.tiles.end() ? std::nullopt : std::optional(found->second);
    };
  }
  std::vector<HardwareTime> times;
  for (host::ProgramRun& run : bench_.run(programs, jobs_)) {
    HardwareTime time{.failure = std::move(run.failure)};
    if (run.timing) time.seconds = run.timing->minimum.value;
    times.push_back(std::move(time));
  }
  return times;
}

bool HostHardware::can_cut(const ir::Kernel& kernel, const analytical::TileConfig& tile) const {
  return !std::holds_alternative<host::Unsupported>(generate_(kernel, tile, "f"));
}

}  // namespace

std::unique_ptr<Hardware> host_hardware(const hwdesc::Device& device,
                                        const HostHardwareOptions& options) {
  return std::make_unique<HostHardware>(device, host::this_machine(), options);
}

}  // namespace tilecast::search
