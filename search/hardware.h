// What times whole programs: this machine (search/host_hardware.h), or what a caller has.
//
//   std::vector<HardwareTime> times = hardware.time(modules);
//
// One machine measures one program at a time; a batch is for what can be prepared together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

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

}  // namespace tilecast::search
