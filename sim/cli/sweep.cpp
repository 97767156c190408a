#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/study/study_front.h"
#include "sim/study/study_run.h"
#include "sim/study/study_table.h"

namespace tilecast::sim::cli {
namespace {

struct SweepArguments {
  std::string study, journal, pareto;
  OutputOptions output;
  bool resume = false, front = false;
  int jobs = 1;
};

std::string journal_of(const SweepArguments& arguments) {
  if (!arguments.journal.empty()) return arguments.journal;
  if (!arguments.output.file.empty()) return arguments.output.file + ".journal";
  if (arguments.resume) {
    throw UsageError(
        "--resume: expected --journal FILE, or --output FILE, whose journal is FILE.journal");
  }
  return "";
}

// Under mpirun --jobs is of each rank, and one unless it was given.
int threads_of(const SweepArguments& arguments, const CLI::App& verb) {
  return base::under_mpirun() && verb.count("--jobs") == 0 ? 1 : arguments.jobs;
}

void report_failures(const measured::CsvTable& table) {
  std::size_t failed = 0;
  std::string first;
  for (const measured::CsvRow& row : table.rows) {
    const std::string_view error = table.cell(row, "error");
    if (error.empty()) continue;
    if (failed++ == 0) first = fmt::format("point {}: {}", table.cell(row, "point"), error);
  }
  if (failed > 0) {
    fmt::print(stderr, "note: {} of {} rows have no result; the first: {}\n", failed,
               table.rows.size(), base::printable(first));
  }
}

// The table of a complete study; nothing on ranks above 0 and after Ctrl-C.
std::optional<measured::CsvTable> run_study(const Study& study, const SweepArguments& arguments,
                                            const CLI::App& verb, const std::string& journal) {
  const StudyRun run(study);
  const std::unique_ptr<base::Ranks> ranks = base::launched_ranks();
  const bool leads = !ranks || ranks->rank() == 0;
  Progress progress("swept", leads ? run.points() : 0);
  const base::Jobs jobs{.count = run.points(),
                        .run = [&](std::size_t point) { return run.rows(point); },
                        .threads = threads_of(arguments, verb),
                        .journal = journal,
                        .identity = run.identity(),
                        .resume = arguments.resume,
                        .progress = [&](std::size_t done) { progress.show(done, ""); },
                        .stop = [] { return Interrupt::asked(); }};
  const base::JobResults results = base::run_jobs(jobs, ranks.get());
  if (!results.complete) return std::nullopt;
  return run.table(results.results);
}

void sweep(const SweepArguments& arguments, const CLI::App& verb) {
  const Study study = load_study(arguments.study);
  const std::vector<StudyObjective> objectives =
      front_objectives(study, arguments.pareto, arguments.front);
  const std::string journal = journal_of(arguments);
  std::optional<measured::CsvTable> table;
  {
    const Interrupt interrupt;
    table = run_study(study, arguments, verb, journal);
  }
  if (!table) {
    if (Interrupt::asked()) {
      if (!journal.empty()) fmt::print(stderr, "note: --resume goes on with {}\n", journal);
      end_as_interrupted();
    }
    return;
  }
  report_failures(*table);
  if (!objectives.empty()) *table = pareto_rows(study, *table, objectives);
  if (arguments.output.format == "table") *table = short_table(study, *table);
  write_rows(arguments.output, *table, "tilecast.sweep/1");
  if (arguments.journal.empty() && !journal.empty()) std::filesystem::remove(journal);
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App& verb = *app.add_subcommand("sweep", "programs on many machines: a study");
  verb.add_option("study", arguments->study, "what to compare; see docs/studies.md")
      ->required()
      ->type_name("STUDY.yaml");
  add_output_options(verb, arguments->output, {"table", "csv", "json"});
  verb.add_option("--journal", arguments->journal,
                  "file that keeps what is done; without it OUTPUT.journal, removed at the end")
      ->type_name("FILE");
  verb.add_flag("--resume", arguments->resume,
                "go on with the journal of a sweep that was broken off");
  verb.add_option(
          "--pareto", arguments->pareto,
          "feasible rows that none of their program and model beats in all of these columns; a "
          "minus before one: larger is better")
      ->type_name("COLUMN,COLUMN");
  verb.add_flag("--front", arguments->front, "as --pareto, by the objectives of the study")
      ->excludes(verb.get_option("--pareto"));
  add_jobs_option(verb, arguments->jobs);
  verb.callback([arguments, &verb] { sweep(*arguments, verb); });
}

}  // namespace tilecast::sim::cli
