// What times programs: this machine (search/host_hardware.h), a command
// (search/command_hardware.h), or what a caller has.
//
//   std::vector<HardwareTime> times = hardware.time(jobs);
//
// One machine measures one program at a time; a batch is for what can be prepared together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/hlo.h"
#include "search/tile_choice.h"

namespace tilecast::search {

// A program as it is to run: also a kernel alone is one.
struct HardwareJob {
  std::string name;        // of what is computed: jobs of one name must give equal results
  ir::Module module;       // fused
  TileChoices tiles = {};  // of its kernels; the others are cut as the hardware does by itself
};

struct HardwareTime {
  std::optional<double> seconds;  // nothing: it failed
  std::string failure = {};       // why: crash, wrong result, not supported ...
};

class Hardware {
 public:
  virtual ~Hardware() = default;
  // One time per job, in their order. Of jobs of one name that follow each other the first ever
  // timed says what the results must be. Not thread-safe.
  [[nodiscard]] virtual std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) = 0;
  // Whether it can cut the kernel so.
  [[nodiscard]] virtual bool can_cut(const ir::Kernel& kernel,
                                     const analytical::TileConfig& tile) const {
    static_cast<void>(kernel);
    static_cast<void>(tile);
    return true;
  }
};

}  // namespace tilecast::search
