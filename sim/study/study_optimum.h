// The best machine of a study: where an objective is least (or most) under its constraints.
//
//   StudyOptimum found = study_optimum(study, run, {.objective = study.objectives.front()});
//   found.table            // a row per machine asked, program and model; `best`: 1 on the found
//   one found.summary          // "... found in 200 evaluations; constraints active: area <= 400;
//   ..."
//
// Axes that are ranges (range, log, latin, sobol) are searched between their ends, whatever their
// points; whole numbers and the values of lists, and devices where there are several, as rounded
// numbers in the order written. With several programs or models the objective is its mean over
// their rows, and a machine is feasible where every row is. Machines that break a constraint are
// simulated, too: the search needs to know where they lie. Method: search/constrained_minimum.h.
// The same bytes for a seed, and after any number of interruptions.
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
  std::string journal = {};  // base/journal.h; empty: none
  bool resume = false;
  std::function<void(std::size_t done)> progress = {};
  std::function<bool()> stop = {};
};

struct StudyOptimum {
  bool complete = false;         // false: it was stopped, and there is nothing else
  std::string summary;           // a sentence
  measured::CsvTable table;      // by evaluation: columns of the run and `best`
  measured::CsvTable improving;  // of it, feasible machines better than all before; the best last
};

// Throws UsageError where no axis is a range, Error where no machine was feasible.
[[nodiscard]] StudyOptimum study_optimum(const Study& study, const StudyRun& run,
                                         const OptimumOptions& options);

}  // namespace tilecast::sim
