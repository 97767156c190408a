// Accuracy of learners on labels (registers, spills, utilisation, cycles, times), as a file (format
// tilecast.label_experiment/1) that `tilecast validate` runs:
//
//   format: tilecast.label_experiment/1
//   name: host_labels
//   claim: One sentence.
//   device: DEVICE                              preset or path
//   set: ../measured/host_labels.zip            from this file: a measurement set
//   rows: 5000                                  at random, at most; without: all
//   split: {by: family, test: 10 %, seed: 1, seeds: 3}        by: family (program) or kernel
//   targets: [{name: vector_registers}, {name: cycles, scale: log1p}, {name: runtime}]
//   physics: [prior]                            groups of features; without: []
//   learners: [{name: conv1d, model: network, encoding: text, ...}]      learned/training/
//   bars: [{target: vector_registers, metric: rmse, at_most: 7 %, learner: conv1d, physics: no}]
//
// Every learner is trained on every target, with its own features and, if `physics` has groups,
// again with these as well (networks: at the kernel; trees: in the table). The experiment sets the
// keys target and target_scale of learners; `extends` works as in experiments. The row `mean`
// predicts the mean of the training rows (rounded for counts); the row `analytical`, for times if a
// learner needs a prior, is the analytical model alone. Workloads are on one side only. Reading is
// strict: Error with file, line and column.
//
// Metrics, as means over the seeds: rmse, root mean square error divided by the range of all rows,
// as reported by Das and Mannarswamy (a fraction; for times: of log(seconds)); exact, for counts,
// the share of rows whose rounded prediction equals the label; spearman, rank correlation (ties
// share their rank).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/jobs.h"
#include "learned/training/learner.h"

namespace tilecast::validation {

enum class LabelMetric { kRmse, kExact, kSpearman };
inline constexpr std::string_view kLabelMetrics[] = {"rmse", "exact", "spearman"};

struct LabelBar {
  std::string target, learner;
  std::optional<bool> physics = {};  // features of physics; nullopt: the better of both
  LabelMetric metric = LabelMetric::kRmse;
  double limit = 0;  // maximum for rmse, minimum for the others
};

struct LabelExperiment {
  std::string file, name, claim, device, set;
  std::size_t rows = 0;  // 0: all
  learned::ValidateBy by = learned::ValidateBy::kFamily;
  double test = 0.1;  // share of the rows
  std::uint64_t seed = 1;
  std::size_t seeds = 1;
  std::vector<learned::Target> targets = {};
  std::vector<learned::FeatureGroup> physics = {};
  std::vector<learned::LearnerSpec> learners = {};
  std::vector<LabelBar> bars = {};
};
[[nodiscard]] bool is_label_experiment(const std::string& file);  // by its format
[[nodiscard]] LabelExperiment read_label_experiment(const std::string& file);
[[nodiscard]] LabelExperiment parse_label_experiment(const std::string& text,
                                                     const std::string& file);

struct LabelScore {
  std::string target, learner;
  bool physics = false;
  std::size_t train_rows = 0, test_rows = 0;  // of the first seed
  double rmse = 0;
  std::optional<double> exact, spearman, unknown_tokens;  // unknown: share in the test rows' texts
  double train_s = 0;                                     // of the longest training

  [[nodiscard]] std::optional<double> value(LabelMetric metric) const;
};
struct LabelBarResult {
  LabelBar bar;
  std::optional<double> value;
  bool met = false;
};
struct LabelResult {
  LabelExperiment experiment;
  std::string set_name, set_hash;
  std::vector<learned::Target> targets;  // with their units
  std::vector<LabelScore> scores;        // by target, then learner, then without and with physics
  std::vector<LabelBarResult> bars;
};

// Errors of `predicted` for `labels`, as in the metrics above. `range`: > 0.
struct LabelErrors {
  double rmse = 0;
  std::optional<double> exact, spearman;
};
[[nodiscard]] LabelErrors label_errors(const learned::Target& target, double range,
                                       std::span<const double> predicted,
                                       std::span<const double> labels);

// `how`: threads (one training each), journal, identity of the experiment (the set's is added) and
// stop (base/jobs.h); its other members are set here. `step`: called with the finished trainings
// and their total. Returns nullopt on ranks above 0, and if stopped. Throws Error that names the
// learner.
[[nodiscard]] std::optional<LabelResult> run_label_experiment(
    const LabelExperiment& experiment, base::Jobs how, base::Ranks* ranks = nullptr,
    const std::function<void(std::size_t, std::size_t)>& step = {});

// As text or as JSON, schema "tilecast.labels/1". Pure.
[[nodiscard]] std::string label_experiment_text(const LabelResult& result);
[[nodiscard]] std::string label_experiment_json(const LabelResult& result);

}  // namespace tilecast::validation
