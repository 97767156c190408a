// Searches the best machine of a study: minimises (or maximises) an objective under its
// constraints.
//
//   StudyOptimum found = study_optimum(study, run, {.objective = study.objectives.front()});
//   found.table      // one row per machine, program and model; column `best`: 1 for the best
//   found.summary    // "... found in 200 evaluations; constraints active: area <= 400; ..."
//
// Range axes (range, log, latin, sobol) are searched between their ends, independent of their
// points; integers, the values of lists, and several devices are rounded numbers in the order
// written. With several programs or models the objective is its mean over their rows, and a machine
// is feasible if every row is. Machines that violate a constraint are simulated as well, because
// the search needs their values. Method: search/constrained_minimum.h. The result is the same bytes
// for a seed, after any number of interruptions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "measured/csv.h"
#include "sim/study/study_run.h"

namespace tilecast::sim {

struct OptimumOptions {
  StudyObjective objective;
  std::size_t evaluations = 200;  // machines, at most
  std::uint64_t seed = 1;
  std::string journal = {};  // base/jobs.h; empty: none
  bool resume = false;
  std::function<void(std::size_t done)> progress = {};
  std::function<bool()> stop = {};
};

struct StudyOptimum {
  bool complete = false;         // false: stopped; all else is empty
  std::string summary;           // a sentence
  measured::CsvTable table;      // by evaluation: columns of the run and `best`
  measured::CsvTable improving;  // rows of feasible machines better than all before
};

// Throws UsageError if no axis is a range, Error if no machine was feasible.
[[nodiscard]] StudyOptimum study_optimum(const Study& study, const StudyRun& run,
                                         const OptimumOptions& options);

}  // namespace tilecast::sim
