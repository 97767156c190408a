#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/archive.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "measured/measurement_set.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/evaluation_request.h"
#include "sim/quantity_evaluation.h"
#include "sim/training.h"
#include "sim/views/evaluation.h"
#include "sim/views/quantities.h"

namespace tilecast::sim::cli {
namespace {

using measured::Breakdown;

constexpr int kMaxDraws = 100'000;

struct EvaluateArguments {
  std::vector<std::string> sets, models, by = {"class"};
  DeviceOptions devices;
  OutputOptions output;
  std::string card, references, rows;
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
  if (!arguments.card.empty() || !arguments.rows.empty() || arguments.output.format == "csv") {
    throw UsageError("--card, --rows and --format csv are of models of times");
  }
  const std::vector<hwdesc::Device> devices = load_devices(arguments.devices);
  if (devices.size() > 1) throw UsageError("--device: got several; models of quantities take one");
  const QuantityEvaluation result =
      evaluate_quantity(arguments.sets, devices.front(), arguments.models, arguments.jobs);
  write(arguments.output, arguments.output.format == "json"
                              ? views::quantity_evaluation_json(result.report, result.notes)
                              : views::quantity_evaluation_text(result.report, result.notes));
}

// Whether the set contains graphs without kernels, which need the component `train`.
bool holds_graphs(const std::string& set) {
  const std::string file = (std::filesystem::path(set) / "manifest.yaml").string();
  if (!base::is_file(file)) return false;
  const auto text = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  return measured::read_manifest(std::string(text.text()), file).subject ==
         measured::Subject::kGraph;
}

void run(const EvaluateArguments& arguments) {
  if (std::ranges::any_of(arguments.sets, holds_graphs)) {
    return train_module().evaluate_graphs(
        arguments.sets, arguments.models, arguments.output,
        {.by = {Breakdown::kKernel}, .bootstrap = arguments.bootstrap});
  }
  if (std::ranges::any_of(arguments.models, predicts_quantity)) return run_quantities(arguments);
  const EvaluationReport report = make_report(arguments);
  const views::EvaluationViewOptions view{.faults = arguments.faults};
  if (!arguments.card.empty()) {
    write({.format = "markdown", .file = arguments.card}, views::model_card(report));
  }
  if (!arguments.rows.empty()) {
    write({.format = "csv", .file = arguments.rows}, views::evaluation_rows_csv(report));
  }
  const std::string& format = arguments.output.format;
  write(arguments.output, format == "json"  ? views::evaluation_json(report, view)
                          : format == "csv" ? views::evaluation_csv(report)
                                            : views::evaluation_text(report, view));
}

void add_options(CLI::App& verb, EvaluateArguments& arguments) {
  verb.add_option("sets", arguments.sets, "folders of measurements (tilecast import makes them)")
      ->required()
      ->type_name("SET");
  add_device_options(verb, arguments.devices, Devices::kOneOrMore);
  verb.add_option("--model", arguments.models,
                  "what predicts: analytical, roofline, bottleneck, hybrid, learned, default or "
                  "the folder of a "
                  "trained model; repeat it; without it: roofline, analytical and default")
      ->check(is_model_name())
      ->type_name("MODEL")
      ->allow_extra_args(false);
  verb.add_option("--by", arguments.by,
                  "tables besides the whole: class, size, split, family, kernel")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  add_output_file(verb, "--card", arguments.card, "write a model card (Markdown) too");
  add_output_file(verb, "--rows", arguments.rows, "write every row with its predictions too (CSV)");
  verb.add_flag("--faults", arguments.faults, "list every row that was left out, and why");
  verb.add_flag("--doubted", arguments.doubted, "score rows that only physics doubts, too");
  verb.add_flag("--references", arguments.show_references,
                "show what others published, marked as theirs");
  verb.add_option("--references-from", arguments.references, "other file or folder of references")
      ->type_name("PATH");
  verb.add_option("--draws", arguments.bootstrap.draws, "resamples behind an interval")
      ->check(CLI::Range(1, kMaxDraws))
      ->capture_default_str();
  verb.add_option("--seed", arguments.bootstrap.seed, "of the resamples")->capture_default_str();
  add_output_options(verb, arguments.output, {"table", "json", "csv"});
  add_jobs_option(verb, arguments.jobs);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& verb = *app.add_subcommand("evaluate", "how far models are off measurements");
  add_options(verb, *arguments);
  verb.footer(
      "Every model is scored on the same rows. Columns are models x devices: those of the first\n"
      "device are called by the model, those of further ones (a calibrated copy) by the device.\n"
      "MAPE, median and p90 APE, bias (geometric mean of predicted / measured), Kendall tau-b, "
      "and\n"
      "for kernels with several tiles measured Tile-Size APE, top-k slowdown and best in top k;\n"
      "brackets are 95 % bootstrap intervals. JSON and CSV hold fractions, the table %. They also\n"
      "hold mape_surest_25, _50 and _75: MAPE of that share of the rows, those with the narrowest\n"
      "intervals; announced_2x: the share of errors above a factor of 2 that intervals reach; and\n"
      "best_in_top_tenth: what is found of a kernel's best when only the tenth of its tiles is\n"
      "measured that is predicted fastest; top_1_within_2: the share of kernels whose predicted\n"
      "fastest takes at most 2 % longer than the best.\n"
      "Models of another quantity than time (registers ...) are scored by differences: RMSE, as %\n"
      "of the range of measured values, mean absolute error, and of counts the share predicted\n"
      "exactly, beside the mean of their training rows.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
