#include "sim/cli/hardware_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/error.h"
#include "search/command_hardware.h"
#include "search/host_hardware.h"
#include "search/set_hardware.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<search::Hardware> make_hardware(const HardwareArguments& arguments,
                                                const hwdesc::Device& device, int jobs) {
  const Seconds timeout{seconds_of(arguments.timeout, "--timeout")};
  const int asked = (arguments.machine == "host" ? 1 : 0) + (arguments.command.empty() ? 0 : 1) +
                    (arguments.set.empty() ? 0 : 1);
  if (asked > 1) throw UsageError("--hardware, --measure and --from: expected one of them");
  if (arguments.machine == "host") {
    return search::host_hardware(device,
                                 {.core = arguments.core, .timeout = timeout, .jobs = jobs});
  }
  if (!arguments.command.empty()) {
    return std::make_unique<search::CommandHardware>(search::Command{arguments.command, timeout});
  }
  if (arguments.set.empty()) return nullptr;
  return std::make_unique<search::SetHardware>(
      measured::make_samples(measured::read_measurement_set(arguments.set), device,
                             {.check_physics = false, .jobs = jobs}),
      device);
}

void add_hardware_options(CLI::App& verb, HardwareArguments& arguments) {
  verb.add_option("--hardware", arguments.machine,
                  "what runs programs: none, or host (this machine, by generated C)")
      ->check(CLI::IsMember({"none", "host"}))
      ->capture_default_str();
  verb.add_option("--measure", arguments.command,
                  "shell command that runs a program instead and prints its time; {hlo} and "
                  "{tiles} are replaced by files")
      ->type_name("COMMAND");
  verb.add_option("--from", arguments.set,
                  "measurement set of kernels instead: a program takes what they took")
      ->type_name("SET");
  verb.add_option("--hardware-budget", arguments.budget,
                  "compiling and timing stop after this long")
      ->type_name("TIME")
      ->capture_default_str();
  verb.add_option("--timeout", arguments.timeout, "of one run")
      ->type_name("TIME")
      ->capture_default_str();
  add_output_file(verb, "--journal", arguments.journal,
                  "CSV of what was timed; a search that was broken off goes on from it");
  verb.add_option("--core", arguments.core, "core to measure on; -1: the last one allowed")
      ->check(CLI::Range(-1, 4095))
      ->capture_default_str();
}

}  // namespace tilecast::sim::cli
