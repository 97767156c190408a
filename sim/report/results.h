// What `tilecast` wrote with --format json (and evaluate with --rows), read back for a page.
//
//   Result result = read_result(base::SourceText::read_file("run.json"));
//   std::get<SimulationResults>(result).front().kernels
//
// Times are in seconds, sizes in bytes. Error with file, line and column for anything else than a
// result. Plain values; thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analytical/estimate.h"
#include "base/source_text.h"

namespace tilecast::sim::report {

struct TimeInterval {
  double low_s = 0, high_s = 0;  // 90 %
};

struct KernelResult {
  std::string name, opcode, op_class, computation, lane, tile, model, content;
  double launches = 1, time_s = 0, total_s = 0, start_s = 0, end_s = 0;
  bool skipped = false;  // the model had no answer: what follows is empty
  std::string bound, next_bound;
  double next_time_s = 0, light_s = 0;  // of one launch; light: nothing can be faster
  double flops = 0, read_bytes = 0, write_bytes = 0;
  std::array<double, analytical::kBoundCount> bounds_s{};  // busy, of one launch
  std::optional<TimeInterval> interval;                    // of time_s
  std::optional<double> weight;                            // of a hybrid's correction
  std::string flags;
};

struct PeakResult {
  std::string unit, dtype;
  double flops_per_s = 0;
};
struct MemoryResult {
  std::string name;
  double read_bytes_per_s = 0;
};

struct SimulationResult {
  std::string label;  // set by the page: what tells it from the others
  std::string source, file, program, device, model;
  std::string version, written;  // of Tilecast; of the file, "2026-11-25 16:02 UTC"; "": not known
  double time_s = 0, timeline_s = 0, host_dispatch_s = 0;
  std::optional<TimeInterval> interval;  // of time_s
  // Where the result has them: energy and peak of device memory of one run.
  std::optional<double> energy_j, peak_bytes, capacity_bytes;
  std::vector<PeakResult> peaks;  // empty: an older result, which does not say
  std::vector<MemoryResult> memory;
  std::vector<KernelResult> kernels;
  std::vector<std::string> notes;
};
using SimulationResults = std::vector<SimulationResult>;

// Times of the same work by several sides: rows of compare, or of evaluate --rows.
struct PairedTime {
  double time_s = 0;  // of one launch
  std::string bound;
  std::optional<TimeInterval> interval;
};
struct PairedRow {
  std::string group, name, op_class, tile, split;
  double launches = 1;
  bool overlaps = false;                         // a transfer beside other rows: part of no total
  std::vector<std::optional<PairedTime>> times;  // by side
};
struct PairedSide {
  std::string name, kind, device;  // kind: "model", "compiler", "measured"
  std::size_t against = 0;         // the side it is held against; itself: nothing
};
struct PairedResult {
  std::string source, what;  // what: "compare", "evaluate"
  std::vector<PairedSide> sides;
  std::vector<PairedRow> rows;
  std::vector<std::string> notes;
};

// Scores of evaluate: every stratum x model x metric.
struct ScoreResult {
  std::string by, stratum, model, metric;
  std::optional<double> value;
  std::optional<double> low, high;  // 95 %, bootstrap
  double rows = 0;
};
struct EvaluationResult {
  std::string source;
  std::vector<std::string> sets, notes;
  std::vector<ScoreResult> scores;
};

// Any other result: its lists of records as tables, everything else as facts.
struct RecordTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::variant<std::monostate, double, std::string>>> rows;
};
struct TablesResult {
  std::string source, schema;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<RecordTable> tables;
};

using Result = std::variant<SimulationResults, PairedResult, EvaluationResult, TablesResult>;
[[nodiscard]] Result read_result(base::SourceText text);
// With SimulationResult::written of a file on disk.
[[nodiscard]] Result read_result_file(const std::string& path);

}  // namespace tilecast::sim::report
