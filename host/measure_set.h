// A measurement set on disk to which a session appends, so that no measurement is lost:
//
//   manifest.yaml, measurements.csv, kernels/<hash>.hlo: an ordinary set (measured/)
//   skipped.csv: items that could not be measured, with reasons; delete it to retry them
//   sessions.csv: one line per session: date, machine, compiler, settings
//
//   GrowingSet set("my_machine", manifest, settings);     // creates or resumes it
//   if (!set.holds(key)) { set.add_kernel(hash, text); set.append(rows, skipped); }
//
// Kernel files are on disk before rows that name them, and rows before append() returns. A torn
// last line (power cut) is dropped with a note. Tables written before newer tile columns existed
// (stages, threads ...) are rewritten with these columns empty. Extra columns: x_median_ns, x_cache
// (cold, warm), x_attempts, x_drift (relative, of the reference loop), x_hash (ir/canonical_hash),
// x_scratch_bytes, x_name, x_set, and p_unroll if SessionSettings::unroll is set. A set of labels
// (measure_labels.h) always has p_unroll, and q_* columns instead of times. Only one process may
// write a set; a second one gets an Error. Not thread-safe.
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

// Conditions of a session. All rows of a set share machine, device and cache state.
struct SessionSettings {
  std::string date;     // "2026-11-22"
  std::string machine;  // the processor's name
  std::string compiler;
  std::string device;  // name in the manifest
  CacheState cache = CacheState::kCold;
  std::uint64_t seed = 1;
  bool unroll = false;  // whether plans request unrolled loops
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
  // Throws Error if `directory` holds other files or rows measured under different settings (the
  // message names the difference), or if another process is writing it. Labels require the same
  // device and compiler, but not the same machine.
  GrowingSet(const std::string& directory, const measured::Manifest& manifest,
             const SessionSettings& settings);

  // Whether the item with this WorkItem::key() is already measured or skipped.
  [[nodiscard]] bool holds(const std::string& key) const { return known_.contains(key); }
  // Writes kernels/<hash>.hlo unless it exists.
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

// The settings of a set's first session; nullopt if there is no set yet. Throws Error for a set
// that was not created by a session.
[[nodiscard]] std::optional<SessionSettings> settings_of(const std::string& directory);

}  // namespace tilecast::host
