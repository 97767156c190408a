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
//   score: [{class: [softmax], kernel: ["fusion.*"]}]     rows that may be scored; without: all
//   columns: [roofline, analytical, calibrated]
//   by: [class]                               strata besides all: set, class, kernel
//   by_kernel: ["tiles: *"]                   of the kernels' strata, those to show
//   metrics: [mape, p90_ape]                  learned/evaluation.h
//   bars: [{metric: mape, column: calibrated, stratum: class matmul, at_most: 6 %}]
//
// Devices and mappings are names of shipped ones, or paths relative to the file. A source may name
// its own `devices` (one sample set each) and `sample: {rows: n, seed: s}` (of
// each device). Reading is strict: Error with file, line, column and key. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learned/evaluation.h"

namespace tilecast::hybrid {

// Rows of one experiment are dealt as
//   none          nothing fitted
//   fixed         the rows of `fit`; scored are those of `score`, less the fitted when absent
//   k_fold        `folds` by kernel; pooled
//   largest       the largest `share` of the sizes of each op class is scored
//   leave_one_class_out   one op class after the other; pooled
//   leave_one_family_out  one family (program, shape family) after the other is scored, `works`
//                 random kernels of the others fitted; pooled
//   sampled_rows  `rows` random rows of ONE kernel fitted, the others scored; `seeds` times
//   sampled_works `works` random kernels or programs fitted, the others scored; `seeds` times
enum class SplitKind {
  kNone,
  kFixed,
  kKFold,
  kLargest,
  kLeaveOneClassOut,
  kLeaveOneFamilyOut,
  kSampledRows,
  kSampledWorks
};
[[nodiscard]] std::string_view name(SplitKind kind);

struct SplitSpec {
  SplitKind kind = SplitKind::kNone;
  std::size_t folds = 5;
  double share = 0.2;
  std::size_t rows = 10, works = 10, seeds = 1;
  std::uint64_t seed = 1;  // the first
};

// Rows of a set (""; any) whose class and kernel are listed (empty: any; kernels with * and ?).
struct Selector {
  std::string set = {};
  std::vector<std::string> classes = {}, kernels = {};
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

enum class Statistic { kMean, kWorst };  // over seeds

// value <= limit, value >= limit, or value < limit; the limit is a number or another column.
struct Bar {
  enum class Kind { kAtMost, kAtLeast, kBelow };
  learned::Metric metric = learned::Metric::kMape;
  std::string column;
  std::string stratum = "all";  // "class matmul", "kernel fusion.1", "set ops", "every class"
  Kind kind = Kind::kAtMost;
  double limit = 0;
  std::string limit_column = {};  // or empty
  Statistic over = Statistic::kMean;
};

struct Experiment {
  std::string file, name, claim;
  std::vector<std::string> notes = {};
  std::string device = {};
  std::vector<ExperimentSource> data = {};
  SplitSpec split = {};
  std::vector<Selector> fit = {}, score = {};
  std::vector<std::string> columns = {};
  std::vector<learned::Breakdown> by = {};
  std::vector<std::string> kernels_shown = {};  // patterns; empty: all, where `by` has them
  std::vector<learned::Metric> metrics = {};
  std::vector<Bar> bars = {};
};

[[nodiscard]] Experiment read_experiment(const std::string& file);
[[nodiscard]] Experiment parse_experiment(const std::string& text, const std::string& file);

}  // namespace tilecast::hybrid
