// The hardware on which `tune fusion` and `tune program` run programs.
#pragma once

#include <memory>
#include <string>

#include "hwdesc/device.h"
#include "search/hardware.h"

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

struct HardwareArguments {
  std::string machine = "none", command, set;  // at most one of the three
  std::string budget = "60 s", timeout = "60 s", journal;
  int core = -1;

  [[nodiscard]] bool any() const { return machine != "none" || !command.empty() || !set.empty(); }
};
void add_hardware_options(CLI::App& verb, HardwareArguments& arguments);

// Null if no hardware is requested. The device must outlive the result. Throws Error.
[[nodiscard]] std::unique_ptr<search::Hardware> make_hardware(const HardwareArguments& arguments,
                                                              const hwdesc::Device& device,
                                                              int jobs);
// Seconds on a monotonic clock.
[[nodiscard]] double now_s();

}  // namespace tilecast::sim::cli
