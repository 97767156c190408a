#include "search/host_hardware.h"

#include "ir/canonical_hash.h"

namespace tilecast::search {

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

}  // namespace tilecast::search
