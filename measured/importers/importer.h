// From the files of others to a measurement set (measured/measurement_set.h): what all importers
// share. Each one is a function:
//
//   ImportReport report = import_operators({"bmm.csv.gz"}, "neusight.yaml", {.output =
//   "sets/bmm"});
//
// The set is written beside its place and moved there when it is complete: after an Error nothing
// is left behind. Memory does not grow with the number of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/units.h"
#include "measured/csv_reader.h"

namespace tilecast::measured {

struct ImportOptions {
  std::string output;       // folder to make
  std::string device;       // preset or path, for that of the mapping
  std::string name;         // of the set, for that of the mapping
  std::string modules;      // folder of the HLO files that rows name; empty: beside their table
  bool force = false;       // replace a measurement set that is there
  bool keep_going = false;  // list and leave out rows that are a RowError
  std::function<void(double)> progress = [](double) {};  // 0 to 1, over all inputs
};

struct ImportReport {
  std::int64_t rows = 0;                         // written
  std::map<std::string, std::int64_t> left_out;  // reason -> rows that are no measurement
  std::int64_t bad = 0;                          // rows in error (keep_going)
  std::vector<std::string> messages;             // of the first kMaxMessages bad rows
  std::vector<std::string> notes;                // what was assumed or could not be joined
  // Of a profile: what its device time is of; together all of it.
  std::vector<std::pair<std::string, Seconds>> coverage;

  static constexpr std::size_t kMaxMessages = 100;
  void add_bad(const Error& error);
};

// `inputs`: files, or folders of files the mapping knows. `mapping`:
// measured/importers/column_mapping.h; without one (and with ImportOptions::device), or without
// tables in it, the columns are those of a set, or of runs of tiles.
[[nodiscard]] ImportReport import_operators(const std::vector<std::string>& inputs,
                                            const std::string& mapping,
                                            const ImportOptions& options);

struct TraceSource {
  std::vector<std::string> traces;  // trace_events.h
  std::string module;               // HLO text of what ran
  std::string manifest;             // YAML with the fields of the manifest; or a device (options)
};
// One row per kernel that has events, its mean over occurrences; one for the program where the
// trace says how long the module ran. Time and kernels that do not match become notes.
[[nodiscard]] ImportReport import_trace(const TraceSource& source, const ImportOptions& options);

struct XplaneSource {
  std::vector<std::string> profiles;  // xplane.h: files or log folders
  std::vector<std::string> modules;   // programs that ran, for those of the profile
  std::string manifest;               // YAML with the fields of the manifest; or a device (options)
};
// One row per kernel that has events, its median over all occurrences and cores; one per module for
// its whole run. The modules are written as HLO text. x_* columns: the fastest occurrence, and the
// profile's own category and counts. Steps and coverage go into the manifest's description.
[[nodiscard]] ImportReport import_xplane(const XplaneSource& source, const ImportOptions& options);

}  // namespace tilecast::measured
