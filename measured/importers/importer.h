// Converts third-party files to a measurement set (measured/measurement_set.h): the interface
// common to all importers. Each importer is a function:
//
//   ImportReport report =
//       import_operators({"bmm.csv.gz"}, "neusight.yaml", {.output = "sets/bmm"});
//
// The set is written to a temporary folder and moved to its place when complete, so nothing is left
// behind after an Error. Memory use does not depend on the number of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/units.h"
#include "measured/csv.h"

namespace tilecast::measured {

struct ImportOptions {
  std::string output;       // folder to create
  std::string device;       // preset or path; overrides the mapping's
  std::string name;         // name of the set; overrides the mapping's
  std::string modules;      // folder of the HLO files named in rows; empty: that of their table
  bool force = false;       // replace an existing measurement set
  bool keep_going = false;  // skip and list rows with a RowError
  std::function<void(double)> progress = [](double) {};  // 0 to 1, over all inputs
};

struct ImportReport {
  std::int64_t rows = 0;                         // written
  std::map<std::string, std::int64_t> left_out;  // rows that are no measurement, by reason
  std::int64_t bad = 0;                          // rows in error (keep_going)
  std::vector<std::string> messages;             // of the first kMaxMessages bad rows
  std::vector<std::string> notes;                // assumptions, and what could not be matched
  // For profiles: the device time by category; the sum is all device time.
  std::vector<std::pair<std::string, Seconds>> coverage;

  static constexpr std::size_t kMaxMessages = 100;
  void add_bad(const Error& error);
};

// `inputs`: files, or folders with files that the mapping matches. `mapping`: see
// measured/importers/column_mapping.h. Without a mapping (ImportOptions::device is then required),
// or if it has no tables, the columns must be those of a set or of tile runs.
[[nodiscard]] ImportReport import_operators(const std::vector<std::string>& inputs,
                                            const std::string& mapping,
                                            const ImportOptions& options);

struct TraceSource {
  std::vector<std::string> traces;  // trace_events.h
  std::string module;               // HLO text of the program that ran
  std::string manifest;  // YAML with manifest fields; optional with ImportOptions::device
};
// Writes one row per kernel with events (mean over occurrences) and one for the program if the
// trace has the module's run time. Unmatched time and kernels become notes.
[[nodiscard]] ImportReport import_trace(const TraceSource& source, const ImportOptions& options);

struct XplaneSource {
  std::vector<std::string> profiles;  // files or log folders (xplane.h)
  std::vector<std::string> modules;   // programs that ran, in place of the profile's own
  std::string manifest;  // YAML with manifest fields; optional with ImportOptions::device
};
// Writes one row per kernel with events (median over all occurrences and cores) and one per module
// for its whole run. The modules are written as HLO text. x_* columns: the fastest occurrence, and
// the profile's own category and counts. Steps and coverage go into the manifest's description.
[[nodiscard]] ImportReport import_xplane(const XplaneSource& source, const ImportOptions& options);

}  // namespace tilecast::measured
