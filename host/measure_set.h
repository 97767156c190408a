// A measurement set that grows while a session measures, so that nothing measured is ever lost:
//
//   manifest.yaml, measurements.csv, kernels/<hash>.hlo: an ordinary set (measured/)
//   skipped.csv: what could not be measured, and why; remove it to try those again
//   sessions.csv: one line per session: when, where, with what
//
//   GrowingSet set("my_machine", manifest, settings);     // makes it, or resumes it
//   if (!set.holds(key)) { set.add_kernel(hash, text); set.append(rows, skipped); }
//
// Files of kernels are on disk before rows that name them, rows before append() returns. A torn
// last line (power cut) is dropped, with a note. Tables from before tiles said all they say today
// (stages, threads ...) are written anew with those columns, empty: their tiles say none of it.
// Columns of rows besides the usual ones: x_median_ns, x_cache (cold, warm), x_attempts, x_drift
// (of the reference loop, relative), x_hash (ir/canonical_hash), x_scratch_bytes, x_name, x_set;
// p_unroll where SessionSettings::unroll says so. A set of a manifest without times
// (measure_labels.h) has p_unroll always, and q_* instead of times. One process at a time writes a
// set; a second one gets an Error. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/measure_plan.h"
#include "host/run_kernels.h"
#include "measured/growing_csv.h"
#include "measured/measurement_set.h"

namespace tilecast::host {

[[nodiscard]] std::string_view name(CacheState state);     // "cold", "warm"
[[nodiscard]] std::string nanoseconds_text(Seconds time);  // a cell of a column in ns: "1234.5"

// Under what a session measures. Rows of one set share machine, device and cache state.
struct SessionSettings {
  std::string date;     // "2026-11-22"
  std::string machine;  // the processor's name
  std::string compiler;
  std::string device;  // as the manifest names it
  CacheState cache = CacheState::kCold;
  std::uint64_t seed = 1;
  bool unroll = false;  // do its plans ask for loops to be unrolled?
};

struct MeasuredRow {
  const WorkItem* item = nullptr;
  Timing timing;
  std::int64_t scratch_bytes = 0;
};

struct LabelledRow {
  const WorkItem* item = nullptr;
  std::vector<std::optional<double>> values;  // by Manifest::quantities
};

struct SkippedRow {
  const WorkItem* item = nullptr;
  std::string reason;  // "unsupported", "compile error", "crash", "time-out", ...
  std::string detail;  // "sort is not generated"
};

class GrowingSet {
 public:
  // Throws Error when `directory` holds something else, or rows measured under other settings
  // (naming what differs), or is being written by another process. Labels are of a compiler and
  // those of other settings, not of a machine.
  GrowingSet(const std::string& directory, const measured::Manifest& manifest,
             const SessionSettings& settings);

  // Measured or skipped already (WorkItem::key()).
  [[nodiscard]] bool holds(const std::string& key) const { return known_.contains(key); }
  // kernels/<hash>.hlo, unless it is there.
  void add_kernel(const std::string& hash, const std::string& hlo);
  void append(std::span<const MeasuredRow> rows, std::span<const SkippedRow> skipped);
  void append(std::span<const LabelledRow> rows, std::span<const SkippedRow> skipped);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  void check_settings() const;
  void note_session();
  void write(const std::string& measured_text, std::span<const SkippedRow> skipped);
  void open_table(const std::string& file, const std::vector<std::string>& columns,
                  std::optional<measured::GrowingCsv>& table);

  std::string directory_;
  SessionSettings settings_;
  std::vector<std::string> columns_;  // of measurements.csv
  bool labels_ = false;
  std::optional<measured::GrowingCsv> rows_, skipped_;
  std::unordered_set<std::string> known_;
  std::vector<std::string> notes_;
};

// The settings of the first session of a set; nullopt where there is no set yet. Throws Error for a
// set that no session began.
[[nodiscard]] std::optional<SessionSettings> settings_of(const std::string& directory);

}  // namespace tilecast::host
