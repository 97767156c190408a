#include <CLI/CLI.hpp>

#include "analytical/layout_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/kernel_list.h"
#include "sim/memory.h"

namespace tilecast::sim::cli {
namespace {

struct KernelsArguments {
  std::string file;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
  bool memory = false;
};

void run(const KernelsArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const ir::LoadedModule loaded = ir::load_module(arguments.file, load);
  const ir::DeviceProgram built =
      devices.empty() ? ir::program_as_dumped(loaded, load)
                      : ir::program_for(loaded, analytical::layout_rules(devices.front()), load);
  if (arguments.memory) {
    write_rows(arguments.output, memory_list(built.program, arguments.file), "tilecast.memory/1");
    return;
  }
  write_rows(arguments.output, kernel_list(built.program, arguments.file), "tilecast.kernels/1");
}

}  // namespace

void add_kernels(CLI::App& app) {
  auto arguments = std::make_shared<KernelsArguments>();
  CLI::App& verb = *app.add_subcommand("kernels", "the kernels of a program and their work");
  verb.add_option("program", arguments->file, "file of the program")->required()->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOptional);
  add_load_options(verb, arguments->load);
  verb.add_flag("--memory", arguments->memory,
                "instead: the arrays in device memory at its peak, largest first");
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      "Work is per launch, counted as XLA does (a multiply-add is 2 FLOPs; -1: unknown). With\n"
      "--device, arrays are laid out (padded_bytes) as that device stores them.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
