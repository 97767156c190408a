// Runs an experiment: fits and scores rows, and collects the results of every column.
//
//   sim::training::ImportedData data("../shared");
//   ExperimentResult result = run_experiment(experiment, data, {});
//
// Fitted and scored rows are disjoint, by row and, unless rows of one kernel are sampled, by
// kernel; otherwise throws Error. All columns are scored on the same rows. Folds are pooled; for
// seeds, the mean and the worst are reported. Each learner trains on one thread, so the result does
// not depend on `jobs`. If no row of a class is fitted, the class has the dispatch published by its
// set.
//
// If the targets of all learners are quantities other than time, there is one stratum, all held-out
// rows, with the metrics of quantities; the split has one round. Each learner is scored on the
// held-out rows that have its own target, relative to the range of their labels.
#pragma once

#include <functional>

#include "hybrid/hybrid_fit.h"
#include "sim/training/training.h"
#include "validation/experiment.h"

namespace tilecast::validation {

// The composition of one hybrid in a round.
struct HybridRound {
  std::string hybrid;
  hybrid::TrialReport report = {};
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t rows = 0, kernels = 0;  // that it was fitted to
  double correlation = 0;
  std::vector<std::string> notes = {};  // hybrid::FittedHybrid::notes
};

// Predictions of a hybrid fitted to a round's fitted rows, for its scored rows, including whole
// programs.
struct HybridAnswer : sim::training::RowAnswers {
  HybridRound round;
};
// Round i uses the spec's seed + i. Without an analytical estimate there is no hybrid prediction.
// Thread-safe; the result does not depend on `jobs`. Throws Error that names the hybrid.
[[nodiscard]] HybridAnswer answer_hybrid(const analytical::CostModel& prior,
                                         const hybrid::HybridSpec& spec,
                                         const sim::training::LoadedSets& loaded,
                                         const measured::Split& split, std::size_t round, int jobs);

// One fit of an experiment.
struct Round {
  std::string name;  // "fold 1 of 5", "seed 3", "without softmax"; or empty
  std::size_t fit_rows = 0, fit_works = 0, score_rows = 0;
  std::size_t fit_programs = 0, score_works = 0, score_programs = 0;  // programs: families
  bool fitted = false;      // whether the split has fitted rows
  bool calibrated = false;  // whether constants were fitted
  bool accepted = false;    // for at least one device; else the original descriptions were scored
  std::vector<std::string> changed;  // "matrix 1.050": constants that changed
  std::vector<std::string> scaled;   // "convolution x 1.20 (17 rows)": for analytical_scaled
  std::vector<sim::training::LearnedRound> learned;  // by learner
  std::vector<HybridRound> hybrids;                  // by hybrid
  std::vector<std::string> notes;  // for the calibrated column: hybrid::PreparedFit::notes
};

struct Cell {
  std::optional<double> value, worst;  // mean and worst over seeds, if there are several
  // Over rows without seeds; over seeds (t-interval for at least three) if there are learners.
  std::optional<measured::Interval> interval;
  std::vector<std::optional<double>> by_seed;  // if there are several seeds
};

struct ResultStratum {
  measured::Breakdown breakdown = measured::Breakdown::kAll;
  std::string name;
  std::size_t rows = 0, rows_measured = 0, works = 0;  // with seeds: of the first seed that has it
  std::size_t kernels_with_tiles = 0, kernels_without_fastest = 0;  // measured::Stratum
  std::vector<std::vector<Cell>> cells;  // by column, by measured::Metric

  [[nodiscard]] std::string title() const;  // "all", "class matmul"
};

struct BarResult {
  Bar bar;
  std::string stratum;  // a bar may apply to several
  std::optional<double> value;
  double limit = 0;
  std::string limit_column = {};  // the column that gives the limit; or empty
  bool met = false;               // false if there is no value
};

// kAgrees, kDisagrees: the 95 % t-interval of the differences over seeds excludes 0. Otherwise, and
// with fewer than three seeds, kUndecided.
struct DirectionResult {
  enum class Verdict { kAgrees, kDisagrees, kUndecided };
  Direction direction;
  std::optional<double> better, than;            // means over the seeds that have both
  std::optional<measured::Interval> difference;  // of `better` minus `than`
  std::size_t seeds = 0;
  Verdict verdict = Verdict::kUndecided;
};

struct ExperimentResult {
  Experiment experiment;
  std::vector<sim::training::SetSummary> sets;
  std::vector<Round> rounds;
  std::vector<ResultStratum> strata;
  std::vector<BarResult> bars;
  std::vector<DirectionResult> directions;
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t refused() const;  // rounds
};

struct RunOptions {
  int jobs = 1;
  // Called with the number of finished fits and their total; on any thread.
  std::function<void(std::size_t, std::size_t)> step = {};
};

[[nodiscard]] ExperimentResult run_experiment(const Experiment& experiment,
                                              sim::training::ImportedData& data,
                                              const RunOptions& options);

}  // namespace tilecast::validation
