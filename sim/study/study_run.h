// A study, run: a row for every point, program and model.
//
//   StudyRun run(study, jobs);
//   base::JobResults rows = base::run_jobs({.count = run.points(), .run = [&](std::size_t point) {
//     return run.rows(point); }, ...});
//   measured::CsvTable table = run.table(rows.results);
//
// Programs, models and descriptions are read once; for each point keys are changed in the parsed
// description, as --set does. A point that breaks a constraint which the description decides is not
// simulated; one that cannot be described or simulated says why in the column `error`: both have no
// results and are not feasible. Thread-safe once made.
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

// Of a machine that may be no point of the study.
struct StudyAnswer {
  std::string rows;            // as StudyRun::rows; a machine that breaks a constraint has results
  double objective = 0;        // mean over the rows; NaN: some row has none
  std::vector<double> slacks;  // least of the rows by constraint (base/formula.h); NaN: no result
  bool feasible = false;       // in every row
};

class StudyRun {
 public:
  // `study` outlives it. Throws Error where a program or model cannot be read.
  explicit StudyRun(const Study& study);

  [[nodiscard]] std::size_t points() const { return points_.size(); }
  // What the rows depend on: study, descriptions, programs, models. For journals.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // Lines of CSV, the same bytes whenever asked.
  [[nodiscard]] std::string rows(std::size_t point) const;
  [[nodiscard]] StudyAnswer answer(const StudyMachine& machine,
                                   const StudyObjective& objective) const;
  // `rows`: of points 0, 1, ...
  [[nodiscard]] measured::CsvTable table(std::span<const std::string> rows) const;

 private:
  struct Program {
    ir::LoadedModule loaded;
    // By how the device lays arrays out; a few, then they are built again.
    mutable std::map<std::string, std::unique_ptr<const ir::DeviceProgram>> built;
  };
  struct Point;
  const ir::DeviceProgram& program_for(std::size_t program, const hwdesc::Device& device,
                                       std::unique_ptr<const ir::DeviceProgram>& own) const;
  [[nodiscard]] Point described(StudyMachine machine) const;
  // The point with the results of one row; its cells.
  [[nodiscard]] std::vector<std::string> row(Point& point, std::size_t program,
                                             std::size_t model) const;

  const Study& study_;
  StudyPoints points_;
  std::vector<std::string> columns_;
  std::vector<Program> programs_;
  std::vector<std::vector<ChosenModel>> models_;  // by device, then model
  mutable std::mutex mutex_;                      // of programs_[].built
};

}  // namespace tilecast::sim
