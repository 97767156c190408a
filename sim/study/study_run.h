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
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/load_program.h"
#include "measured/csv.h"
#include "sim/model_choice.h"
#include "sim/study/study_points.h"

namespace tilecast::sim {

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

}  // namespace tilecast::sim
