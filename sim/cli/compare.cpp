#include "sim/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/archive.h"
#include "base/error.h"
#include "measured/importers/importer.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/profiles.h"
#include "sim/cli/terminal.h"
#include "sim/compare_inputs.h"
#include "sim/compare_torch.h"
#include "sim/evaluation.h"
#include "sim/views/compare.h"
#include "sim/views/evaluation.h"
#include "sim/views/fits.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  std::vector<std::string> inputs, measured, traces, modules, models, where, with;
  DeviceOptions devices;
  LoadArguments load;
  OutputOptions output;
  CompareOptions compare;
  std::size_t top = views::CompareTableOptions{}.top;
  bool all = false, doubted = false;
  int jobs = 1;
};

// Names sides by what differs between them: the model, the device, or both. `names`: of devices.
std::vector<ModelColumn> model_columns(const std::vector<std::string>& models,
                                       const std::vector<hwdesc::Device>& devices,
                                       const std::vector<std::string>& names) {
  std::vector<ModelColumn> columns;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    for (const std::string& model : models) {
      const std::string& on = names[device];
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
      throw UsageError("--where: got '{}', expected column=value; example: split=test", text);
    }
    filters.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return filters;
}

// Imports the traces as a measurement set of the program; notes list what did not match.
std::string import_traces(const CompareArguments& arguments, const host::TemporaryFolder& folder,
                          std::vector<std::string>& notes) {
  if (arguments.inputs.size() != 1) {
    throw UsageError("--trace: times one program; expected one HLO file");
  }
  const std::string set = folder.file("trace");
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
  std::vector<std::string> names;
  for (const hwdesc::Device& device : setup.devices) names.push_back(device.name);
  if (!arguments.with.empty()) {
    std::vector<std::string> set = arguments.devices.set;
    set.insert(set.end(), arguments.with.begin(), arguments.with.end());
    setup.devices.push_back(
        hwdesc::load_device(arguments.devices.names.back(), device_overrides(set)));
    names.push_back(fmt::format("{} with {}", names.back(), fmt::join(arguments.with, ", ")));
  }
  setup.columns = model_columns(arguments.models.empty() ? std::vector<std::string>{kDefaultModel}
                                                         : distinct(arguments.models),
                                setup.devices, names);
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
  std::optional<host::TemporaryFolder> folder;
  if (!arguments.traces.empty()) {
    measured.push_back(import_traces(arguments, folder.emplace(), notes));
  }
  Comparison inputs = compare_programs(arguments.inputs, measured, setup);
  inputs.notes.insert(inputs.notes.end(), notes.begin(), notes.end());
  return inputs;
}

// Whether the command asks for two runs of one model, and for nothing beside them.
bool is_difference(const CompareArguments& arguments, const CompareSetup& setup) {
  return arguments.inputs.size() * setup.devices.size() == 2 &&
         setup.columns.size() == setup.devices.size() && arguments.measured.empty() &&
         arguments.traces.empty() && arguments.compare.reference.empty() &&
         arguments.compare.sort.empty() && !are_sets(arguments);
}

// The second program against the first, or one on the second device.
Difference difference_of(const CompareArguments& arguments, const CompareSetup& setup) {
  const std::vector<std::string>& files = arguments.inputs;
  const ChosenModel model = choose_model(
      arguments.models.empty() ? kDefaultModel : arguments.models.front(), setup.devices);
  const auto placed = [&](std::size_t side) {
    return place(ir::load_module(files[side % files.size()], setup.load),
                 setup.devices[side % setup.devices.size()], setup.load);
  };
  const PlacedProgram before = placed(0), after = placed(1);
  if (files.size() == 1) {
    return difference({before, setup.columns[0].name}, {after, setup.columns[1].name}, model,
                      arguments.jobs);
  }
  std::string names[] = {fs::path(files[0]).stem().string(), fs::path(files[1]).stem().string()};
  if (names[0] == names[1]) std::ranges::copy(files, names);
  return difference({before, names[0]}, {after, names[1]}, model, arguments.jobs);
}

