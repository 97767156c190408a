#include "search/host_hardware.h"

namespace tilecast::search {

std::vector<HardwareTime> HostHardware::time(std::span<const ir::Module> programs) {
  std::vector<HardwareTime> times;
  for (host::ProgramRun& run : bench_.run(programs, jobs_)) {
    HardwareTime time{.failure = std::move(run.failure)};
    if (run.timing) time.seconds = run.timing->minimum.value;
    times.push_back(std::move(time));
  }
  return times;
}

}  // namespace tilecast::search
