// Models against measurements: every model is scored on the same rows, by op class, size, split and
// kernel, with 95 % bootstrap intervals (metrics: measured/metrics.h).
//
//   ScoreSheet sheet{.columns = {"roofline", "analytical"}};
//   add_answers(sheet, answers);                       // one Answers per column, for every set
//   Evaluation result = evaluate(sheet, {.by = {Breakdown::kOpClass}});
//
// A row that one model did not answer is scored for none. Ranking metrics are over the works with
// at least two tiles measured. Plain values, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measured/metrics.h"
#include "measured/samples.h"

namespace tilecast::measured {

// A measurement set as reports name it.
struct ScoredSet {
  std::string name, hash;
  std::string device;  // the rows were measured on, as the set calls it
  Manifest manifest;
  std::vector<RowFault> faults;   // rows left out
  std::size_t rows = 0;           // rows kept
  std::size_t with_dispatch = 0;  // of them: hold a host dispatch nobody measured
};

struct ScoredWorkload {
  std::string name, op_class, family;
  std::size_t set = 0;
};

struct ScoredRow {
  std::size_t set = 0, work = 0;  // into ScoreSheet
  int line = 0;                   // of the set's measurements.csv
  std::string split, tile;        // tile: and parameters ("out=8x4 p_unroll=2"); as text, or empty
  double measured_s = 0;
  int repeats = 1;                                       // runs
  std::vector<std::optional<double>> predicted_s;        // per column; nullopt: not answered
  std::vector<std::optional<Interval>> interval_s = {};  // per column, 90 %; or empty: none has any
};

struct ScoreSheet {
  std::vector<std::string> columns = {};  // the models' names
  std::vector<ScoredSet> sets = {};
  std::vector<ScoredWorkload> works = {};
  std::vector<ScoredRow> rows = {};
  // By column, or empty: its numbers only order the tiles of a kernel. Other metrics of it are
  // undefined.
  std::vector<bool> ranks_only = {};
};

// What one column says about one set, prepared for the column's device.
struct Answers {
  const SampleSet& samples;
  const std::vector<Prediction>& predictions;  // one per sample
};

// Appends one set: rows are joined by line; one that a column's device has no sample of is not
// answered by it. Predictions that are no positive finite time count as not answered.
void add_answers(ScoreSheet& sheet, std::span<const Answers> per_column);

enum class Metric {
  kMape,
  kMedianApe,
  kP90Ape,
  kBias,
  kTotal,
  kLogL1,   // mean |log(predicted / measured)|
  kRowTau,  // tau-b over all rows of the stratum: do the models order programs, operators, kernels?
  kCoverage,       // share of rows inside their 90 % interval; undefined without intervals
  kIntervalWidth,  // mean of high / low - 1
  kMapeSurest25,   // MAPE of the quarter of the rows with the narrowest intervals, and so on
  kMapeSurest50,
  kMapeSurest75,
  kAnnounced,  // share of the errors above 2 x that the interval had announced (announced_share)
  kTileTau,    // from here on: within kernels, over their tiles
  kTileSizeApe,
  kTop1Slowdown,
  kTop1SlowdownP90,  // of nine kernels of ten at most
  kTop5Slowdown,
  kTop10Slowdown,
  kBestInTop1,
  kBestInTop5,
  kBestInTop10,
  kBestInTopTenth,  // best found when a tenth of a kernel's tiles is measured, predicted fastest
  kTop1Within2      // share of kernels whose predicted fastest is within 2 % of the best
};
constexpr std::size_t kMetricCount = 24;
[[nodiscard]] std::string_view name(Metric metric);  // "mape", "tile_size_ape", ...
// Predicted over measured: 1 is best, and neither side of it is better.
[[nodiscard]] constexpr bool is_ratio(Metric metric) {
  return metric == Metric::kBias || metric == Metric::kTotal;
}
[[nodiscard]] constexpr bool ranks_tiles(Metric metric) {
  return metric >= Metric::kTileTau;
}

struct Score {
  std::optional<double> value;       // fractions, not %
  std::optional<Interval> interval;  // absent for fewer than three rows or kernels to resample
};

// One model on one stratum.
struct Scores {
  std::size_t answered = 0;        // of Stratum::rows_measured
  std::size_t kernels_ranked = 0;  // of Stratum::kernels_with_tiles: predictions not all equal
  Score values[kMetricCount];      // ranking metrics are nullopt when kernels_ranked is 0

  [[nodiscard]] const Score& operator[](Metric metric) const {
    return values[static_cast<std::size_t>(metric)];
  }
};

enum class Breakdown { kAll, kSet, kOpClass, kSize, kSplit, kFamily, kKernel };
[[nodiscard]] std::string_view name(Breakdown breakdown);  // "all", "set", "class", "size", ...

struct Stratum {
  Breakdown breakdown = Breakdown::kAll;
  std::string name;
  std::size_t rows_measured = 0, rows = 0;        // rows: those that every model answered
  std::size_t works = 0, kernels_with_tiles = 0;  // of `rows`
  // Of those: the fastest tile measured is one that not every model answered, so that what a model
  // loses is against the fastest answered.
  std::size_t kernels_without_fastest = 0;
  std::vector<Scores> columns;
};

struct EvaluationOptions {
  std::vector<Breakdown> by = {Breakdown::kOpClass};
  // Kernels are large or small by their fastest measured time, as one: their tiles stay together.
  Seconds small = Seconds{5e-6};
  BootstrapOptions bootstrap = {};  // fewer draws, down to 200, for large strata
  int jobs = 1;                     // the answer does not depend on it
};

struct Evaluation {
  std::vector<std::string> columns;
  std::vector<Stratum> strata;  // all; then sets when there are several; then as asked, by name
};

[[nodiscard]] Evaluation evaluate(const ScoreSheet& sheet, const EvaluationOptions& options = {});

}  // namespace tilecast::measured
