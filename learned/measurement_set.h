// Times somebody measured, as a directory on disk:
//
//   manifest.yaml       device, source, licence, how timed, dispatch floors (manifest schema below)
//   measurements.csv    one row per measured run
//   kernels/*.hlo       what ran, where a row names a file
//
// A row names its work in one of two ways: `kernel` / `program`, an HLO file in the directory, or
// `op` with the columns of learned/op_kernels.h (an operator, or a whole parametric program).
// Columns besides those: runtime_ns (required), dispatch_ns (the part of it that was the host's,
// when measured in the same run), output_bounds / kernel_bounds / input_bounds (the tile that ran,
// analytical/tile.h), device, class, family, repeats, spread_ns, split, and x_* (kept, not read).
//
// Reading is strict about form (unknown columns, missing files, a row of the wrong length: Error
// with file, row and column) and reports bad *values* per row: see RowFault. Thread-safe values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/units.h"
#include "learned/csv.h"

namespace tilecast::learned {

// What a run time holds besides the kernel: nothing, or the host's dispatch.
enum class Timing { kDevice, kHost };

struct Manifest {
  std::string name, description;
  std::string device;  // preset or path of a description, for rows without a device of their own
  std::map<std::string, std::string> devices;  // values of column `device` -> preset or path
  std::string source, licence, how_timed;
  Timing timing = Timing::kDevice;
  std::map<std::string, Seconds> dispatch;  // floor per op class; kHost only
  std::string defaults_dtype;               // for operator rows without a dtype; may be empty
};

struct MeasurementRow {
  std::size_t table_row = 0;            // into MeasurementSet::table
  int line = 0;                         // of measurements.csv
  std::string file;                     // HLO file relative to the set; empty: an operator row
  bool is_program = false;              // the file is a whole program, else one kernel
  std::string device;                   // preset or path, resolved through the manifest
  std::string op_class, family, split;  // as given, or empty
  analytical::TileConfig tile;          // empty: whatever the measured system chose
  Seconds runtime;
  std::optional<Seconds> dispatch;
  int repeats = 1;
  Seconds spread;
};

// A value that cannot be right, or should not be trusted; its row is never used unless asked for.
struct RowFault {
  enum class Kind {
    kNotANumber,
    kNotPositive,
    kDuplicate,
    kFasterThanLight,
    kUnitSlip,
    kOutlier,
    kCannotRun
  };
  int line = 0;
  Kind kind = Kind::kNotANumber;
  std::string message;  // names the column, what was got and expected
};
[[nodiscard]] std::string_view name(RowFault::Kind kind);  // "not_a_number", ...

struct MeasurementSet {
  std::string directory;
  Manifest manifest;
  CsvTable table;  // measurements.csv as written
  std::vector<MeasurementRow> rows;
  std::vector<RowFault> faults;  // rows left out, by line
  std::string hash;              // of manifest, table and files: provenance in reports
};

// `path`: the directory. Throws Error.
[[nodiscard]] MeasurementSet read_measurement_set(const std::string& path);

// Hex digest of 128 bits over the bytes; stable across machines and versions.
[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace tilecast::learned