// Notes of both runs, each once; those of one run name it.
std::vector<std::string> notes_of(const Difference& d) {
  std::vector<std::string> notes;
  const auto add = [&](const Simulation& run, const Simulation& other, const std::string& label) {
    for (const ir::Note& note : run.notes) {
      const bool shared =
          std::ranges::find(other.notes, note.what, &ir::Note::what) != other.notes.end();
      const std::string text = shared ? note.what : fmt::format("{}: {}", label, note.what);
      if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
    }
  };
  add(d.before, d.after, d.before_label);
  add(d.after, d.before, d.after_label);
  return notes;
}

// Throws UsageError unless a profile is the only input.
void require_only_profile(const CompareArguments& arguments) {
  if (arguments.inputs.size() != 1 || !arguments.measured.empty() || !arguments.traces.empty() ||
      !arguments.where.empty()) {
    throw UsageError(
        "a profile holds programs and their times; expected one, without --measured, --trace and "
        "--where");
  }
}

// Uses the profile's own device if the user names none.
Comparison profile_comparison(CompareArguments& arguments, CompareSetup& setup) {
  require_only_profile(arguments);
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

Comparison torch_comparison(CompareArguments& arguments, CompareSetup& setup) {
  require_only_profile(arguments);
  if (!arguments.modules.empty()) throw UsageError("--module: expected a profile (*.xplane.pb)");
  const std::string& file = arguments.inputs.front();
  TorchInput input{file, read_torch(file), {}};
  input.guess = choose_device(input.trace.device, file, arguments.devices);
  setup = make_setup(arguments);
  Progress progress("compared", setup.columns.size());
  setup.step = [&progress] { progress.step(); };
  return compare_torch(input, setup);
}

Comparison make_comparison(CompareArguments arguments) {
  CompareSetup setup;
  Comparison inputs;
  if (std::ranges::any_of(arguments.inputs, is_profile)) {
    inputs = profile_comparison(arguments, setup);
  } else if (std::ranges::any_of(arguments.inputs, measured::is_torch_trace)) {
    inputs = torch_comparison(arguments, setup);
  } else {
    setup = make_setup(arguments);
    std::optional<Difference> two;
    if (is_difference(arguments, setup)) two = difference_of(arguments, setup);
    if (two && arguments.output.format != "json") {
      inputs.notes = notes_of(*two);
    } else {
      inputs = sets_or_programs(arguments, setup);
    }
    inputs.difference = std::move(two);
  }
  for (const ModelColumn& column : setup.columns) {
    if (!column.note.empty() && !inputs.difference) {
      inputs.notes.push_back(column.name + ": " + column.note);
    }
  }
  for (const ir::Note& note : override_notes(arguments.devices)) inputs.notes.push_back(note.what);
  if (inputs.sides.empty()) return inputs;  // a difference alone
  return compare(std::move(inputs), arguments.compare);
}

void run(const CompareArguments& arguments) {
  const Comparison comparison = make_comparison(arguments);
  const std::string& format = arguments.output.format;
  const std::size_t top = arguments.all ? std::numeric_limits<std::size_t>::max() : arguments.top;
  write(arguments.output, format == "json"  ? views::compare_json(comparison)
                          : format == "csv" ? views::compare_csv(comparison)
                                            : views::compare_text(comparison, {.top = top}));
}

void add_options(CLI::App& verb, CompareArguments& arguments) {
  add_required(verb, "inputs", arguments.inputs, "FILE|SET|PROFILE",
               "programs, folders of measurements, or a profile (*.xplane.pb of JAX, "
               "*.pt.trace.json of PyTorch)");
  add_device_options(verb, arguments.devices, Devices::kAnyNumber);
  add_repeated(verb, "--with", arguments.with, "KEY=VALUE",
               "one more side: the last device with this value; example: hbm.bandwidth=2TB/s");
  add_repeated(verb, "--model", arguments.models, "MODEL",
               "what predicts: analytical, roofline, bottleneck, hybrid, learned, default or the "
               "folder of a model; repeat it to compare; without it: default")
      ->check(is_model_name());
  add_repeated(verb, "--measured", arguments.measured, "SET",
               "folder of measurements that times kernels of the programs; repeat it");
  add_repeated(verb, "--trace", arguments.traces, "FILE",
               "profile of the program on the first device (Chrome / Perfetto JSON or .gz)");
  add_repeated(verb, "--module", arguments.modules, "FILE",
               "program that ran, where a profile does not hold it; repeat it");
  add_value(verb, "--reference", arguments.compare.reference, "SIDE",
            "side that the others are held against; without it: what their machine measured, else "
            "the first");
  add_value(verb, "--sort", arguments.compare.sort, "SIDE",
            "side whose loss orders the rows; without it: the first besides the reference");
  add_repeated(verb, "--where", arguments.where, "COLUMN=VALUE",
               "rows of measurements with this cell; repeat it");
  verb.add_flag("--doubted", arguments.doubted, "keep measured rows that only physics doubts");
  add_load_options(verb, arguments.load);
  add_output_options(verb, arguments.output, {"table", "json", "csv"});
  add_top_option(verb, arguments.top, "rows in the table, by microseconds lost");
  verb.add_flag("--all", arguments.all, "all rows in the table");
  add_jobs_option(verb, arguments.jobs);
}

constexpr int kMaxDraws = 100'000;

struct EvaluateArguments {
  std::vector<std::string> sets, models, by = {"class"};
  DeviceOptions devices;
  OutputOptions output;
  std::string references, rows;
  bool faults = false, doubted = false, show_references = false;
  measured::BootstrapOptions bootstrap;
  int jobs = 1;
};

EvaluationReport make_report(const EvaluateArguments& arguments) {
  std::vector<hwdesc::Device> devices = load_devices(arguments.devices);
  std::vector<ModelColumn> columns = named_columns(arguments.models, devices);
  Progress progress("evaluate", arguments.sets.size() * columns.size());
  EvaluateSetsOptions options;
  options.evaluation = {.by = named_breakdowns(arguments.by),
                        .bootstrap = arguments.bootstrap,
                        .jobs = arguments.jobs};
  options.check_physics = !arguments.doubted;
  options.step = [&progress] { progress.step(); };
  EvaluationReport report =
      evaluate_sets(arguments.sets, std::move(devices), std::move(columns), options);
  for (const ir::Note& note : override_notes(arguments.devices)) report.notes.push_back(note.what);
  if (arguments.show_references) {
    report.references = measured::read_references(
        arguments.references.empty() ? measured::reference_folder() : arguments.references);
  }
  return report;
}

// Evaluates models of a quantity other than time.
void run_quantities(const EvaluateArguments& arguments) {
  if (!arguments.rows.empty() || arguments.output.format == "csv") {
    throw UsageError("--rows and --format csv are of models of times");
  }
  const std::vector<hwdesc::Device> devices = load_devices(arguments.devices);
  if (devices.size() > 1) throw UsageError("--device: got several; models of quantities take one");
  const QuantityEvaluation result =
      evaluate_quantity(arguments.sets, devices.front(), arguments.models, arguments.jobs);
  write(arguments.output, arguments.output.format == "json"
                              ? views::quantity_evaluation_json(result.report, result.notes)
                              : views::quantity_evaluation_text(result.report, result.notes));
}

void run(const EvaluateArguments& arguments) {
  if (std::ranges::any_of(arguments.models, predicts_quantity)) return run_quantities(arguments);
  const EvaluationReport report = make_report(arguments);
  const views::EvaluationViewOptions view{.faults = arguments.faults};
  if (!arguments.rows.empty()) {
    write({.format = "csv", .file = arguments.rows}, views::evaluation_rows_csv(report));
  }
  const std::string& format = arguments.output.format;
  write(arguments.output, format == "json"  ? views::evaluation_json(report, view)
                          : format == "csv" ? views::evaluation_csv(report)
                                            : views::evaluation_text(report, view));
}

void add_options(CLI::App& verb, EvaluateArguments& arguments) {
  add_required(verb, "sets", arguments.sets, "SET",
               "folders of measurements (tilecast import makes them)");
  add_device_options(verb, arguments.devices, Devices::kOneOrMore);
  add_repeated(verb, "--model", arguments.models, "MODEL",
               "what predicts: analytical, roofline, bottleneck, hybrid, learned, default or the "
               "folder of a trained model; repeat it; without it: roofline, analytical and default")
      ->check(is_model_name());
  verb.add_option("--by", arguments.by,
                  "tables besides the whole: class, size, split, family, kernel")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  add_output_file(verb, "--rows", arguments.rows, "write every row with its predictions too (CSV)");
  verb.add_flag("--faults", arguments.faults, "list every row that was left out, and why");
  verb.add_flag("--doubted", arguments.doubted, "score rows that only physics doubts, too");
  verb.add_flag("--references", arguments.show_references,
                "show what others published, marked as theirs");
  add_value(verb, "--references-from", arguments.references, "PATH",
            "other file or folder of references");
  add_number(verb, "--draws", arguments.bootstrap.draws, 1, kMaxDraws,
             "resamples behind an interval");
  verb.add_option("--seed", arguments.bootstrap.seed, "of the resamples")->capture_default_str();
  add_output_options(verb, arguments.output, {"table", "json", "csv"});
  add_jobs_option(verb, arguments.jobs);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App& verb = *app.add_subcommand(
      "compare",
      "what gained and lost between two programs, devices, settings or models, and "
      "measurements");
  add_options(verb, *arguments);
  verb.footer(
      R"(Two runs of one model (two programs, two devices, or one device --with a value) are compared
by resource, by layer (op_name of the program) and by kernel: what each gained and lost, the
second run less the first. Kernels are paired by what they compute, else by their names.

Other sides are called by the model, by the device when there are several, 'compiler'
(window_config.estimated_cycles of the module at the device's clock) and 'measured'.
Rows are kernels of programs, or work and tile of measurements, those first in which most
microseconds are lost to the reference; a model says which bound it blames.
A profile needs no --device: its own facts name the preset. Its rows are the instructions
that ran, with the profile's FLOP and byte counts beside Tilecast's, and on GPUs how its
kernels were launched. Kernels of CUDA graphs are joined by name and schedule; instructions
that share a kernel are one row. Rows of a trace of PyTorch are operators by shape.
A hybrid's cells say by which factor it corrects the analytical time, the 90 % interval
over that time, and the weight k of the correction, 0 for physics alone.)");
  verb.callback([arguments] { run(*arguments); });
}

void add_evaluate(CLI::App& app) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& verb = *app.add_subcommand("evaluate", "how far models are off measurements");
  add_options(verb, *arguments);
  verb.footer(
      R"(Every model is scored on the same rows. Columns are models x devices: those of the first
device are called by the model, those of further ones (a calibrated copy) by the device.
MAPE, median and p90 APE, bias (geometric mean of predicted / measured), Kendall tau-b, and
for kernels with several tiles measured Tile-Size APE, top-k slowdown and best in top k;
brackets are 95 % bootstrap intervals. JSON and CSV hold fractions, the table %. They also
hold mape_surest_25, _50 and _75: MAPE of that share of the rows, those with the narrowest
intervals; announced_2x: the share of errors above a factor of 2 that intervals reach; and
best_in_top_tenth: what is found of a kernel's best when only the tenth of its tiles is
measured that is predicted fastest; top_1_within_2: the share of kernels whose predicted
fastest takes at most 2 % longer than the best.
Models of another quantity than time (registers ...) are scored by differences: RMSE, as %
of the range of measured values, mean absolute error, and of counts the share predicted
exactly, beside the mean of their training rows.)");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
