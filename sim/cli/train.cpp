#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/modules.h"

namespace tilecast::sim::cli {
namespace {

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

void run(const TrainArguments& arguments) {
  const TrainingRequest& request = arguments.request;
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
believe it; its folder is a --model of simulate, explain, tiles, compare and evaluate.)");
  verb.callback([arguments] { run(*arguments); });
}

constexpr VerbModule kOffer = {&add_train};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(train, tilecast::sim::kVerbModuleAbi, &tilecast::sim::cli::kOffer)
