#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/parallel.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::cli {
namespace {

struct SimulateArguments {
  std::vector<std::string> files;
  DeviceOptions device;
  LoadArguments load;
  TileArguments tiles;
  OutputOptions output;
  std::string unknown_op = "error", model;
  std::size_t top = views::TableOptions{}.top;
  bool all = false;
  int jobs = 1;
};

Simulation simulate_one(ir::LoadedModule loaded, const hwdesc::Device& device,
                        const ChosenModel& model, const SimulateArguments& arguments,
                        const ir::LoadOptions& load) {
  const UnknownOp unknown = arguments.unknown_op == "skip" ? UnknownOp::kSkip : UnknownOp::kError;
  const SimulateOptions options{
      .unknown_op = unknown, .contents = arguments.output.format == "json", .jobs = load.jobs};
  Simulation run = simulate(place(std::move(loaded), device, load), model, options);
  const std::vector<ir::Note> changes = override_notes(arguments.device);
  run.notes.insert(run.notes.end(), changes.begin(), changes.end());
  return run;
}

constexpr std::size_t kMostListed = 20;  // files of a folder that are skipped

// The files to read; for a folder, its modules after optimisation.
std::vector<std::string> program_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const ir::ModuleFiles found = ir::module_files(path);
    files.insert(files.end(), found.files.begin(), found.files.end());
    const std::size_t left_out = found.others.size();
    if (left_out == 0) continue;
    tell(fmt::format("note: {}: {} modules simulated, {} other files left out:", path,
                     found.files.size(), left_out));
    for (std::size_t i = 0; i < std::min(left_out, kMostListed); ++i) {
      tell(fmt::format("  {}", found.others[i]));
    }
    if (left_out > kMostListed) tell(fmt::format("  ... {} more", left_out - kMostListed));
  }
  return files;
}

// Every program on every device, programs outermost.
std::vector<Simulation> simulate_all(const SimulateArguments& arguments) {
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  ir::LoadOptions load = load_options(arguments.load);
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, devices);
  const std::vector<std::string> files = program_files(arguments.files);
  std::vector<ir::LoadedModule> modules(files.size());
  base::parallel_for(modules.size(), arguments.jobs,
                     [&](std::size_t i) { modules[i] = ir::load_module(files[i], load); });
  std::vector<Simulation> runs(modules.size() * devices.size());
  load.jobs = std::max(1, arguments.jobs / static_cast<int>(std::max<std::size_t>(1, runs.size())));
  Progress progress("simulated", runs.size());
  base::parallel_for(runs.size(), arguments.jobs, [&](std::size_t i) {
    ir::LoadedModule& module = modules[i / devices.size()];
    runs[i] = simulate_one(devices.size() == 1 ? std::move(module) : module,
                           devices[i % devices.size()], model, arguments, load);
    progress.step();
  });
  return runs;
}

std::string report(const std::vector<Simulation>& runs, const SimulateArguments& arguments) {
  if (arguments.output.format == "json") return views::json(runs);
  if (arguments.output.format == "csv") return views::csv(runs);
  if (arguments.output.format == "trace") return views::trace(runs);
  if (runs.size() > 1) return views::comparison(runs, arguments.device.names.size());
  return views::table(runs.front(),
                      {.top = arguments.all ? runs.front().kernels.size() : arguments.top});
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App& verb = *app.add_subcommand("simulate", "how long a program runs on a device, and why");
  verb.add_option("program", arguments->files, "files of programs, or folders that XLA dumped into")
      ->required()
      ->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOneOrMore);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "json", "csv", "trace"});
  add_model_option(verb, arguments->model);
  add_tile_options(verb, arguments->tiles);
  verb.add_option("--unknown-op", arguments->unknown_op,
                  "kernels without a model: error, or skip (no time, and the report says so)")
      ->check(CLI::IsMember({"error", "skip"}))
      ->capture_default_str();
  add_top_option(verb, arguments->top, "kernels in the table, by total time");
  verb.add_flag("--all", arguments->all, "all kernels in the table");
  add_jobs_option(verb, arguments->jobs);
  verb.callback(
      [arguments] { write(arguments->output, report(simulate_all(*arguments), *arguments)); });
}

}  // namespace tilecast::sim::cli
