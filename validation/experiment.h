// A claim about accuracy as a file (format tilecast.experiment/1) that one command checks: data,
// what is learned from it and how it is scored (sim/training/training_file.h), and
//
//   claim: One sentence.
//   default: {column: x_name, like: ["*.c0.*"]}         rows of their program's default run
//   others: {compiler: x_compiler_cycles}                columns that stand in the sets: others'
//   estimates columns: [roofline, bottleneck, analytical, analytical_scaled, calibrated, trees,
//   hybrid] by_kernel: ["tiles: *"]                   patterns of the kernels to show as strata
//   bars:
//     - {metric: mape, column: calibrated, stratum: class matmul, at_most: 6 %}
//     - {metric: mape, column: hybrid, stratum: every class, not_above: analytical, by: 1 %}
//     - {metric: mape, column: hybrid, below: best other}     among the columns, on the same rows
//   published: [{column: trees, metric: mape, source: kaufman_mlsys_2021, where: Table 3,
//                subject: vanilla, in: mean}]     measured/reference_rows.h; shown next to ours
//   directions: [{better: trees, than: analytical, metric: mape, finding: What was found.}]
//
// Reading is strict: Error with file, line, column and key. Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measured/reference_rows.h"
#include "sim/training/training_file.h"

namespace tilecast::validation {

enum class Statistic { kMean, kWorst };  // over seeds

// As a bar's limit: the best other column on the same rows.
inline constexpr std::string_view kBestOther = "best other";

// value <= limit, value >= limit, or value < limit; the limit is a number, another column or the
// best other one, and `not_above: COLUMN, by: 1 %` is value <= that column's value + margin. In a
// stratum "mean over class" the value is the mean over the classes.
struct Bar {
  enum class Kind { kAtMost, kAtLeast, kBelow };
  measured::Metric metric = measured::Metric::kMape;
  std::string column;
  std::string stratum = "all";  // "class matmul", "set ops", "every class", "mean over kernel"
  Kind kind = Kind::kAtMost;
  double limit = 0;
  std::string limit_column = {};  // another column, kBestOther, or empty
  double margin = 0;              // added to the column's value
  Statistic over = Statistic::kMean;
};
inline constexpr std::string_view kLimits[] = {"at_most", "at_least", "below"};  // by Bar::Kind

// A published figure to show next to one of our columns.
struct Published {
  std::string column;
  measured::Metric metric = measured::Metric::kMape;
  measured::ReferenceRow row;
};

// A published finding to check: over seeds, `better` has the better metric.
struct Direction {
  std::string better, than;
  measured::Metric metric = measured::Metric::kMape;
  std::string stratum = "all", finding = {};
};

// Rows whose cell of `column` (of measurements.csv) matches a pattern (* and ?) are the default run
// of their program; their times determine the coefficients of analytical_scaled.
struct DefaultRun {
  std::string column;
  std::vector<std::string> like;
};

struct Experiment : sim::training::TrainingFile {
  std::string claim = {};
  std::vector<std::string> notes = {};
  std::optional<DefaultRun> default_run = {};      // if analytical_scaled is a column
  std::map<std::string, std::string> others = {};  // columns by the sets' cells, in any unit
  std::vector<std::string> columns = {};
  std::vector<std::string> kernels_shown = {};  // patterns; empty: all, if `by` has kernels
  std::vector<Bar> bars = {};
  std::vector<Published> published = {};
  std::vector<Direction> directions = {};

  [[nodiscard]] bool calibrates() const { return has_column("calibrated"); }
  [[nodiscard]] bool has_column(std::string_view column) const {
    return column_index(column) < columns.size();
  }
  [[nodiscard]] std::size_t column_index(std::string_view column) const;
  [[nodiscard]] bool repeats() const { return split.seeds > 1; }
};

// All experiments of FILE, or that of FILE#NAME; the first of a text.
[[nodiscard]] std::vector<Experiment> read_experiments(const std::string& path);
[[nodiscard]] Experiment parse_experiment(const std::string& text, const std::string& file);

}  // namespace tilecast::validation
