// Models against measurements: every model is scored on the same rows, by op class, size, split and
// kernel, with 95 % bootstrap intervals (metrics: measured/metrics.h).
//
//   ScoreSheet sheet{.columns = {"roofline", "analytical"}};
//   add_answers(sheet, answers);                       // one Answers per column, for every set
//   Evaluation result = evaluate(sheet, {.by = {Breakdown::kOpClass}});
//
// A row that some model did not answer is not scored for any model. Ranking metrics cover the works
// with at least two measured tiles. Plain values; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measured/metric_names.h"
#include "measured/metrics.h"
#include "measured/samples.h"

namespace tilecast::measured {

// A measurement set, as described in reports.
struct ScoredSet {
  std::string name, hash;
  std::string device;  // device the rows were measured on, by the set's name for it
  Manifest manifest;
  std::vector<RowFault> faults;   // rows left out
  std::size_t rows = 0;           // rows kept
  std::size_t with_dispatch = 0;  // rows whose time includes an unmeasured host dispatch
};

struct ScoredWorkload {
  std::string name, op_class, family;
  std::size_t set = 0;
};

struct ScoredRow {
  std::size_t set = 0, work = 0;  // into ScoreSheet
  int line = 0;                   // line in the set's measurements.csv
  std::string split, tile;        // tile and parameters as text ("out=8x4 p_unroll=2"), or empty
  double measured_s = 0;
  int repeats = 1;                                       // runs
  std::vector<std::optional<double>> predicted_s;        // per column; nullopt: no answer
  std::vector<std::optional<Interval>> interval_s = {};  // per column, 90 %; empty: no intervals
};

struct ScoreSheet {
  std::vector<std::string> columns = {};  // the models' names
  std::vector<ScoredSet> sets = {};
  std::vector<ScoredWorkload> works = {};
  std::vector<ScoredRow> rows = {};
  // Per column, or empty. True: the predictions only rank the tiles of a kernel, and all other
  // metrics of the column are undefined.
  std::vector<bool> ranks_only = {};
};

// The predictions of one column for one set, with the set's samples for the column's device.
struct Answers {
  const SampleSet& samples;
  const std::vector<Prediction>& predictions;  // one per sample
};

// Appends one set. Rows are matched by line; a column without a sample for a row has no answer for
// it. Predictions that are not positive finite times count as unanswered.
void add_answers(ScoreSheet& sheet, std::span<const Answers> per_column);

struct Score {
  std::optional<double> value;       // fractions, not %
  std::optional<Interval> interval;  // absent with fewer than three rows or kernels to resample
};

// The scores of one model on one stratum.
struct Scores {
  std::size_t answered = 0;         // rows answered, out of Stratum::rows_measured
  std::size_t kernels_ranked = 0;   // out of kernels_with_tiles: predictions not all equal
  Score values[kNamedMetricCount];  // ranking metrics are nullopt if kernels_ranked is 0

  [[nodiscard]] const Score& operator[](Metric metric) const {
    return values[static_cast<std::size_t>(metric)];
  }
};

enum class Breakdown { kAll, kSet, kOpClass, kSize, kSplit, kFamily, kKernel };
[[nodiscard]] std::string_view name(Breakdown breakdown);  // "all", "set", "class", "size", ...

struct Stratum {
  Breakdown breakdown = Breakdown::kAll;
  std::string name;
  std::size_t rows_measured = 0, rows = 0;        // rows: answered by every model
  std::size_t works = 0, kernels_with_tiles = 0;  // within `rows`
  // Kernels whose fastest measured tile was not answered by every model. Their slowdowns are
  // relative to the fastest answered tile.
  std::size_t kernels_without_fastest = 0;
  std::vector<Scores> columns;
};

struct EvaluationOptions {
  std::vector<Breakdown> by = {Breakdown::kOpClass};
  // Kernels count as small if their fastest measured tile takes less than this; all tiles of a
  // kernel are in the same size class.
  Seconds small = Seconds{5e-6};
  BootstrapOptions bootstrap = {};  // large strata use fewer draws, at least 200
  int jobs = 1;                     // does not affect the result
  bool row_spearman = false;        // whether to compute Metric::kRowSpearman
};

struct Evaluation {
  std::vector<std::string> columns;
  std::vector<Stratum> strata;  // all; sets if several; then options.by, sorted by name
};

[[nodiscard]] Evaluation evaluate(const ScoreSheet& sheet, const EvaluationOptions& options = {});

}  // namespace tilecast::measured
