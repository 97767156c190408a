#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "hybrid/hybrid_dir.h"
#include "learned/training/graph_training.h"
#include "sim/cli/commands.h"
#include "sim/cli/graphs.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/model_choice.h"
#include "sim/views/experiment.h"
#include "sim/views/training.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string experiment, learner, directory, data;
  OutputOptions output;
  bool force = false, resume = false, dry_run = false;
  int jobs = 1;
};

std::string time_left(std::chrono::steady_clock::time_point start, double done) {
  constexpr double kLeast = 0.02;  // of the work: before, nobody knows
  if (done < kLeast) return "";
  const double spent_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double left_s = spent_s * (1 - done) / done;
  constexpr double kSecondsPerMinute = 60;
  return left_s < kSecondsPerMinute ? fmt::format(", {:.0f} s left", left_s)
                                    : fmt::format(", {:.0f} min left", left_s / kSecondsPerMinute);
}

// What an interrupted training left goes, unless it is resumed.
void prepare(const TrainArguments& arguments, const std::string& checkpoint) {
  std::error_code failure;
  if (!arguments.force && fs::exists(arguments.directory, failure)) {
    throw Error(fmt::format("{}: exists; --force replaces a model", arguments.directory));
  }
  if (!arguments.resume) {
    fs::remove(checkpoint, failure);
  } else if (!fs::exists(checkpoint, failure)) {
    throw Error(fmt::format("{}: not found; nothing to resume", checkpoint));
  }
}

validation::TrainingResult train(const TrainArguments& arguments,
                                 const validation::Training& training,
                                 const std::string& checkpoint) {
  constexpr std::size_t kWhole = 100;  // %
  Progress progress("train " + training.learner().name + ":", kWhole);
  const auto start = std::chrono::steady_clock::now();
  learned::LearnerHooks hooks{.threads = arguments.jobs};
  const bool searches = training.learner().search.trials > 0;
  if (training.learner().kind == learned::LearnerKind::kNetwork && !searches) {
    hooks.checkpoint = checkpoint;
  } else if (arguments.resume) {
    throw Error("--resume: only networks without a search resume from a checkpoint");
  }
  hooks.step = [&](const learned::LearnerProgress& at) {
    progress.show(static_cast<std::size_t>(at.done * kWhole),
                  fmt::format(" %, {}, loss {:.4g}, validation {:.4g}{}", at.what, at.loss,
                              at.validation, time_left(start, at.done)));
  };
  return training.run(hooks);
}

std::string split_of(const validation::Experiment& experiment, std::size_t rounds) {
  std::string split = views::split_text(experiment.split);
  if (rounds > 1) split += fmt::format("; trained on the first of {}", rounds);
  return split;
}

void train_learner(const TrainArguments& arguments, const validation::Experiment& experiment,
                   validation::ExperimentData& data) {
  const std::string checkpoint = arguments.directory + ".checkpoint";
  if (!arguments.dry_run) prepare(arguments, checkpoint);
  const validation::Training training(analytical_prior(), experiment, data, arguments.learner,
                                      arguments.jobs);
  if (arguments.dry_run) return write(arguments.output, views::training_plan(training));
  validation::TrainingResult result = train(arguments, training, checkpoint);
  result.about.created = base::today();
  result.about.split = split_of(experiment, training.rounds());
  result.about.versions = {{"tilecast", TILECAST_VERSION}};
  result.trained.save(result.about, arguments.directory, arguments.force);
  std::error_code ignored;
  fs::remove(checkpoint, ignored);
  write(arguments.output,
        arguments.output.format == "json"
            ? views::training_json(result, training.experiment(), arguments.directory)
            : views::training_text(result, training.experiment(), arguments.directory));
}

void train_hybrid(const TrainArguments& arguments, const validation::Experiment& experiment,
                  const std::string& name, validation::ExperimentData& data) {
  if (arguments.resume) throw Error("--resume: a hybrid is fitted as a whole");
  if (!arguments.dry_run) prepare(arguments, arguments.directory + ".checkpoint");
  const validation::HybridTraining training(analytical_prior(), experiment, data, name,
                                            arguments.jobs);
  if (arguments.dry_run) return write(arguments.output, views::hybrid_plan(training));
  constexpr std::size_t kWhole = 100;  // %
  Progress progress("fit " + name + ":", kWhole);
  validation::HybridTrainingResult result = training.run([&](const std::string& what, double done) {
    progress.show(static_cast<std::size_t>(done * kWhole), " %, " + what);
  });
  result.card.created = base::today();
  result.card.split = split_of(experiment, training.rounds());
  result.card.versions.insert(result.card.versions.begin(), {"tilecast", TILECAST_VERSION});
  hybrid::save_hybrid(result.card, result.model->parts(), result.training_csv, arguments.directory,
                      arguments.force);
  write(arguments.output,
        arguments.output.format == "json"
            ? views::hybrid_json(result, training.experiment(), arguments.directory)
            : views::hybrid_text(result, training.experiment(), arguments.directory));
}

