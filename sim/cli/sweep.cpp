#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/study/study_run.h"
#include "sim/study/study_table.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

struct SweepArguments {
  std::string study, pareto, optimise;
  JournalOptions journal;
  std::size_t evaluations = 200;
  std::optional<std::uint64_t> seed;
  OutputOptions output;
  bool front = false;
  int jobs = 1;
};

void report_failures(const measured::CsvTable& table) {
  std::size_t failed = 0;
  std::string first;
  for (const measured::CsvRow& row : table.rows) {
    const std::string_view error = table.cell(row, "error");
    if (error.empty()) continue;
    if (failed++ == 0) first = fmt::format("point {}: {}", table.cell(row, "point"), error);
  }
  if (failed > 0) {
    tell("note: {} of {} rows have no result; the first: {}", failed, table.rows.size(), first);
  }
}

// The table of a completed study; nullopt on ranks above 0 and after Ctrl-C.
std::optional<measured::CsvTable> run_study(const Study& study, const SweepArguments& arguments,
                                            const CLI::App& verb, const std::string& journal) {
  const StudyRun run(study);
  const std::unique_ptr<base::Ranks> ranks = base::launched_ranks();
  const bool leads = !ranks || ranks->rank() == 0;
  Progress progress("swept", leads ? run.points() : 0);
  const base::Jobs jobs{.count = run.points(),
                        .run = [&](std::size_t point) { return run.rows(point); },
                        .threads = threads_of(verb, arguments.jobs),
                        .journal = journal,
                        .identity = run.identity(),
                        .resume = arguments.journal.resume,
                        .progress = [&](std::size_t done) { progress.show(done, ""); },
                        .stop = [] { return Interrupt::asked(); }};
  const base::JobResults results = base::run_jobs(jobs, ranks.get());
  if (!results.complete) return std::nullopt;
  return run.table(results.results);
}

// The objective of --optimise, or the first one of the study.
StudyObjective one_objective(const Study& study, const SweepArguments& arguments) {
  if (arguments.optimise.empty() && study.objectives.empty()) {
    throw UsageError("{}: --optimise: the study has no objectives; expected --optimise COLUMN",
                     study.file);
  }
  const StudyObjective objective = arguments.optimise.empty()
                                       ? study.objectives.front()
                                       : named_objectives(arguments.optimise).front();
  check_objective(study, objective);
  return objective;
}

void write_study(const OutputOptions& options, const Study& study,
                 const measured::CsvTable& table) {
  if (options.format == "json") {
    write(options, views::json_text(study_document(study, table)));
  } else {
    write_rows(options, table, "");
  }
}

void optimise(const Study& study, const SweepArguments& arguments) {
  if (base::under_mpirun()) {
    throw UsageError("--optimise: each machine follows from those before; run it without mpirun");
  }
  const StudyObjective objective = one_objective(study, arguments);
  const std::string journal = journal_file(arguments.journal, arguments.output);
  const StudyRun run(study);
  StudyOptimum found;
  {
    const Interrupt interrupt;
    Progress progress("optimised", arguments.evaluations);
    found = study_optimum(study, run,
                          {.objective = objective,
                           .evaluations = arguments.evaluations,
                           .seed = arguments.seed.value_or(study.seed),
                           .journal = journal,
                           .resume = arguments.journal.resume,
                           .progress = [&](std::size_t done) { progress.show(done, ""); },
                           .stop = [] { return Interrupt::asked(); }});
  }
  if (!found.complete) {
    end_interrupted(journal);
    return;
  }
  report_failures(found.table);
  if (arguments.output.format == "table") {
    write(arguments.output,
          views::rows_text(short_table(study, found.improving)) + "\n" + found.summary + "\n");
  } else {
    write_study(arguments.output, study, found.table);
    tell("note: {}", found.summary);
  }
  end_journal(arguments.journal, journal);
}

void sweep(const SweepArguments& arguments, const CLI::App& verb) {
  const Study study = load_study(arguments.study);
  if (verb.count("--optimise") > 0) {
    optimise(study, arguments);
    return;
  }
  const std::vector<StudyObjective> objectives =
      front_objectives(study, arguments.pareto, arguments.front);
  const std::string journal = journal_file(arguments.journal, arguments.output);
  std::optional<measured::CsvTable> table;
  {
    const Interrupt interrupt;
    table = run_study(study, arguments, verb, journal);
  }
  if (!table) {
    if (Interrupt::asked()) end_interrupted(journal);
    return;
  }
  report_failures(*table);
  if (!objectives.empty()) *table = pareto_rows(study, *table, objectives);
  if (arguments.output.format == "table") *table = short_table(study, *table);
  write_study(arguments.output, study, *table);
  end_journal(arguments.journal, journal);
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App& verb = *app.add_subcommand("sweep", "programs on many machines: a study");
  add_required(verb, "study", arguments->study, "STUDY.yaml",
               "what to compare; see docs/studies.md");
  add_output_options(verb, arguments->output, {"table", "csv", "json"});
  add_journal_options(verb, arguments->journal);
  add_value(verb, "--pareto", arguments->pareto, "COLUMN,COLUMN",
            "feasible rows that none of their program and model beats in all of these columns; a "
            "minus before one: larger is better");
  verb.add_flag("--front", arguments->front, "as --pareto, by the objectives of the study")
      ->excludes(verb.get_option("--pareto"));
  add_value(verb, "--optimise", arguments->optimise, "COLUMN",
            "search the ranges of the axes for the machine where this column, else the first "
            "objective of the study, is least (a minus before it: most) under the constraints; "
            "list values and whole numbers are rounded")
      ->expected(0, 1)
      ->excludes("--pareto")
      ->excludes("--front");
  add_number(verb, "--evaluations", arguments->evaluations, 1, 1'000'000,
             "machines --optimise may try")
      ->needs("--optimise");
  verb.add_option("--seed", arguments->seed, "of --optimise; default: that of the study")
      ->needs("--optimise");
  add_jobs_option(verb, arguments->jobs);
  verb.callback([arguments, &verb] { sweep(*arguments, verb); });
}

}  // namespace tilecast::sim::cli
