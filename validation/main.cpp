// Runs the experiments that support our claims. A separate program, because users of the command do
// not need it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/jobs.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/modules.h"
#include "sim/version.h"
#include "validation/experiment_views.h"

namespace tilecast::validation {
namespace {

namespace fs = std::filesystem;
using namespace sim::cli;  // NOLINT(google-build-using-namespace): the command line

constexpr const char* kFolder = "validation/experiments";

struct ValidateArguments {
  std::vector<std::string> files;
  std::string data;
  OutputOptions output;
  JournalOptions journal;
  int jobs = 1;
};

// In the current folder, or in the source tree whose presets are used.
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

struct Run {
  std::vector<std::string> results;  // texts, or JSON objects
  std::vector<SkippedExperiment> skipped, failed;
};

void write_results(const ValidateArguments& arguments, const Run& run) {
  if (arguments.output.format == "json") {
    return write(arguments.output, experiments_json(run.results, run.skipped));
  }
  write(arguments.output, fmt::format("{}", fmt::join(run.results, "\n")));
}

// The result of an experiment as a job: its outcome, then its text or the reason.
constexpr std::string_view kRan = "ran ", kSkipped = "skipped ", kFailed = "failed ";

std::string run_one(const Experiment& experiment, sim::training::ImportedData& data,
                    const RunOptions& options, bool json) {
  if (const auto missing = data.missing(experiment)) {
    return fmt::format("{}{} not found", kSkipped, *missing);
  }
  try {
    const auto result = run_experiment(experiment, data, options);
    return fmt::format("{}{}", kRan, json ? experiment_json(result) : experiment_text(result));
  } catch (const Error& error) {
    return fmt::format("{}{}", kFailed, error.what());
  }
}

Run sorted_out(std::span<const Experiment> experiments, std::span<const std::string> answers) {
  Run run;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string& answer = answers[i];
    if (answer.starts_with(kRan)) {
      run.results.push_back(answer.substr(kRan.size()));
    } else if (answer.starts_with(kSkipped)) {
      run.skipped.push_back({experiments[i].name, answer.substr(kSkipped.size())});
    } else {
      run.failed.push_back({experiments[i].name, answer.substr(kFailed.size())});
    }
  }
  return run;
}

// Identifies all inputs of the results except the contents of the data.
std::string identity_of(const ValidateArguments& arguments, const std::vector<std::string>& files) {
  std::string text = arguments.output.format + "\n" + arguments.data;
  for (const std::string& file : files) {
    const std::string path = sim::training::path_of(file);
    text += fmt::format("\n{}\n{}", file, base::SourceText::read_file(path).text());
  }
  return text;
}

// Each rank runs one experiment at a time, with its fits on the rank's threads; returns nullopt on
// ranks above 0 and after Ctrl-C.
std::optional<Run> run_all(const ValidateArguments& arguments, const CLI::App& verb,
                           const std::vector<std::string>& files, const std::string& journal) {
  std::vector<Experiment> experiments;
  for (const std::string& file : files) {
    std::ranges::move(read_experiments(file), std::back_inserter(experiments));
  }
  sim::training::ImportedData data(sim::data_folder(arguments.data, experiments.front().file));
  const std::unique_ptr<base::Ranks> ranks = base::launched_ranks();
  const bool leads = !ranks || ranks->rank() == 0;
  Progress progress("validate: experiments", leads ? experiments.size() : 0);
  std::atomic<std::size_t> finished = 0;
  const auto step = [&](std::size_t fits, std::size_t of) {
    if (of > 1) progress.show(finished, fmt::format(", fit {} of {}", fits, of));
  };
  const RunOptions options{.jobs = threads_of(verb, arguments.jobs), .step = step};
  const base::Jobs jobs{.count = experiments.size(),
                        .run =
                            [&](std::size_t i) {
                              return run_one(experiments[i], data, options,
                                             arguments.output.format == "json");
                            },
                        .threads = 1,
                        .journal = journal,
                        .identity = identity_of(arguments, files),
                        .resume = arguments.journal.resume,
                        .progress = [&](std::size_t done) { finished = done; },
                        .stop = [] { return Interrupt::asked(); }};
  const base::JobResults done = base::run_jobs(jobs, ranks.get());
  if (!done.complete) return std::nullopt;
  return sorted_out(experiments, done.results);
}

void report(const ValidateArguments& arguments, const Run& done) {
  for (const SkippedExperiment& one : done.skipped) {
    tell(fmt::format("skipped: {}: {}", one.name, one.why));
  }
  if (!done.results.empty()) write_results(arguments, done);
  for (const SkippedExperiment& one : done.failed) {
    tell(fmt::format("failed: {}: {}", one.name, one.why));
  }
}

void fail_where_incomplete(const Run& done) {
  if (!done.failed.empty()) {
    throw Error(fmt::format("{} of {} experiments failed", done.failed.size(),
                            done.results.size() + done.skipped.size() + done.failed.size()));
  }
  if (done.results.empty()) {
    throw Error(
        "nothing ran; name the folder of third-party data with --data or "
        "$TILECAST_SHARED");
  }
}

void run(const ValidateArguments& arguments, const CLI::App& verb) {
  const std::string journal = journal_file(arguments.journal, arguments.output);
  std::optional<Interrupt> interrupt;
  if (!journal.empty()) interrupt.emplace();
  const std::optional<Run> done = run_all(arguments, verb, files_of(arguments), journal);
  interrupt.reset();
  if (!done) {
    if (Interrupt::asked()) end_interrupted(journal);
    return;
  }
  report(arguments, *done);
  end_journal(arguments.journal, journal);
  fail_where_incomplete(*done);
}

int validate(int argc, char** argv) {
  CLI::App app("Runs experiments: what our claims rest on.", "validate");
  app.set_version_flag("--version", fmt::format("tilecast {}", sim::version()));
  ValidateArguments arguments;
  app.add_option("experiments", arguments.files,
                 "experiment files (YAML), or FILE#NAME; without: all in validation/experiments")
      ->type_name("FILE");
  app.add_option("--data", arguments.data,
                 "folder of third-party data; default: $TILECAST_SHARED, else ../shared beside "
                 "the repository")
      ->type_name("FOLDER");
  add_output_options(app, arguments.output, {"table", "json"});
  add_journal_options(app, arguments.journal);
  add_jobs_option(app, arguments.jobs);
  app.footer(
      "Every experiment names its data, what is fitted and what is scored, and its bars; both\n"
      "sides are disjoint and all columns answer the same rows. Experiments whose data is not\n"
      "found are skipped. A bar that is not met is part of the answer, not a failure. FILE#NAME\n"
      "is one experiment of a file with several.");
  app.callback([&] { run(arguments, app); });
  return parse_and_run(app, argc, argv);
}

}  // namespace
}  // namespace tilecast::validation

int main(int argc, char** argv) {
  return tilecast::sim::cli::program(argc, argv, &tilecast::validation::validate);
}
