#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"

namespace tilecast::sim::cli {
namespace {

struct ImportArguments {
  std::vector<std::string> inputs;
  std::string mapping, module, format;
  std::vector<std::string> module_files;
  measured::ImportOptions options;
};
using Import = measured::ImportReport (*)(const ImportArguments&, const measured::ImportOptions&);

// Shows progress in percent on the terminal.
class Percent {
 public:
  explicit Percent(const std::string& what) : progress_(what + ": percent", 100) {}
  void show(double done) {
    for (; shown_ < static_cast<int>(done * 100); ++shown_) progress_.step();
  }

 private:
  Progress progress_;
  int shown_ = 0;
};

// For a profile: how the device's time is distributed.
void add_coverage(const measured::ImportReport& report, measured::CsvTable& table) {
  if (report.coverage.empty()) return;
  table.columns.insert(table.columns.end(), {"device_time_ms", "share_percent"});
  for (measured::CsvRow& row : table.rows) row.cells.resize(table.columns.size());
  Seconds all;
  for (const auto& [what, time] : report.coverage) all += time;
  for (const auto& [what, time] : report.coverage) {
    table.rows.push_back({0,
                          {"device time: " + what,
                           {},
                           fmt::format("{:.6g}", time.value * 1e3),
                           fmt::format("{:.2f}", 100 * (time / all))}});
  }
}

void print(const measured::ImportReport& report, const ImportArguments& arguments) {
  for (const std::string& message : report.messages) {
    tell(fmt::format("left out: {}", message));
  }
  const auto unnamed = report.bad - static_cast<std::int64_t>(report.messages.size());
  if (unnamed > 0) tell(fmt::format("left out: {} more rows in error", unnamed));
  for (const std::string& note : report.notes) {
    tell(fmt::format("note: {}", note));
  }
  measured::CsvTable table{arguments.options.output, {"what", "rows"}, {}};
  const auto add = [&](const std::string& what, std::int64_t rows) {
    table.rows.push_back({0, {what, fmt::format("{}", rows)}});
  };
  add("written to " + arguments.options.output, report.rows);
  for (const auto& [reason, rows] : report.left_out) add("left out: " + reason, rows);
  if (report.bad > 0) add("left out: rows in error", report.bad);
  add_coverage(report, table);
  write_rows({.format = arguments.format, .file = {}}, table, "tilecast.import/1");
}

CLI::App& add_format(CLI::App& verb, const char* name, const char* what, Import import) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App& format = *verb.add_subcommand(name, what);
  format.add_option("inputs", arguments->inputs, "files, plain or .gz")
      ->required()
      ->type_name("FILE");
  format.add_option("-o,--output", arguments->options.output, "folder to make")
      ->required()
      ->type_name("FOLDER");
  format
      .add_option("-m,--mapping", arguments->mapping,
                  "YAML that describes the data: a path, or the name of a shipped one")
      ->type_name("YAML");
  format
      .add_option("-d,--device", arguments->options.device,
                  "device preset or YAML the rows were measured on, for that of the mapping")
      ->type_name("DEVICE");
  format.add_option("--name", arguments->options.name, "name of the set, for that of the mapping")
      ->type_name("NAME");
  format.add_flag("--force", arguments->options.force, "replace an existing measurement set");
  format.add_flag("--keep-going", arguments->options.keep_going,
                  "list bad rows and leave them out");
  add_format_option(format, arguments->format, {"table", "json", "csv"}, "form of the summary");
  if (std::string_view(name) == "trace") {
    format.add_option("--module", arguments->module, "HLO text of what ran")
        ->required()
        ->type_name("FILE");
  } else if (std::string_view(name) == "xplane") {
    format
        .add_option("--module", arguments->module_files,
                    "programs that ran, where the profile does not hold them")
        ->type_name("FILE");
  } else if (std::string_view(name) == "tiles") {
    format
        .add_option("--modules", arguments->options.modules,
                    "folder of the HLO files (that of the runs)")
        ->type_name("FOLDER");
  }
  const bool names_device = std::string_view(name) == "xplane";
  format.callback([arguments, import, names_device] {
    if (!names_device && arguments->mapping.empty() && arguments->options.device.empty()) {
      throw UsageError("expected --device, or --mapping with a YAML that names it");
    }
    measured::ImportReport report;
    {
      Percent percent("importing");
      measured::ImportOptions options = arguments->options;
      options.progress = [&](double done) { percent.show(done); };
      report = import(*arguments, options);
    }
    print(report, *arguments);
  });
  return format;
}

measured::ImportReport operators(const ImportArguments& arguments,
                                 const measured::ImportOptions& options) {
  return measured::import_operators(arguments.inputs, arguments.mapping, options);
}

measured::ImportReport trace(const ImportArguments& arguments,
                             const measured::ImportOptions& options) {
  return measured::import_trace(
      {.traces = arguments.inputs, .module = arguments.module, .manifest = arguments.mapping},
      options);
}

measured::ImportReport xplane(const ImportArguments& arguments,
                              const measured::ImportOptions& options) {
  return measured::import_xplane({.profiles = arguments.inputs,
                                  .modules = arguments.module_files,
                                  .manifest = arguments.mapping},
                                 options);
}

// For sets created by scripts: hidden verbs that name the script.
void add_script(CLI::App& verb, const std::string& name) {
  CLI::App& format = *verb.add_subcommand(name)->group("")->allow_extras();
  format.callback([name] {
    throw UsageError(fmt::format("this set is made by a script: validation/sets/{}", name));
  });
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("import", "measurements of others as a measurement set");
  verb.require_subcommand(1);
  add_format(verb, "operators", "tables of operators and their times (CSV)", operators)
      .footer(
          "A folder stands for the files in it that the mapping knows. A mapping says where each\n"
          "column comes from: a shipped one by name (configs/imports/*.yaml), or a file of your "
          "own\n"
          "such as configs/examples/gemm_times.yaml. Without a mapping, or without tables in it, "
          "the\n"
          "columns are those that `tilecast ops` reads, and runtime_ns. docs/measurements.md\n"
          "explains every form.");
  add_format(verb, "kernel-tuner", "caches of Kernel Tuner (JSON, or a CSV of them)", operators)
      .footer(
          "The mapping says which operator it is and which parameters make a tile. Configurations\n"
          "that do not run are counted and left out. Columns of a cache: its parameters,\n"
          "time_ms_mean, time_ms_min, time_ms_std, n_repeats.");
  add_format(verb, "tiles", "HLO kernels and the tiles that were run (CSV)", operators)
      .footer(
          "Columns: file (HLO, beside the CSV or in --modules), compute_time_ns, output_bounds,\n"
          "kernel_bounds, input_bounds; error, config_index, is_default, iteration_bounds.\n"
          "Runs that failed or have no bounds are counted and left out.");
  add_format(verb, "trace", "Chrome / Perfetto traces (JSON) of a JAX or XLA profile", trace)
      .footer(
          "Events of device lanes are joined to the module's kernels by instruction name and\n"
          "averaged; time and kernels that do not match are reported.");
  add_format(verb, "xplane", "profiles of JAX, PyTorch/XLA or XLA (*.xplane.pb, TPU and GPU)",
             xplane)
      .footer(
          "A file, or a log folder, of which the newest run is read with all its hosts. The "
          "modules\n"
          "come from the profile, or from --module. Rows are medians over all occurrences on all\n"
          "cores; device time that is joined to no kernel is listed by category.");
  for (const char* name : {"tokamax", "tpugraphs"}) add_script(verb, name);
}

}  // namespace tilecast::sim::cli
