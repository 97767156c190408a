// A set of measured times, as a directory on disk or a zip archive of one:
//
//   manifest.yaml       device, source, licence, how timed, dispatch floors (manifest schema below)
//   measurements.csv    one row per measured run
//   kernels/*.hlo       what ran, where a row names a file
//
// A row identifies its work by `kernel` / `program`, an HLO file in the directory, or by `op` with
// the columns of measured/op_kernels.h (an operator, or a whole parametric program). `kernel` is a
// file with one kernel, or file#name. `execution` states how an operator of several ops was
// launched: fused (one launch, the default), reductions (a new launch after every reduction) or ops
// (one per op); see ir/kernels/kernel_split.h. Further columns: runtime_ns (required), dispatch_ns
// (the host's part of it, if measured in the same run), output_bounds / kernel_bounds /
// input_bounds / stages / warps (the tile, see measured/tile_cells.h), device, class, family,
// repeats, spread_ns, split, p_*, q_* and x_* (kept but not used). p_* are numeric parameters of
// the kernel's code other than the tile (p_block_size_x, p_unroll), which only learned models use;
// empty: none. q_* are the quantities other than time that the manifest lists; empty: not measured.
// Rows with equal work, device, tile and parameters are duplicates.
//
// manifest.yaml, required: format (tilecast.measurements/1), name, source, licence, timing (device
// | host | none; none: no runtime_ns, only quantities), device and / or devices (cell of column
// `device` -> preset or path). Optional: description, how_timed, dtype (of operator rows without
// one), writer (of the code, such as "tilecast"; default: the device's usual compiler), timed
// (graph, cold ...: the same word for sets timed in the same way), dispatch (op class -> "21 us"),
// feed (per_step: 2.1 ms, rate: 2.95 GB/s), quantities (name: {unit: registers, count: yes, how:
// "..."}; runtime_ns may then be empty in some rows), and subject (graph: the set holds features
// instead of work, and read_measurement_set() rejects it).
//
// Reading is strict about the format (unknown columns, missing files and rows of the wrong length
// throw Error with file, row and column); bad values are reported per row, see RowFault. Plain
// values; thread-safe.
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

inline constexpr const char* kOwnWriter = "tilecast";  // Manifest::writer of our own code

// Whether run times include the host's dispatch (kHost) or not (kDevice). kNone: nothing was timed,
// rows hold only quantities.
enum class Timing { kDevice, kHost, kNone };
[[nodiscard]] std::string_view name(Timing timing);  // "device", "host", "none"

// A quantity measured besides time, or instead of it: registers, spills, instructions ...
struct Quantity {
  std::string name;    // [a-z][a-z0-9_]*, not time, runtime or residual; its column is q_<name>
  std::string unit;    // "registers", "cycles", "share": reports print it
  std::string how;     // how it was obtained, or empty
  bool count = false;  // whole numbers: reports state the share predicted exactly
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

// Content of the rows: kernels and programs, or graphs of features, which are no longer read.
enum class Subject { kWork, kGraph };

// The time in which the host feeds one step of a program: a property of the measured runs (their
// input pipeline), not of the machine.
struct HostFeed {
  Seconds per_step;
  BytesPerSecond rate;
};

struct Manifest {
  std::string name, description;
  std::string device;                          // preset or path, for rows without a device
  std::map<std::string, std::string> devices;  // cell of column `device` -> preset or path
  std::string source, licence, how_timed;
  // One word each for what wrote the code and how it was timed (analytical::KernelQuery::writer,
  // timed).
  std::string writer, timed;
  Timing timing = Timing::kDevice;
  Subject subject = Subject::kWork;
  std::map<std::string, Seconds> dispatch;  // floor per op class; kHost only
  std::optional<HostFeed> feed;             // for programs timed with their input pipeline
  std::string defaults_dtype;               // for operator rows without a dtype; may be empty
  std::vector<Quantity> quantities;         // at least one if timing is kNone

  [[nodiscard]] const Quantity* quantity(std::string_view wanted) const;  // null if not found
};

struct MeasurementRow {
  std::size_t table_row = 0;            // into MeasurementSet::table
  int line = 0;                         // of measurements.csv
  std::string file;                     // HLO file relative to the set; empty: an operator row
  std::string kernel;                   // its name in a file with several, or empty
  bool is_program = false;              // the file is a whole program, else one kernel
  std::string device;                   // preset or path, resolved through the manifest
  std::string op_class, family, split;  // as given, or empty
  analytical::TileConfig tile;          // empty: chosen by the measured system
  std::vector<float> parameters;        // one per MeasurementSet::parameter_names; NaN: none
  std::vector<float> quantities;        // one per Manifest::quantities; NaN: not measured
  std::optional<Seconds> runtime;       // absent only if the set has quantities
  std::optional<Seconds> dispatch;
  int repeats = 1;
  Seconds spread;
};

// An impossible or implausible value; the row is left out (SampleOptions::check_physics).
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
  std::string message;  // names the column, the value and what was expected
  std::string device;   // of the row, as MeasurementRow::device
};
[[nodiscard]] std::string_view name(RowFault::Kind kind);  // "not_a_number", ...

struct MeasurementSet {
  std::string directory;
  Manifest manifest;
  CsvTable table;  // measurements.csv; empty cells of `dtype` are filled from the manifest
  std::vector<std::string> parameter_names;  // of the p_* columns in order, without p_
  std::vector<MeasurementRow> rows;
  std::vector<RowFault> faults;  // rows left out, by line
  std::string hash;              // over manifest, table and files; for provenance in reports
};

// `path`: a directory or a zip archive. Throws Error.
[[nodiscard]] MeasurementSet read_measurement_set(const std::string& path);

// Parses a manifest.yaml; device paths are relative to the folder of `file`.
[[nodiscard]] Manifest read_manifest(const std::string& text, const std::string& file);
// The inverse of read_manifest() if devices are presets or absolute paths. Throws Error for text
// that our YAML subset cannot represent (control characters).
[[nodiscard]] std::string manifest_text(const Manifest& manifest);

// "op=matmul dtype=bf16 m=64 n=64 k=64": the cells that identify a row's operator; equal for equal
// work. Empty for rows that name a file.
[[nodiscard]] std::string operator_key(const CsvTable& table, const CsvRow& row);

// Hex digest (SHA-1) of the bytes; identifies data, not for security.
[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace tilecast::measured
