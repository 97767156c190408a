// A claim about accuracy as a file (format tilecast.experiment/1) that one command checks:
//
//   format: tilecast.experiment/1
//   name: matmul_folds
//   claim: One sentence.
//   device: DEVICE                            preset or path
//   data:           relative to the folder of third-party data; ./ and ../ to this file
//     - {name: ops, importer: operators, from: [data/ops.csv], mapping: ops_of_device}
//     - {name: tiles, importer: tiles, from: data/runs.csv, mapping: tiles_of_device}
//     - {name: step, importer: program, from: data/step.hlo, runtime: 9 ms, source: ...,
//        licence: ..., how_timed: ...}         one HLO module and the device time it took
//     - {name: mine, importer: set, from: data/set}       a measurement set as it is
//   split: {kind: k_fold, folds: 5, seed: 1}  see SplitKind
//   fit: [{set: ops, class: [matmul]}]        rows that may be fitted; without: all
//   default: {column: x_name, like: ["*.c0.*"]}         rows of their program's default run
//   score: [{kernel: ["fusion.*"], family: ["net_*"], at_least: 5 us}]    that may be scored
//   learners: [{name: trees, model: xgboost, features: [static, tile]}]   learned/training/
//   hybrids: [{name: hybrid}]                 hybrid/hybrid_spec.h
//   columns: [roofline, bottleneck, analytical, analytical_scaled, calibrated, trees, hybrid]
//   by: [class]                               strata besides all: set, class, size, family, kernel
//   by_kernel: ["tiles: *"]                   of the kernels' strata, those to show
//   metrics: [mape, p90_ape]                  measured/evaluation.h
//   bars:                                     experiment_claims.h
//     - {metric: mape, column: calibrated, stratum: class matmul, at_most: 6 %}
//     - {metric: mape, column: hybrid, stratum: every class, not_above: analytical, by: 1 %}
//     - {metric: mape, column: hybrid, below: best other}     of the columns, on the same rows
//   published: [{column: trees, metric: mape, source: kaufman_mlsys_2021, where: Table 3,
//                subject: vanilla, in: mean}]     measured/reference_rows.h; shown beside ours
//   directions: [{better: trees, than: analytical, metric: mape, finding: What was found.}]
//
// `extends: other.yaml` takes what is not written anew from an experiment of the same folder, and
// `extends: trees` of a learner from one above it; never name and published; lists as a whole.
//
// Devices and mappings are names of shipped ones, or paths relative to the file. A source may name
// its own `devices` (a sample set each) and `sample: {rows: n, seed: s}` (of each). Reading is
// strict: Error with file, line, column and key. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hybrid/hybrid_spec.h"
#include "learned/training/learner.h"
#include "validation/experiment_claims.h"

namespace tilecast::validation {

// Rows of one experiment are dealt as
//   none          nothing fitted
//   fixed         the rows of `fit`; scored are those of `score`, less the fitted when absent; with
//                 families, the rows fitted are those whose work no scored row has; with a share,
//                 that part of them, drawn anew for each seed
//   k_fold        `folds` by kernel; pooled
//   largest       the largest `share` of the sizes of each op class is scored
//   leave_one_class_out   one op class after the other; pooled
//   leave_one_kernel_out  one kernel after the other; pooled
//   leave_one_device_out  one device after the other; pooled. Equal work on others may be fitted,
//                 and `rows` random rows of the device itself, `seeds` times
//   leave_one_family_out  one family (program, shape family) after the other is scored, `works`
//                 random kernels of the others fitted; pooled
//   sampled_rows  `rows` random rows of ONE kernel fitted, the others scored; `seeds` times
//   sampled_works `works` random kernels or programs fitted, the others scored; `seeds` times
//   held_out_families  random families until `share` of the rows, scored; the others fitted
//   held_out_works     the same of kernels or programs; both `seeds` times
//   first_rows    the first `share` of each set's rows, in their order, fitted, the others scored
// Rows of a kernel are on both sides only where rows are dealt: sampled_rows, first_rows. Learners
// and hybrids of round i have their seed + i; `seeds` repeats fixed, largest, first_rows for them.
enum class SplitKind {
  kNone,
  kFixed,
  kKFold,
  kLargest,
  kLeaveOneClassOut,
  kLeaveOneFamilyOut,
  kLeaveOneKernelOut,
  kLeaveOneDeviceOut,
  kSampledRows,
  kSampledWorks,
  kHeldOutFamilies,
  kHeldOutWorks,
  kFirstRows
};
[[nodiscard]] std::string_view name(SplitKind kind);

struct SplitSpec {
  SplitKind kind = SplitKind::kNone;
  std::size_t folds = 5;
  double share = 0.2;                           // fixed: 1 where it is not given
  std::size_t rows = 0, works = 10, seeds = 1;  // held out: rows fitted at most; 0: all
  std::uint64_t seed = 1;                       // the first
};

// Rows of a set (""; any) whose class, kernel and family are listed (empty: any; the latter two
// with * and ?) and whose kernel takes `at_least_s` by its fastest row.
struct Selector {
  std::string set = {};
  std::vector<std::string> classes = {}, kernels = {}, families = {};
  double at_least_s = 0;
};

// Rows whose cell of `column` (of measurements.csv) fits a pattern (* and ?): those of the default
// run of their program, whose times give the coefficients (experiment_scaling.h).
struct DefaultRun {
  std::string column;
  std::vector<std::string> like;
};

struct ExperimentSource {
  std::string name;      // of the set in this experiment; unique
  std::string importer;  // operators, tiles, program, set
  std::vector<std::string> from;
  std::string mapping;
  std::vector<std::string> devices;  // empty: the experiment's
  std::size_t sample_rows = 0;       // 0: all
  std::uint64_t sample_seed = 1;
  double runtime_s = 0;                    // program
  std::string source, licence, how_timed;  // program
};

struct Experiment {
  std::string file, name, claim;
  std::vector<std::string> notes = {};
  std::string device = {};
  std::vector<ExperimentSource> data = {};
  SplitSpec split = {};
  std::vector<Selector> fit = {}, score = {};
  std::optional<DefaultRun> default_run = {};  // where analytical_scaled is a column
  std::vector<std::string> columns = {};
  std::vector<measured::Breakdown> by = {};
  std::vector<std::string> kernels_shown = {};  // patterns; empty: all, where `by` has them
  std::vector<measured::Metric> metrics = {};
  std::vector<Bar> bars = {};
  std::vector<learned::LearnerSpec> learners = {};  // that are columns
  std::vector<hybrid::HybridSpec> hybrids = {};
  std::vector<Published> published = {};
  std::vector<Direction> directions = {};

  [[nodiscard]] bool calibrates() const { return has_column("calibrated"); }
  [[nodiscard]] bool has_column(std::string_view column) const;
  [[nodiscard]] bool learns() const { return !learners.empty() || !hybrids.empty(); }
  [[nodiscard]] bool repeats() const;  // several seeds
  [[nodiscard]] const learned::LearnerSpec* learner(std::string_view column) const;  // or null
};

[[nodiscard]] Experiment read_experiment(const std::string& file);
[[nodiscard]] Experiment parse_experiment(const std::string& text, const std::string& file);

}  // namespace tilecast::validation
