#include "sim/sensitivity.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "sim/answers.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/views/sensitivity.h"

namespace tilecast::sim::cli {
namespace {

struct SensitivityArguments {
  std::string file, model;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
  std::size_t top = 20;
  int jobs = 1;
};

std::string run_sensitivity(const SensitivityArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const hwdesc::DeviceSource source(arguments.device.names.front(),
                                    device_overrides(arguments.device.set));
  const hwdesc::Device device = source.with({});
  const ChosenModel model = choose_model(arguments.model, {&device, 1});
  Sensitivity result = sensitivity(ir::load_module(arguments.file, load), load, source,
                                   *model.model, {.jobs = arguments.jobs});
  result.model = model.name;
  if (arguments.output.format == "json") return views::sensitivity_json(result);
  if (arguments.output.format == "csv") return views::sensitivity_csv(result);
  return views::sensitivity_text(result, arguments.top);
}

}  // namespace

void add_sensitivity(CLI::App& app) {
  auto arguments = std::make_shared<SensitivityArguments>();
  CLI::App& verb = *app.add_subcommand(
      "sensitivity", "how much each number of a description matters; what limits next");
  verb.add_option("program", arguments->file, "file of the program")->required()->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_model_option(verb, arguments->model);
  add_top_option(verb, arguments->top, "numbers in the table, by effect");
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  add_jobs_option(verb, arguments->jobs);
  verb.callback([arguments] { write(arguments->output, run_sensitivity(*arguments)); });
}

}  // namespace tilecast::sim::cli
