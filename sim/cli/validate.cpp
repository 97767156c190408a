#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/training.h"
#include "sim/views/experiment.h"
#include "sim/views/label_experiment.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "validation/experiments";

struct ValidateArguments {
  std::vector<std::string> files;
  std::string data;
  OutputOptions output;
  int jobs = 1;
};

// Here, or in the source tree whose presets are used.
fs::path shipped_folder() {
  std::error_code failure;
  if (fs::is_directory(kFolder, failure)) return kFolder;
  const std::vector<std::string> presets = hwdesc::preset_names();
  if (!presets.empty()) {
    const fs::path devices = fs::path(hwdesc::preset_path(presets.front())).parent_path();
    const fs::path folder = (devices / "../.." / kFolder).lexically_normal();
    if (fs::is_directory(folder, failure)) return folder;
  }
  throw Error(fmt::format("no folder {} here; name the experiments to run", kFolder));
}

std::vector<std::string> files_of(const ValidateArguments& arguments) {
  if (!arguments.files.empty()) return arguments.files;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(shipped_folder())) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  if (files.empty()) throw Error(fmt::format("{}: no experiments", shipped_folder().string()));
  return files;
}

void write_results(const ValidateArguments& arguments,
                   std::span<const validation::ExperimentResult> results,
                   std::span<const views::SkippedExperiment> skipped) {
  if (arguments.output.format == "json") {
    return write(arguments.output, views::experiments_json(results, skipped));
  }
  std::string text;
  for (const validation::ExperimentResult& result : results) {
    if (!text.empty()) text += "\n";
    text += views::experiment_text(result);
  }
  write(arguments.output, text);
}

struct Run {
  std::vector<validation::ExperimentResult> results;
  std::vector<views::SkippedExperiment> skipped, failed;
};

Run run_all(const ValidateArguments& arguments,
            std::span<const validation::Experiment> experiments) {
  Run run;
  validation::ExperimentData data(data_folder(arguments.data, experiments.front().file));
  Progress progress("validate: experiments", experiments.size());
  std::size_t finished = 0;
  const auto step = [&](std::size_t fits, std::size_t of) {
    if (of > 1) progress.show(finished, fmt::format(", fit {} of {}", fits, of));
  };
  for (const validation::Experiment& experiment : experiments) {
    if (const auto missing = data.missing(experiment)) {
      run.skipped.push_back({experiment.name, *missing + " not found"});
    } else {
      try {
        run.results.push_back(
            validation::run_experiment(experiment, data, {.jobs = arguments.jobs, .step = step}));
      } catch (const Error& error) {
        run.failed.push_back({experiment.name, error.what()});
      }
    }
    progress.show(++finished, "");
  }
  return run;
}

void run_labels(const ValidateArguments& arguments) {
  const auto experiment = validation::read_label_experiment(arguments.files.front());
  std::optional<Progress> progress;
  std::once_flag first;
  const auto step = [&](std::size_t done, std::size_t of) {
    std::call_once(first, [&] { progress.emplace("validate: trainings", of); });
    progress->show(done, "");
  };
  const auto result = validation::run_label_experiment(experiment, arguments.jobs, step);
  write(arguments.output, arguments.output.format == "json" ? views::label_experiment_json(result)
                                                            : views::label_experiment_text(result));
}

void run(const ValidateArguments& arguments) {
  if (arguments.files.size() == 1 && validation::is_label_experiment(arguments.files.front())) {
    return run_labels(arguments);
  }
  std::vector<validation::Experiment> experiments;
  for (const std::string& file : files_of(arguments)) {
    experiments.push_back(validation::read_experiment(file));
  }
  const Run done = run_all(arguments, experiments);
  for (const views::SkippedExperiment& one : done.skipped) {
    fmt::print(stderr, "skipped: {}: {}\n", one.name, one.why);
  }
  if (!done.results.empty()) write_results(arguments, done.results, done.skipped);
  for (const views::SkippedExperiment& one : done.failed) {
    fmt::print(stderr, "failed: {}: {}\n", one.name, one.why);
  }
  if (!done.failed.empty()) {
    throw Error(fmt::format("validate: {} of {} experiments failed", done.failed.size(),
                            experiments.size()));
  }
  if (done.results.empty()) {
    throw Error(
        "validate: nothing ran; name the folder of third-party data with --data or "
        "$TILECAST_SHARED");
  }
}

}  // namespace

void add_validate(CLI::App& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App& verb = *app.add_subcommand("validate", "run experiments: what our claims rest on");
  verb.add_option("experiments", arguments->files,
                  "experiment files (YAML); without: all in validation/experiments")
      ->type_name("FILE");
  verb.add_option("--data", arguments->data,
                  "folder of third-party data; default: $TILECAST_SHARED, else ../shared beside "
                  "the repository")
      ->type_name("FOLDER");
  add_output_options(verb, arguments->output, {"table", "json"});
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      "Every experiment names its data, what is fitted and what is scored, and its bars; both\n"
      "sides are disjoint and all columns answer the same rows. Experiments whose data is not\n"
      "found are skipped. A bar that is not met is part of the answer, not a failure. A file of\n"
      "format tilecast.label_experiment/1 is run alone: learners of registers, spills and the "
      "like.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
