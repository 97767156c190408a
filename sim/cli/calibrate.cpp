#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <deque>

#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "sim/calibration.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/profiles.h"
#include "sim/cli/terminal.h"
#include "sim/views/fits.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

struct CalibrateArguments {
  CalibrationRequest request;
  std::vector<std::string> modules;
  DeviceOptions devices;
  OutputOptions report;
  std::string file, name, model_folder;
  bool force = false;
};

hybrid::PreparedFit fit(const CalibrateArguments& arguments) {
  Progress progress("calibrate:", hybrid::kMostFits);
  std::deque<host::TemporaryFolder> folders;  // of profiles, as sets
  CalibrationHooks hooks;
  std::size_t reads = 0;
  hooks.read = [&](const std::string& path) {
    progress.say(fmt::format("reads set {} of {}", ++reads, arguments.request.sets.size()));
    if (!is_profile(path)) return measured::read_measurement_set(path);
    return profile_set(path, arguments.devices.names.front(), arguments.modules,
                       folders.emplace_back());
  };
  hooks.note = [](const std::string& note) { tell(note); };
  hooks.step = [&progress] { progress.step(); };
  return calibrate_device(arguments.request, hooks);
}

hybrid::FittedHybrid train(const CalibrateArguments& arguments,
                           const hybrid::PreparedFit& prepared) {
  hybrid::FittedHybrid fitted;
  {
    Progress progress("train:", Progress::kPercent);
    const auto step = [&progress](const std::string& what, double done) {
      progress.show_share(done, ", " + what);
    };
    fitted =
        train_calibrated(prepared, arguments.model_folder,
                         {.force = arguments.force, .jobs = arguments.request.jobs, .step = step});
  }
  tell("wrote {}", arguments.model_folder);
  return fitted;
}

void run(CalibrateArguments& arguments) {
  arguments.request.device = load_devices(arguments.devices).front();
  const bool trains = !arguments.model_folder.empty();
  if (trains) check_model_folder(arguments.model_folder, arguments.force);
  const hybrid::PreparedFit prepared = fit(arguments);
  const hybrid::Calibrated& calibrated = prepared.calibrated.front();
  const bool writes = calibrated.accepted && !arguments.file.empty();
  if (writes) {
    write({.format = "yaml", .file = arguments.file},
          calibrated_description(prepared, arguments.devices.names.front(), arguments.file,
                                 arguments.name));
  }
  std::optional<hybrid::FittedHybrid> fitted;
  if (trains) fitted = train(arguments, prepared);
  const hybrid::FittedHybrid* trained = fitted ? &*fitted : nullptr;
  write(arguments.report, arguments.report.format == "json"
                              ? views::calibration_json(prepared, trained)
                              : views::calibration_text(prepared, trained));
  if (writes) {
    tell("wrote {}", arguments.file);
  } else if (!arguments.file.empty()) {
    tell("{} not written: {}", arguments.file,
         calibrated.refused_as_suspicious ? "the fit is suspicious" : "nothing to change");
  }
}

