#include "sim/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/archive.h"
#include "base/error.h"
#include "measured/importers/importer.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/profiles.h"
#include "sim/cli/progress.h"
#include "sim/compare_inputs.h"
#include "sim/compare_profile.h"
#include "sim/views/compare.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  std::vector<std::string> inputs, measured, traces, modules, models, where;
  DeviceOptions devices;
  LoadArguments load;
  OutputOptions output;
  CompareOptions compare;
  std::size_t top = views::CompareTableOptions{}.top;
  bool all = false, doubted = false;
  int jobs = 1;
};

// Names sides by what differs between them: the model, the device, or both.
std::vector<ModelColumn> model_columns(const std::vector<std::string>& models,
                                       const std::vector<hwdesc::Device>& devices) {
  std::vector<ModelColumn> columns;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    for (const std::string& model : models) {
      const std::string& on = devices[device].name;
      const std::string name = devices.size() == 1  ? model
                               : models.size() == 1 ? on
                                                    : fmt::format("{} {}", model, on);
      columns.push_back(model_column(name, model, devices, device));
    }
  }
  return columns;
}

std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    if (std::ranges::find(result, name) == result.end()) result.push_back(name);
  }
  return result;
}

std::vector<CellFilter> cell_filters(const std::vector<std::string>& texts) {
  std::vector<CellFilter> filters;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError(
          fmt::format("--where: got '{}', expected column=value; example: split=test", text));
    }
    filters.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return filters;
}

// Imports the traces as a measurement set of the program; notes list what did not match.
std::string import_traces(const CompareArguments& arguments, const TemporaryFolder& folder,
                          std::vector<std::string>& notes) {
  if (arguments.inputs.size() != 1) {
    throw UsageError("--trace: times one program; expected one HLO file");
  }
  const std::string set = (folder.path() / "trace").string();
  measured::ImportOptions options;
  options.output = set;
  options.device = arguments.devices.names.front();
  const measured::ImportReport report = measured::import_trace(
      {.traces = arguments.traces, .module = arguments.inputs.front(), .manifest = {}}, options);
  for (const auto& [reason, count] : report.left_out) {
    notes.push_back(fmt::format("trace: {} left out: {}", count, reason));
  }
  for (const std::string& note : report.notes) notes.push_back("trace: " + note);
  return set;
}

bool are_sets(const CompareArguments& arguments) {
  const auto is_set = [](const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored) || base::is_archive(path);
  };
  const auto folders = std::ranges::count_if(arguments.inputs, is_set);
  if (folders == 0 && !arguments.where.empty()) {
    throw UsageError("--where: chooses rows of measurements; expected folders of them");
  }
  if (folders == 0) return false;
  if (static_cast<std::size_t>(folders) < arguments.inputs.size()) {
    throw UsageError(
        "got programs and folders of measurements, expected one kind; --measured SET joins "
        "programs with measurements");
  }
  if (!arguments.measured.empty() || !arguments.traces.empty()) {
    throw UsageError(
        "--measured, --trace: the rows are a set of measurements already; expected programs (HLO "
        "files)");
  }
  return true;
}

CompareSetup make_setup(const CompareArguments& arguments) {
  if (arguments.devices.names.empty()) {
    throw UsageError("--device is required; only profiles say what they ran on");
  }
  CompareSetup setup;
  setup.devices = load_devices(arguments.devices);
  setup.columns = model_columns(arguments.models.empty() ? std::vector<std::string>{kDefaultModel}
                                                         : distinct(arguments.models),
                                setup.devices);
  setup.load = load_options(arguments.load);
  setup.check_physics = !arguments.doubted;
  setup.where = cell_filters(arguments.where);
  setup.jobs = arguments.jobs;
  return setup;
}

Comparison sets_or_programs(const CompareArguments& arguments, CompareSetup& setup) {
  const bool sets = are_sets(arguments);
  if (!arguments.modules.empty()) throw UsageError("--module: expected a profile (*.xplane.pb)");
  Progress progress("compared", arguments.inputs.size() * setup.columns.size());
  setup.step = [&progress] { progress.step(); };
  if (sets) return compare_sets(arguments.inputs, setup);
  std::vector<std::string> measured = arguments.measured, notes;
  std::optional<TemporaryFolder> folder;
  if (!arguments.traces.empty()) {
    measured.push_back(import_traces(arguments, folder.emplace(), notes));
  }
  Comparison inputs = compare_programs(arguments.inputs, measured, setup);
  inputs.notes.insert(inputs.notes.end(), notes.begin(), notes.end());
  return inputs;
}

