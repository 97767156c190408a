// Enumerates the machines of a study: devices outermost, then grid axes in the order written,
// samples innermost. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "measured/csv.h"
#include "search/sampling.h"
#include "sim/model_choice.h"
#include "sim/study/study.h"

namespace tilecast::sim {

struct StudyMachine {
  std::size_t point = 0;
  const StudyDevice* base = nullptr;
  hwdesc::Overrides overrides;  // one per axis, in their order
};

class StudyPoints {
 public:
  // `study` must outlive it. Throws Error for more than 1e8 points.
  explicit StudyPoints(const Study& study);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const StudyDevice& device(std::size_t point) const;
  [[nodiscard]] hwdesc::Overrides overrides(std::size_t point) const;
  [[nodiscard]] StudyMachine machine(std::size_t point) const {
    return {point, &device(point), overrides(point)};
  }

 private:
  const Study& study_;
  search::Points latin_, sobol_;  // [sample][axis of the kind]
  std::size_t size_ = 1;
};

// The value at the fraction `share` (0 to 1) of a range axis, as an override text.
[[nodiscard]] std::string axis_value(const StudyAxis& axis, double share);

// Runs a study: one row for every point, program and model.
//
//   StudyRun run(study, jobs);
//   base::JobResults rows = base::run_jobs({.count = run.points(), .run = [&](std::size_t point) {
//     return run.rows(point); }, ...});
//   measured::CsvTable table = run.table(rows.results);
//
// Programs, models and descriptions are read once; for each point, keys of the parsed description
// are changed, as by --set. A point that violates a constraint on the description is not simulated;
// one that cannot be described or simulated has the reason in column `error`. Both have no results
// and are infeasible. Thread-safe once constructed.

// The result for a machine that need not be a point of the study.
struct StudyAnswer {
  std::string rows;            // as StudyRun::rows, but with results if a constraint is violated
  double objective = 0;        // mean over the rows; NaN: a row has none
  std::vector<double> slacks;  // per constraint: minimum of the rows (base/formula.h), or NaN
  bool feasible = false;       // in every row
};

class StudyRun {
 public:
  // `study` must outlive it. Throws Error if a program or model cannot be read.
  explicit StudyRun(const Study& study);

  [[nodiscard]] std::size_t points() const { return points_.size(); }
  // Identifies all inputs of the rows: study, descriptions, programs, models. For journals.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // Lines of CSV; deterministic.
  [[nodiscard]] std::string rows(std::size_t point) const;
  [[nodiscard]] StudyAnswer answer(const StudyMachine& machine,
                                   const StudyObjective& objective) const;
  // `rows`: for points 0, 1, ...
  [[nodiscard]] measured::CsvTable table(std::span<const std::string> rows) const;

 private:
  struct Program {
    ir::LoadedModule loaded;
    // One program per array layout of devices; a few are cached, then rebuilt.
    mutable std::map<std::string, std::unique_ptr<const ir::DeviceProgram>> built;
  };
  struct Point;
  const ir::DeviceProgram& program_for(std::size_t program, const hwdesc::Device& device,
                                       std::unique_ptr<const ir::DeviceProgram>& own) const;
  [[nodiscard]] Point described(StudyMachine machine) const;
  // The cells of the point's row for one program and model; adds the results to the point.
  [[nodiscard]] std::vector<std::string> row(Point& point, std::size_t program,
                                             std::size_t model) const;

  const Study& study_;
  StudyPoints points_;
  std::vector<std::string> columns_;
  std::vector<Program> programs_;
  std::vector<std::vector<ChosenModel>> models_;  // [device][model]
  mutable std::mutex mutex_;                      // guards programs_[].built
};

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
