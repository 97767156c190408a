// Interface for timing programs: this machine (search/host_hardware.h), a command
// (search/command_hardware.h), a measurement set (search/set_hardware.h), or a caller's own.
//
//   std::vector<HardwareTime> times = hardware.time(jobs);
//
// Programs are measured one at a time; a batch only allows preparing them together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/hlo.h"
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

}  // namespace tilecast::search