void add_options(CLI::App& verb, CalibrateArguments& arguments) {
  add_required(verb, "sets", arguments.request.sets, "SET|PROFILE",
               "folders of measurements (tilecast import makes them), or profiles (*.xplane.pb)");
  add_device_options(verb, arguments.devices, Devices::kOne);
  add_repeated(verb, "--module", arguments.modules, "FILE",
               "program that ran, where a profile does not hold it; repeat it");
  add_list(verb, "--class", arguments.request.classes, "CLASS",
           "use rows of these op classes (and --kernel's)");
  add_list(verb, "--kernel", arguments.request.kernels, "NAME",
           "use rows of these kernels (and --class's)");
  add_list(verb, "--fix", arguments.request.fixed, "NAME", "constants that stay as described");
  add_output_file(verb, "-o,--output", arguments.file,
                  "the calibrated description to write (YAML)");
  add_value(verb, "--then-train", arguments.model_folder, "FOLDER",
            "also fit a hybrid of the device as described to all rows, into this folder");
  verb.add_flag("--force", arguments.force, "replace a model that is in that folder");
  verb.add_option("--name", arguments.name, "of the calibrated device; default: from the file");
  add_format_option(verb, arguments.report.format, {"table", "json"},
                    "form of the report on stdout");
  add_text(verb, "--rows", arguments.request.most_rows, "N",
           "fit at most N rows, shared out evenly over kernels")
      ->check(CLI::Range(std::size_t{3}, std::size_t{1'000'000'000}));
  verb.add_flag("--other-machine", arguments.request.other_machine,
                "use rows that were measured on another machine");
  verb.add_flag("--accept-suspicious", arguments.request.accept_suspicious,
                "take constants that end at their bounds or far from their priors: signs of a "
                "wrong description");
  add_jobs_option(verb, arguments.request.jobs);
}

struct ImportArguments {
  std::vector<std::string> inputs;
  std::string mapping, module, format;
  std::vector<std::string> module_files;
  measured::ImportOptions options;
};
using Import = measured::ImportReport (*)(const ImportArguments&, const measured::ImportOptions&);

// For a profile: how the device's time is distributed.
void add_coverage(const measured::ImportReport& report, measured::CsvTable& table) {
  if (report.coverage.empty()) return;
  table.columns.insert(table.columns.end(), {"device_time_ms", "share_percent"});
  for (measured::CsvRow& row : table.rows) row.cells.resize(table.columns.size());
  Seconds all;
  for (const auto& [what, time] : report.coverage) all += time;
  for (const auto& [what, time] : report.coverage) {
    views::add_row(table, "device time: " + what, "", fmt::format("{:.6g}", time.value * 1e3),
                   fmt::format("{:.2f}", 100 * (time / all)));
  }
}

void print(const measured::ImportReport& report, const ImportArguments& arguments) {
  for (const std::string& message : report.messages) {
    tell("left out: {}", message);
  }
  const auto unnamed = report.bad - static_cast<std::int64_t>(report.messages.size());
  if (unnamed > 0) tell("left out: {} more rows in error", unnamed);
  for (const std::string& note : report.notes) {
    tell("note: {}", note);
  }
  measured::CsvTable table{arguments.options.output, {"what", "rows"}, {}};
  views::add_row(table, "written to " + arguments.options.output, report.rows);
  for (const auto& [reason, rows] : report.left_out) {
    views::add_row(table, "left out: " + reason, rows);
  }
  if (report.bad > 0) views::add_row(table, "left out: rows in error", report.bad);
  add_coverage(report, table);
  write_rows({.format = arguments.format, .file = {}}, table, "tilecast.import/1");
}

CLI::App& add_format(CLI::App& verb, const char* name, const char* what, Import import) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App& format = *verb.add_subcommand(name, what);
  add_required(format, "inputs", arguments->inputs, "FILE", "files, plain or .gz");
  add_required(format, "-o,--output", arguments->options.output, "FOLDER", "folder to make");
  add_value(format, "-m,--mapping", arguments->mapping, "YAML",
            "YAML that describes the data: a path, or the name of a shipped one");
  add_value(format, "-d,--device", arguments->options.device, "DEVICE",
            "device preset or YAML the rows were measured on, for that of the mapping");
  add_value(format, "--name", arguments->options.name, "NAME",
            "name of the set, for that of the mapping");
  format.add_flag("--force", arguments->options.force, "replace an existing measurement set");
  format.add_flag("--keep-going", arguments->options.keep_going,
                  "list bad rows and leave them out");
  add_format_option(format, arguments->format, {"table", "json", "csv"}, "form of the summary");
  if (std::string_view(name) == "trace") {
    add_required(format, "--module", arguments->module, "FILE", "HLO text of what ran");
  } else if (std::string_view(name) == "xplane") {
    add_value(format, "--module", arguments->module_files, "FILE",
              "programs that ran, where the profile does not hold them");
  } else if (std::string_view(name) == "tiles") {
    add_value(format, "--modules", arguments->options.modules, "FOLDER",
              "folder of the HLO files (that of the runs)");
  }
  const bool names_device = std::string_view(name) == "xplane";
  format.callback([arguments, import, names_device] {
    if (!names_device && arguments->mapping.empty() && arguments->options.device.empty()) {
      throw UsageError("expected --device, or --mapping with a YAML that names it");
    }
    measured::ImportReport report;
    {
      Progress progress("importing:", Progress::kPercent);
      measured::ImportOptions options = arguments->options;
      options.progress = [&](double done) { progress.show_share(done, ""); };
      report = import(*arguments, options);
    }
    print(report, *arguments);
  });
  return format;
}

measured::ImportReport operators(const ImportArguments& of,
                                 const measured::ImportOptions& options) {
  return measured::import_operators(of.inputs, of.mapping, options);
}

measured::ImportReport trace(const ImportArguments& of, const measured::ImportOptions& options) {
  return measured::import_trace({of.inputs, of.module, of.mapping}, options);
}

measured::ImportReport xplane(const ImportArguments& of, const measured::ImportOptions& options) {
  return measured::import_xplane({of.inputs, of.module_files, of.mapping}, options);
}

// For sets created by scripts: hidden verbs that name the script.
void add_script(CLI::App& verb, const std::string& name) {
  CLI::App& format = *verb.add_subcommand(name)->group("")->allow_extras();
  format.callback(
      [name] { throw UsageError("this set is made by a script: validation/sets/{}", name); });
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App& verb = *app.add_subcommand("calibrate", "fit a device's constants to measurements");
  add_options(verb, *arguments);
  verb.footer(
      R"(Fits sustained bandwidths, latency, set-up and loop overheads, unit rates, a per-kernel
overhead, and the host's dispatch by op class, each held by a prior at its described
value; three rows are enough. Times of whole programs are not fitted. Writes a description
that extends the old one only when held-out kernels are predicted better, those of no op
class and of no set worse by more than noise, and no constant ends at its bound or far from
its prior, which says that the description is wrong. Says what is left, by class and size.
--then-train also fits a hybrid, for simulate --model FOLDER: trees on what physics leaves
of the device as described, believed as far as held-out kernels show a gain; it needs 8 rows.)");
  verb.callback([arguments] { run(*arguments); });
}

void add_import(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("import", "measurements of others as a measurement set");
  verb.require_subcommand(1);
  add_format(verb, "operators", "tables of operators and their times (CSV)", operators)
      .footer(
          R"(A folder stands for the files in it that the mapping knows. A mapping says where each
column comes from: a shipped one by name (configs/imports/*.yaml), or a file of your own
such as configs/examples/gemm_times.yaml. Without a mapping, or without tables in it, the
columns are those that `tilecast ops` reads, and runtime_ns. docs/measurements.md
explains every form.)");
  add_format(verb, "kernel-tuner", "caches of Kernel Tuner (JSON, or a CSV of them)", operators)
      .footer(
          R"(The mapping says which operator it is and which parameters make a tile. Configurations
that do not run are counted and left out. Columns of a cache: its parameters,
time_ms_mean, time_ms_min, time_ms_std, n_repeats.)");
  add_format(verb, "tiles", "HLO kernels and the tiles that were run (CSV)", operators)
      .footer(
          R"(Columns: file (HLO, beside the CSV or in --modules), compute_time_ns, output_bounds,
kernel_bounds, input_bounds; error, config_index, is_default, iteration_bounds.
Runs that failed or have no bounds are counted and left out.)");
  add_format(verb, "trace", "Chrome / Perfetto traces (JSON) of a JAX or XLA profile", trace)
      .footer(R"(Events of device lanes are joined to the module's kernels by instruction name and
averaged; time and kernels that do not match are reported.)");
  add_format(verb, "xplane", "profiles of JAX, PyTorch/XLA or XLA (*.xplane.pb, TPU and GPU)",
             xplane)
      .footer(
          R"(A file, or a log folder, of which the newest run is read with all its hosts. The modules
come from the profile, or from --module. Rows are medians over all occurrences on all
cores; device time that is joined to no kernel is listed by category.)");
  add_script(verb, "tokamax");
}

}  // namespace tilecast::sim::cli
