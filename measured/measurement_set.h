// Times somebody measured, as a directory on disk or a zip archive of one:
//
//   manifest.yaml       device, source, licence, how timed, dispatch floors (manifest schema below)
//   measurements.csv    one row per measured run
//   kernels/*.hlo       what ran, where a row names a file
//
// A row names its work by `kernel` / `program`, an HLO file in the directory, or by `op` with the
// columns of measured/op_kernels.h (an operator, or a whole parametric program).
// `execution` says how many launches an operator of several ops was: fused (one, the default),
// reductions (a new one after every reduction), ops (one per op): ir/kernels/kernel_split.h.
// Columns besides those: runtime_ns (required), dispatch_ns (the part of it that was the host's,
// when measured in the same run), output_bounds / kernel_bounds / input_bounds / stages / warps
// (the tile that ran, measured/tile_cells.h), device, class, family, repeats, spread_ns, split, p_*
// and x_* (kept, not read). p_* are parameters, numbers: how the kernel was written beyond its tile
// (p_block_size_x, p_unroll); learned models may read them, models of physics cannot. An empty
// cell: it has none. q_* are quantities other than time, one column for each the manifest lists; an
// empty cell: not measured. Rows of equal work, device, tile and parameters are duplicates.
// `kernel` is a file of one kernel, or file#name; files lie inside the directory.
//
// manifest.yaml: format (tilecast.measurements/1), name, source, licence, timing (device | host |
// none: there are no times and no runtime_ns, only quantities), device and / or devices (cell of
// the column -> preset or path) are required; description, how_timed, dtype (of operator rows that
// name none), writer (what wrote the code, "tilecast"; default: the device's usual compiler), timed
// (graph, cold ...: sets timed in one way share a word),
// dispatch (op class -> "21 us"), feed (per_step: 2.1 ms, rate: 2.95 GB/s) and
// quantities (name: {unit: registers, count: yes, how:
// "..."}) are not; with quantities, runtime_ns may be empty in some rows. Nor is subject: graph, of
// sets that hold features instead of work, which read_measurement_set() refuses by name.
//
// Reading is strict about form (unknown columns, missing files, a row of the wrong length: Error
// with file, row and column) and reports bad *values* per row: see RowFault. Thread-safe values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/units.h"
#include "measured/csv.h"

namespace tilecast::measured {

inline constexpr const char* kOwnWriter = "tilecast";  // Manifest::writer of Tilecast's own code

// What a run time holds besides the kernel: nothing, or the host's dispatch. kNone: nothing was
// timed, rows hold quantities alone.
enum class Timing { kDevice, kHost, kNone };
[[nodiscard]] std::string_view name(Timing timing);  // "device", "host", "none"

// What was measured besides time, or instead of it: registers, spills, instructions ...
struct Quantity {
  std::string name;    // [a-z][a-z0-9_]*, not time, runtime or residual; its column is q_<name>
  std::string unit;    // "registers", "cycles", "share": reports print it
  std::string how;     // how it was got, or empty
  bool count = false;  // whole numbers: reports say how many are predicted exactly
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

// What rows are about: kernels and programs, or graphs of features for learned models only.
enum class Subject { kWork, kGraph };

// What the host took to feed one step of a program, as a property of the measured runs (their input
// pipeline), not of the machine.
struct HostFeed {
  Seconds per_step;
  BytesPerSecond rate;
};

struct Manifest {
  std::string name, description;
  std::string device;  // preset or path of a description, for rows without a device of their own
  std::map<std::string, std::string> devices;  // values of column `device` -> preset or path
  std::string source, licence, how_timed;
  // What wrote the code and how it was timed, in a word (analytical::KernelQuery::writer, timed).
  std::string writer, timed;
  Timing timing = Timing::kDevice;
  Subject subject = Subject::kWork;
  std::map<std::string, Seconds> dispatch;  // floor per op class; kHost only
  std::optional<HostFeed> feed;             // of programs timed with their input
  std::string defaults_dtype;               // for operator rows without a dtype; may be empty
  std::vector<Quantity> quantities;         // at least one where timing is kNone

  [[nodiscard]] const Quantity* quantity(std::string_view wanted) const;  // null: none of that name
};

struct MeasurementRow {
  std::size_t table_row = 0;            // into MeasurementSet::table
  int line = 0;                         // of measurements.csv
  std::string file;                     // HLO file relative to the set; empty: an operator row
  std::string kernel;                   // its name in a file of several, or empty
  bool is_program = false;              // the file is a whole program, else one kernel
  std::string device;                   // preset or path, resolved through the manifest
  std::string op_class, family, split;  // as given, or empty
  analytical::TileConfig tile;          // empty: whatever the measured system chose
  std::vector<float> parameters;        // one per MeasurementSet::parameter_names; NaN: none
  std::vector<float> quantities;        // one per Manifest::quantities; NaN: not measured
  std::optional<Seconds> runtime;       // absent only where the set has quantities
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
  std::string device;   // of the row, as MeasurementRow::device
};
[[nodiscard]] std::string_view name(RowFault::Kind kind);  // "not_a_number", ...

struct MeasurementSet {
  std::string directory;
  Manifest manifest;
  CsvTable table;  // measurements.csv; empty cells of `dtype` hold the manifest's
  std::vector<std::string> parameter_names;  // of p_* columns in their order, without p_
  std::vector<MeasurementRow> rows;
  std::vector<RowFault> faults;  // rows left out, by line
  std::string hash;              // of manifest, table and files: provenance in reports
};

// `path`: a directory or a zip archive. Throws Error.
[[nodiscard]] MeasurementSet read_measurement_set(const std::string& path);

// The text of a manifest.yaml; paths of devices are relative to the folder of `file`.
[[nodiscard]] Manifest read_manifest(const std::string& text, const std::string& file);
// read_manifest(manifest_text(m), file) is m, where devices are presets or absolute paths. Throws
// Error for texts that YAML of ours cannot hold (control characters).
[[nodiscard]] std::string manifest_text(const Manifest& manifest);

// "op=matmul dtype=bf16 m=64 n=64 k=64": the cells that say which operator a row ran; equal for
// equal work. Empty for rows of files.
[[nodiscard]] std::string operator_key(const CsvTable& table, const CsvRow& row);

// Hex digest (SHA-1) over the bytes: it tells data apart and is no protection against forgery.
[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace tilecast::measured
