// A file that says what is learned from which rows. `tilecast train` reads it; experiments are such
// files plus claims (validation/experiment.h), whose keys `train` ignores:
//
//   format: tilecast.experiment/1
//   name: matmul_folds
//   device: DEVICE                            preset or path
//   data:           relative to the folder of third-party data; ./ and ../ to this file
//     - {name: ops, importer: operators, from: [data/ops.csv], mapping: ops_of_device}
//     - {name: tiles, importer: tiles, from: data/runs.csv, mapping: tiles_of_device}
//     - {name: step, importer: program, from: data/step.hlo, runtime: 9 ms, source: ...,
//        licence: ..., how_timed: ...}         one HLO module and the device time it took
//     - {name: mine, importer: set, from: data/set}       a measurement set as it is
//   split: {kind: k_fold, folds: 5, seed: 1}  see SplitKind
//   fit: [{set: ops, class: [matmul]}]        rows that may be fitted; without: all
//   score: [{kernel: ["fusion.*"], family: ["net_*"], at_least: 5 us}]    that may be scored
//   learners: [{name: trees, model: xgboost, features: [static, tile]}]   learned/training/
//   hybrids: [{name: hybrid}]                 hybrid/hybrid_fit.h
//   by: [class]                               strata besides all: set, class, size, family, kernel
//   metrics: [mape, p90_ape]                  measured/evaluation.h
//
// A file may hold several, separated by lines `---`; FILE#NAME is one of them. `extends: NAME`
// inherits all keys not given here from one above in the file, and `extends: trees` in a learner
// from an earlier learner; name and published are never inherited; lists are replaced as a whole.
//
// Devices and mappings are names of shipped ones, or paths relative to the file. A source may have
// its own `devices` (one sample set each) and `sample: {rows: n, seed: s}` (per device). Reading is
// strict: Error with file, line, column and key. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hwdesc/config_values.h"
#include "hybrid/hybrid_fit.h"
#include "learned/training/learner.h"
#include "measured/evaluation.h"

namespace tilecast::sim::training {

// How rows are assigned to the fitted and the scored side. Results of the rounds are pooled, or,
// where stated, there is one round per seed, for `seeds` seeds.
//   none          nothing is fitted
//   fixed         fits the rows of `fit` and scores those of `score`, by default all others. If
//                 `fit` selects families, rows with scored work are not fitted; with a share, fits
//                 that part of the rows, drawn for each seed
//   k_fold        `folds` folds by kernel
//   largest       scores the largest `share` of the sizes of each op class
//   leave_one_class_out   scores one op class after the other
//   leave_one_family_out  scores one family (program, shape family) after the other, and fits
//                 `works` random kernels of the others
//   leave_one_kernel_out  scores one kernel after the other
//   leave_one_device_out  scores one device after the other; fits the others, equal work included,
//                 and `rows` random rows of the device itself, for `seeds` seeds
//   sampled_rows  fits `rows` random rows of ONE kernel and scores the others, per seed
//   sampled_works fits `works` random kernels or programs and scores the others, per seed
//   held_out_families  per seed, scores random families up to `share` of the rows; fits the others
//   held_out_works     the same with kernels or programs
// Except in sampled_rows, all rows of a kernel on one device are on one side. Learners and hybrids
// of round i use their seed + i; with fixed and largest, `seeds` only repeats their training.
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
  kHeldOutWorks
};

struct SplitSpec {
  SplitKind kind = SplitKind::kNone;
  std::size_t folds = 5;
  double share = 0.2;                           // fixed: default 1
  std::size_t rows = 0, works = 10, seeds = 1;  // held out: max. fitted rows; 0: all
  std::uint64_t seed = 1;                       // of the first round
};
// "5 folds by kernel (seed 1), pooled", "20 random works fitted, the others scored; 5 seeds".
[[nodiscard]] std::string split_text(const SplitSpec& split);

// Rows of a set ("": any) whose class, kernel and family are listed (empty: any; the latter two
// with * and ?) and whose kernel's fastest row takes `at_least_s` or more.
struct Selector {
  std::string set = {};
  std::vector<std::string> classes = {}, kernels = {}, families = {};
  double at_least_s = 0;
};

struct DataSource {
  std::string name;      // of the set in this file; unique
  std::string importer;  // operators, tiles, program, set
  std::vector<std::string> from;
  std::string mapping;
  std::vector<std::string> devices;  // empty: the file's
  std::size_t sample_rows = 0;       // 0: all
  std::uint64_t sample_seed = 1;
  double runtime_s = 0;                    // program
  std::string source, licence, how_timed;  // program
};

struct TrainingFile {
  std::string file, name;
  std::string device = {};
  std::vector<DataSource> data = {};
  SplitSpec split = {};
  std::vector<Selector> fit = {}, score = {};
  std::vector<learned::LearnerSpec> learners = {};
  std::vector<hybrid::HybridSpec> hybrids = {};
  std::vector<measured::Breakdown> by = {};
  std::vector<measured::Metric> metrics = {};

  [[nodiscard]] bool learns() const { return !learners.empty() || !hybrids.empty(); }
  [[nodiscard]] const learned::LearnerSpec* learner(std::string_view name) const;  // or null
};

// Names that a learner may not have: they are columns of their own.
inline constexpr std::string_view kAnalyticalScaled = "analytical_scaled";
inline constexpr std::string_view kOwnColumns[] = {"roofline", "bottleneck", "analytical",
                                                   kAnalyticalScaled, "calibrated"};

// Of FILE the first, or that of FILE#NAME.
[[nodiscard]] TrainingFile read_training_file(const std::string& path);
[[nodiscard]] std::string path_of(const std::string& path);  // FILE of FILE or FILE#NAME

// For readers of other keys of such a file: all of FILE, or that of FILE#NAME, each with everything
// it extends. Throws Error for keys that neither side knows.
[[nodiscard]] std::vector<hwdesc::ConfigNode> read_wholes(const std::string& path);
[[nodiscard]] std::vector<hwdesc::ConfigNode> wholes_of(const std::string& text,
                                                        const std::string& file);
[[nodiscard]] TrainingFile read_training(const hwdesc::ConfigNode& whole, const std::string& file);
[[nodiscard]] measured::Metric metric_of(const hwdesc::ConfigNode& node);

}  // namespace tilecast::sim::training