// Uses the profile's own device if the user names none.
Comparison profile_comparison(CompareArguments& arguments, CompareSetup& setup) {
  if (arguments.inputs.size() != 1 || !arguments.measured.empty() || !arguments.traces.empty() ||
      !arguments.where.empty()) {
    throw UsageError(
        "a profile holds programs and their times; expected one, without --measured, --trace and "
        "--where");
  }
  const std::string& file = arguments.inputs.front();
  ProfileInput input{file, read_profile(file), arguments.modules, {}};
  input.guess = choose_device(input.profile.device, file, arguments.devices);
  setup = make_setup(arguments);
  setup.load.fuse = false;  // the modules ran as they are
  Progress progress("compared", input.profile.modules.size());
  setup.step = [&progress] { progress.step(); };
  Comparison inputs = compare_profile(input, setup);
  for (const hwdesc::Device& device : setup.devices) {
    const std::string note = device_note(input.profile.device, device);
    if (!note.empty()) inputs.notes.insert(inputs.notes.begin(), note);
  }
  const std::string& device = arguments.devices.names.front();
  inputs.profile->next =
      fmt::format("tilecast calibrate --device {} {}", shell_word(device), shell_word(file));
  for (const std::string& module : arguments.modules) {
    inputs.profile->next += fmt::format(" --module {}", shell_word(module));
  }
  inputs.profile->next += fmt::format(" -o {}_calibrated.yaml", setup.devices.front().name);
  return inputs;
}

Comparison make_comparison(CompareArguments arguments) {
  CompareSetup setup;
  Comparison inputs;
  if (std::ranges::any_of(arguments.inputs, is_profile)) {
    inputs = profile_comparison(arguments, setup);
  } else {
    setup = make_setup(arguments);
    inputs = sets_or_programs(arguments, setup);
  }
  for (const ModelColumn& column : setup.columns) {
    if (!column.note.empty()) inputs.notes.push_back(column.name + ": " + column.note);
  }
  for (const ir::Note& note : override_notes(arguments.devices)) inputs.notes.push_back(note.what);
  return compare(std::move(inputs), arguments.compare);
}

void run(const CompareArguments& arguments) {
  const Comparison comparison = make_comparison(arguments);
  const std::string& format = arguments.output.format;
  const std::size_t top =
      arguments.all ? comparison.rows.size() + comparison.unmatched.size() : arguments.top;
  write(arguments.output, format == "json"  ? views::compare_json(comparison)
                          : format == "csv" ? views::compare_csv(comparison)
                                            : views::compare_text(comparison, {.top = top}));
}

void add_options(CLI::App& verb, CompareArguments& arguments) {
  verb.add_option("inputs", arguments.inputs,
                  "programs, folders of measurements, or a profile (*.xplane.pb)")
      ->required()
      ->type_name("FILE|SET|PROFILE");
  add_device_options(verb, arguments.devices, Devices::kAnyNumber);
  verb.add_option("--model", arguments.models,
                  "what predicts: analytical, roofline, bottleneck, hybrid, learned, default or "
                  "the folder of a "
                  "model; repeat it to compare; without it: default")
      ->check(is_model_name())
      ->type_name("MODEL")
      ->allow_extra_args(false);
  verb.add_option("--measured", arguments.measured,
                  "folder of measurements that times kernels of the programs; repeat it")
      ->type_name("SET")
      ->allow_extra_args(false);
  verb.add_option("--trace", arguments.traces,
                  "profile of the program on the first device (Chrome / Perfetto JSON or .gz)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--module", arguments.modules,
                  "program that ran, where a profile does not hold it; repeat it")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--reference", arguments.compare.reference,
                  "side that the others are held against; without it: what their machine measured, "
                  "else the first")
      ->type_name("SIDE");
  verb.add_option("--sort", arguments.compare.sort,
                  "side whose loss orders the rows; without it: the first besides the reference")
      ->type_name("SIDE");
  verb.add_option("--where", arguments.where, "rows of measurements with this cell; repeat it")
      ->type_name("COLUMN=VALUE")
      ->allow_extra_args(false);
  verb.add_flag("--doubted", arguments.doubted, "keep measured rows that only physics doubts");
  add_load_options(verb, arguments.load);
  add_output_options(verb, arguments.output, {"table", "json", "csv"});
  add_top_option(verb, arguments.top, "rows in the table, by microseconds lost");
  verb.add_flag("--all", arguments.all, "all rows in the table");
  add_jobs_option(verb, arguments.jobs);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App& verb = *app.add_subcommand(
      "compare", "models, devices, the compiler's estimates and measurements, kernel by kernel");
  add_options(verb, *arguments);
  verb.footer(
      "Sides are called by the model, by the device when there are several of them, 'compiler'\n"
      "(window_config.estimated_cycles of the module at the device's clock) and 'measured'.\n"
      "Rows are kernels of programs, or work and tile of measurements, those first in which most\n"
      "microseconds are lost to the reference; a model says which bound it blames.\n"
      "A profile needs no --device: its own facts name the preset. Its rows are the instructions\n"
      "that ran, with the profile's FLOP and byte counts beside Tilecast's.\n"
      "A hybrid's cells say by which factor it corrects the analytical time, the 90 % interval\n"
      "over that time, and the weight k of the correction, 0 for physics alone.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
