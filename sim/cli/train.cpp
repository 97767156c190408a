#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "learned/training/graph_model.h"
#include "learned/training/graph_training.h"
#include "measured/evaluation.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/modules.h"
#include "sim/training/training_file.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;
using learned::GraphModel;
using measured::Metric;

constexpr const char* kGraphSchema = "tilecast.graphs/1";

// Adds the benchmark's own metrics, over all graphs and per graph. A model that only ranks has no
// MAPE.
void add_graph_scores(const measured::ScoreSheet& sheet, const measured::EvaluationOptions& options,
                      measured::CsvTable& table) {
  const measured::Evaluation scores = measured::evaluate(sheet, options);
  for (const measured::Stratum& stratum : scores.strata) {
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
      const auto cell = [&](Metric metric, bool less_from_one) {
        const std::optional<double> value = stratum.columns[i][metric].value;
        return value ? fmt::format("{:.4f}", less_from_one ? 1 - *value : *value) : std::string();
      };
      views::add_row(table, sheet.sets.front().name, stratum.name, sheet.columns[i], stratum.works,
                     stratum.rows, cell(Metric::kTileTau, false), cell(Metric::kTop1Slowdown, true),
                     cell(Metric::kTop5Slowdown, true), cell(Metric::kTop10Slowdown, true),
                     cell(Metric::kMape, false));
    }
  }
}

measured::CsvTable graph_scores() {
  return {"graphs",
          {"set", "graph", "model", "graphs", "runs", "kendall_tau_b", "1_less_top_1_slowdown",
           "1_less_top_5_slowdown", "1_less_top_10_slowdown", "mape"},
          {}};
}

// `evaluate` for sets of graphs without kernels (learned/training/graph_model.h): every model (a
// folder written by `train`) on every set.
void evaluate_graphs(const std::vector<std::string>& sets, const std::vector<std::string>& models,
                     const OutputOptions& output, const measured::EvaluationOptions& options) {
  std::deque<GraphModel> loaded;
  std::vector<std::pair<std::string, const GraphModel*>> columns;
  for (const std::string& model : models) {
    if (!learned::is_graph_model(model)) {
      throw Error(model +
                  ": graphs hold no kernels; expected the folder of a model trained on them");
    }
    loaded.push_back(learned::load_graph_model(model));
    columns.emplace_back(fs::path(model).lexically_normal().filename().string(), &loaded.back());
  }
  if (columns.empty()) throw UsageError("--model is required for graphs: a model trained on them");
  measured::CsvTable table = graph_scores();
  for (const std::string& path : sets) {
    const learned::GraphSet set = learned::read_graph_set(path);
    for (const auto& [name, model] : columns) {
      for (const auto& [seen, hash] : model->trained_on) {
        if (hash != set.hash) continue;
        tell("note: {} was trained on runs of {}", name, seen);
      }
    }
    add_graph_scores(learned::score_sheet(set, columns), options, table);
  }
  write_rows(output, table, kGraphSchema);
}

struct TrainArguments {
  TrainingRequest request;
  OutputOptions output;
  bool dry_run = false;
};

std::string time_left(std::chrono::steady_clock::time_point start, double done) {
  constexpr double kLeast = 0.02;  // fraction of the work needed for an estimate
  if (done < kLeast) return "";
  const double spent_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double left_s = spent_s * (1 - done) / done;
  constexpr double kSecondsPerMinute = 60;
  return left_s < kSecondsPerMinute ? fmt::format(", {:.0f} s left", left_s)
                                    : fmt::format(", {:.0f} min left", left_s / kSecondsPerMinute);
}

TrainedModel train(const TrainingRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Progress> progress;
  TrainingHooks hooks;
  hooks.begin = [&](const std::string& title) {
    progress.emplace(title + ":", Progress::kPercent);
  };
  hooks.step = [&](const learned::LearnerProgress& at) {
    progress->show_share(at.done, fmt::format(", {}, loss {:.4g}, validation {:.4g}{}", at.what,
                                              at.loss, at.validation, time_left(start, at.done)));
  };
  hooks.hybrid_step = [&](const std::string& what, double done) {
    progress->show_share(done, ", " + what);
  };
  return train_model(request, hooks);
}

