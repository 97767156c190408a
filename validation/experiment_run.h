// Runs an experiment: what was fitted, what was scored, and how every column did.
//
//   sim::training::ImportedData data("../shared");
//   ExperimentResult result = run_experiment(experiment, data, {});
//
// Fitted and scored rows are disjoint, by row and, unless rows of one kernel are sampled, by
// kernel: else Error. All columns answer the same rows. Folds are pooled; seeds give a mean and a
// worst. Learners train on one thread each, so that the answer does not depend on `jobs`. A class
// whose rows were not fitted has the dispatch its set publishes.
#pragma once

#include <functional>

#include "hybrid/hybrid_fit.h"
#include "sim/training/learned_rows.h"
#include "validation/experiment.h"

namespace tilecast::validation {

// What one hybrid was made of in a round.
struct HybridRound {
  std::string hybrid;
  hybrid::TrialReport report = {};
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t rows = 0, kernels = 0;  // it was fitted to
  double correlation = 0;
  std::vector<std::string> notes = {};  // hybrid::FittedHybrid::notes
};

// A hybrid fitted to the fitted rows of a round, asked for the scored ones, programs among them.
struct HybridAnswer : sim::training::RowAnswers {
  HybridRound round;
};
// The seed of round i is the spec's + i. What physics cannot answer a hybrid cannot either.
// Thread-safe, deterministic whatever `jobs`. Throws Error that names the hybrid.
[[nodiscard]] HybridAnswer answer_hybrid(const analytical::CostModel& prior,
                                         const hybrid::HybridSpec& spec,
                                         const sim::training::LoadedSets& loaded,
                                         const measured::Split& split, std::size_t round, int jobs);

// One fit.
struct Round {
  std::string name;  // "fold 1 of 5", "seed 3", "without softmax"; or empty
  std::size_t fit_rows = 0, fit_works = 0, score_rows = 0;
  bool fitted = false;               // the split asks for a fit
  bool calibrated = false;           // of constants
  bool accepted = false;             // of a device at least; else the descriptions were scored
  std::vector<std::string> changed;  // "matrix 1.050": constants that moved
  std::vector<std::string> scaled;   // "convolution x 1.20 (17 rows)": of analytical_scaled
  std::vector<sim::training::LearnedRound> learned;  // by learner
  std::vector<HybridRound> hybrids;                  // by hybrid
  std::vector<std::string> notes;  // of the calibrated column: hybrid::PreparedFit::notes
};

struct Cell {
  std::optional<double> value, worst;  // mean over seeds where there are several; the worst of them
  // Over rows, without seeds; over seeds (t-interval of at least three) where there are learners.
  std::optional<measured::Interval> interval;
  std::vector<std::optional<double>> by_seed;  // where there are several
};

struct ResultStratum {
  measured::Breakdown breakdown = measured::Breakdown::kAll;
  std::string name;
  std::size_t rows = 0, rows_measured = 0, works = 0;  // with seeds: of the first that has it
  std::size_t kernels_with_tiles = 0, kernels_without_fastest = 0;  // measured::Stratum
  std::vector<std::vector<Cell>> cells;  // by column, by measured::Metric

  [[nodiscard]] std::string title() const;  // "all", "class matmul"
};

struct BarResult {
  Bar bar;
  std::string stratum;  // one bar may be about several
  std::optional<double> value;
  double limit = 0;
  std::string limit_column = {};  // whose value the limit is; or empty
  bool met = false;               // never without a value
};

// Agrees, disagrees: the 95 % t-interval of the differences over seeds excludes 0. Else, and with
// fewer than three seeds, undecided.
struct DirectionResult {
  enum class Verdict { kAgrees, kDisagrees, kUndecided };
  Direction direction;
  std::optional<double> better, than;            // means over the seeds that have both
  std::optional<measured::Interval> difference;  // of `better` less `than`
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
  // Fits done and all of them; called from any thread.
  std::function<void(std::size_t, std::size_t)> step = {};
};

[[nodiscard]] ExperimentResult run_experiment(const Experiment& experiment,
                                              sim::training::ImportedData& data,
                                              const RunOptions& options);

}  // namespace tilecast::validation