// The hybrid that --learner names, or the only thing there is to train; "": a learner.
std::string hybrid_asked_for(const TrainArguments& arguments,
                             const validation::Experiment& experiment) {
  if (experiment.hybrids.empty()) return "";
  std::vector<std::string> names;
  for (const learned::LearnerSpec& learner : experiment.learners) names.push_back(learner.name);
  for (const hybrid::HybridSpec& spec : experiment.hybrids) names.push_back(spec.name);
  std::string wanted = arguments.learner;
  if (wanted.empty() && names.size() > 1) {
    throw Error(
        fmt::format("{}: {} learners and hybrids, expected one; choose it with --learner: {}",
                    experiment.file, names.size(), fmt::join(names, ", ")));
  }
  if (wanted.empty()) wanted = names.front();
  if (std::ranges::find(names, wanted) == names.end()) {
    throw Error(fmt::format("{}: no learner or hybrid is called '{}'; there are: {}",
                            experiment.file, wanted, fmt::join(names, ", ")));
  }
  return experiment.learner(wanted) == nullptr ? wanted : "";
}

void run(const TrainArguments& arguments) {
  if (learned::is_graph_training(arguments.experiment)) {
    return train_graphs({.file = arguments.experiment,
                         .directory = arguments.directory,
                         .force = arguments.force,
                         .resume = arguments.resume,
                         .dry_run = arguments.dry_run,
                         .jobs = arguments.jobs},
                        arguments.output);
  }
  const validation::Experiment experiment = validation::read_experiment(arguments.experiment);
  validation::ExperimentData data(data_folder(arguments.data, arguments.experiment));
  if (const auto missing = data.missing(experiment)) {
    throw Error(
        fmt::format("{}: {} not found; name the folder of third-party data with --data "
                    "or $TILECAST_SHARED",
                    arguments.experiment, *missing));
  }
  if (!arguments.dry_run && arguments.directory.empty()) {
    throw UsageError("--out is required: the folder of the model");
  }
  const std::string name = hybrid_asked_for(arguments, experiment);
  if (name.empty()) return train_learner(arguments, experiment, data);
  train_hybrid(arguments, experiment, name, data);
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App& verb = *app.add_subcommand(
      "train", "train a model of kernel times, or fit a hybrid, on measurements");
  verb.add_option("experiment", arguments->experiment,
                  "experiment (YAML) with learners, data and a split; or a training on graphs")
      ->required()
      ->type_name("FILE");
  verb.add_option("--learner", arguments->learner,
                  "which learner or hybrid; not needed when there is one")
      ->type_name("NAME");
  verb.add_option("--out", arguments->directory, "folder of the model, made here")
      ->type_name("FOLDER");
  verb.add_flag("--force", arguments->force, "replace an existing model");
  verb.add_flag("--resume", arguments->resume,
                "resume an interrupted training from FOLDER.checkpoint (networks)");
  verb.add_flag("--dry-run", arguments->dry_run, "show what would be trained, on which rows");
  verb.add_option("--data", arguments->data,
                  "folder of third-party data; default: $TILECAST_SHARED, else ../shared beside "
                  "the repository")
      ->type_name("FOLDER");
  add_output_options(verb, arguments->output, {"table", "json"});
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      "Trains on the rows that the first round of the experiment's split fits, and reports how "
      "the\n"
      "model does on the held-out ones, beside roofline and analytical on the same rows. The\n"
      "folder holds the model, its card (model.yaml) and its log (training.csv). A hybrid of the\n"
      "experiment is fitted: constants, then the learner that trials choose, then how far to "
      "trust\n"
      "it; its folder is a --model of simulate, explain, tiles, compare and evaluate.\n"
      "A file of format tilecast.graph_training/1 trains on graphs of `import tpugraphs`.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