void train_graphs(const TrainArguments& given) {
  const TrainingRequest& arguments = given.request;
  const learned::GraphTraining training = learned::read_graph_training(arguments.experiment);
  if (given.dry_run) throw UsageError("--dry-run: not of graphs");
  if (arguments.directory.empty()) throw UsageError("--out is required: the folder of the model");
  if (fs::exists(arguments.directory) && !arguments.force) {
    throw Error(arguments.directory + ": exists; --force replaces a model");
  }
  const std::string checkpoint = arguments.directory + ".checkpoint";
  if (!arguments.resume) fs::remove(checkpoint);
  Progress progress("train " + training.learner.name + ":", Progress::kPercent);
  const auto show = [&](const learned::LearnerProgress& at) {
    progress.show_share(at.done, fmt::format(", {}, loss {:.4g}, validation {:.4g}", at.what,
                                             at.loss, at.validation));
  };
  const learned::TrainedGraphs trained = learned::train_graphs(
      training, {.step = show, .threads = arguments.jobs, .checkpoint = checkpoint});
  learned::save_graph_model(trained.model, arguments.directory, arguments.force);
  fs::remove(checkpoint);
  tell("graphs: {}; trained on {} runs, stopped by {}, scored on {} held out", trained.graphs,
       trained.train_runs, trained.validation_runs, trained.test_runs);
  measured::CsvTable table = graph_scores();
  if (trained.test_runs > 0) {
    const std::pair<std::string, const learned::GraphModel*> column(training.learner.name,
                                                                    &trained.model);
    add_graph_scores(learned::score_sheet(trained.test, std::span(&column, 1)),
                     {.by = {measured::Breakdown::kKernel}}, table);
  }
  write_rows(given.output, table, kGraphSchema);
}

void run(const TrainArguments& arguments) {
  const TrainingRequest& request = arguments.request;
  if (learned::is_graph_training(training::path_of(request.experiment))) {
    return train_graphs(arguments);
  }
  if (arguments.dry_run) return write(arguments.output, training_plan(request));
  const TrainedModel made = train(request);
  write(arguments.output, arguments.output.format == "json" ? made.json : made.text);
}

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App& verb = *app.add_subcommand(
      "train", "train a model of kernel times, or fit a hybrid, on measurements");
  add_required(verb, "experiment", arguments->request.experiment, "FILE",
               "file (YAML) of data, a split and learners or hybrids, as every experiment is; or a "
               "training on graphs");
  add_value(verb, "--learner", arguments->request.learner, "NAME",
            "which learner or hybrid; not needed when there is one");
  add_value(verb, "--out", arguments->request.directory, "FOLDER",
            "folder of the model, made here");
  verb.add_flag("--force", arguments->request.force, "replace an existing model");
  verb.add_flag("--resume", arguments->request.resume,
                "resume an interrupted training from FOLDER.checkpoint (networks)");
  verb.add_flag("--dry-run", arguments->dry_run, "show what would be trained, on which rows");
  add_value(verb, "--data", arguments->request.data, "FOLDER",
            "folder of third-party data; default: $TILECAST_SHARED, else ../shared beside the "
            "repository");
  add_output_options(verb, arguments->output, {"table", "json"});
  add_jobs_option(verb, arguments->request.jobs);
  verb.footer(
      R"(A component: scripts/build train adds it; graph networks also need scripts/build torch.
Trains on the rows that the first round of the experiment's split fits, and reports how the
model does on the held-out ones, beside roofline and analytical on the same rows. The
folder holds the model, its card (model.yaml) and its log (training.csv). A hybrid of the
experiment is fitted: a bag of trees on what physics leaves, then, by trials, how far to
believe it; its folder is a --model of simulate, explain, tiles, compare and evaluate.
A file of format tilecast.graph_training/1 trains on graphs of validation/sets/tpugraphs.)");
  verb.callback([arguments] { run(*arguments); });
}

constexpr TrainModule kOffer = {{&add_train}, &train_model, &evaluate_graphs};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(train, tilecast::sim::kTrainPlugin.abi, &tilecast::sim::cli::kOffer)
