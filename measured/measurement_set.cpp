#include "measured/measurement_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha1.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "base/archive.h"
#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "measured/known_columns.h"
#include "measured/tile_cells.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;

constexpr double kNanosecond = 1e-9;
// No launch takes less than a picosecond or more than eleven days.
constexpr double kShortestNs = 1e-3, kLongestNs = 1e15;
constexpr std::array<std::string_view, 2> kPlaceColumns{"kernel", "program"};

void check_columns(const CsvTable& table, const Manifest& manifest) {
  std::vector<std::string_view> read(operator_columns().begin(), operator_columns().end());
  read.insert(read.end(), measured_columns().begin(), measured_columns().end());
  read.insert(read.end(), tile_columns().begin(), tile_columns().end());
  allow_only_columns(table, read, kPlaceColumns);
  check_quantity_columns(table, manifest);
  if (manifest.timing == Timing::kNone) {
    for (const std::string_view column : {"runtime_ns", "dispatch_ns", "spread_ns"}) {
      if (!table.find(column)) continue;
      throw Error(
          fmt::format("{}:1: column '{}': the manifest says timing: none; expected no times",
                      table.file, column));
    }
  } else if (!table.find("runtime_ns")) {
    throw Error(fmt::format("{}:1: the column 'runtime_ns' is missing; got {}", table.file,
                            fmt::join(table.columns, ", ")));
  }
  if (!table.find("kernel") && !table.find("program") && !table.find("op")) {
    throw Error(fmt::format("{}:1: no column says what ran; got {}; expected kernel, program or op",
                            table.file, fmt::join(table.columns, ", ")));
  }
}

// Operator rows without a dtype get the manifest's.
void fill_dtype(const Manifest& manifest, CsvTable& table) {
  if (manifest.defaults_dtype.empty() || !table.find("op")) return;
  if (!table.find("dtype")) {
    table.columns.emplace_back("dtype");
    for (CsvRow& row : table.rows) row.cells.emplace_back();
  }
  const std::size_t column = *table.find("dtype");
  for (CsvRow& row : table.rows) {
    if (table.cell(row, "dtype").empty() && !table.cell(row, "op").empty()) {
      row.cells[column] = manifest.defaults_dtype;
    }
  }
}

// The devices of a set, by their names in rows.
class DeviceNames {
 public:
  explicit DeviceNames(const Manifest& manifest) : manifest_(manifest) {}

  [[nodiscard]] const std::string& of(const CsvTable& table, const CsvRow& row) const {
    const std::string_view cell = table.cell(row, "device");
    if (cell.empty()) {
      if (!manifest_.device.empty()) return manifest_.device;
      throw Error(fmt::format("{}: the cell is empty and the manifest names no device for it",
                              table.where(row, "device")));
    }
    if (const auto found = manifest_.devices.find(std::string(cell));
        found != manifest_.devices.end()) {
      return found->second;
    }
    if (cell == manifest_.device) return manifest_.device;
    std::vector<std::string_view> known;
    for (const auto& [name, device] : manifest_.devices) known.push_back(name);
    const std::string near = base::nearest(cell, known);
    throw Error(fmt::format("{}: got '{}', expected a key of devices: in the manifest{}",
                            table.where(row, "device"), cell,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

 private:
  const Manifest& manifest_;
};

// The files named in rows; each is checked once to be a regular file inside the directory or
// archive.
class SetFiles {
 public:
  explicit SetFiles(const std::string& directory)
      : directory_(directory),
        is_archive_(base::is_archive(directory)),
        root_(fs::weakly_canonical(directory)) {}

  void require(const CsvTable& table, const CsvRow& row, std::string_view column,
               const std::string& file) {
    if (names_.contains(file)) return;
    if (const std::string wrong = what_is_wrong(file); !wrong.empty()) {
      throw Error(fmt::format("{}: got '{}', {}", table.where(row, column), file, wrong));
    }
    names_.insert(file);
  }
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }

 private:
  [[nodiscard]] std::string what_is_wrong(const std::string& file) const {
    const fs::path path(file);
    if (path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end()) {
      return "expected a path inside the set's directory";
    }
    const fs::path whole = fs::path(directory_) / path;
    if (!base::is_file(whole.string())) return "no such file in the set";
    if (is_archive_) return {};  // archives hold no links
    const fs::path inside = fs::weakly_canonical(whole).lexically_relative(root_);
    if (inside.empty() || *inside.begin() == "..") {
      return "which leads outside the set's directory";
    }
    return {};
  }

  std::string directory_;
  bool is_archive_ = false;
  fs::path root_;
  std::set<std::string> names_;
};

// A fault found while reading a row.
struct Faulty {
  RowFault::Kind kind;
  std::string message;
};

double number_cell(const CsvTable& table, const CsvRow& row, std::string_view column) {
  const std::string_view text = table.cell(row, column);
  const std::optional<double> value = base::parse_number(text);
  if (!value) {
    throw Faulty{
        RowFault::Kind::kNotANumber,
        fmt::format("column '{}': got '{}', expected a finite number", column, text.substr(0, 60))};
  }
  return *value;
}

Seconds runtime_cell(const CsvTable& table, const CsvRow& row) {
  const double ns = number_cell(table, row, "runtime_ns");
  const std::string_view text = table.cell(row, "runtime_ns").substr(0, 60);
  if (!(ns > 0)) {
    throw Faulty{RowFault::Kind::kNotPositive,
                 fmt::format("column 'runtime_ns': got '{}', expected a time above 0", text)};
  }
  if (ns < kShortestNs || ns > kLongestNs) {
    throw Faulty{RowFault::Kind::kOutlier,
                 fmt::format("column 'runtime_ns': got '{}', expected {} to {} ns", text,
                             kShortestNs, kLongestNs)};
  }
  return Seconds{ns * kNanosecond};
}

Seconds time_cell(const CsvTable& table, const CsvRow& row, std::string_view column) {
  const double ns = number_cell(table, row, column);
  if (ns >= 0 && ns <= kLongestNs) return Seconds{ns * kNanosecond};
  throw Faulty{RowFault::Kind::kNotPositive,
               fmt::format("column '{}': got '{}', expected a time of at least 0", column,
                           table.cell(row, column).substr(0, 60))};
}

void read_values(const CsvTable& table, const CsvRow& row, MeasurementRow& read) {
  const bool has_quantity =
      std::ranges::any_of(read.quantities, [](float value) { return !std::isnan(value); });
  if (!has_quantity || !table.cell(row, "runtime_ns").empty()) {
    if (!table.find("runtime_ns")) {
      throw Faulty{RowFault::Kind::kNotANumber, "all quantities are empty, expected one at least"};
    }
    read.runtime = runtime_cell(table, row);
  }
  if (!table.cell(row, "dispatch_ns").empty()) {
    read.dispatch = time_cell(table, row, "dispatch_ns");
    if (!read.runtime || *read.dispatch >= *read.runtime) {
      throw Faulty{RowFault::Kind::kNotPositive,
                   fmt::format("column 'dispatch_ns': got '{}', expected less than runtime_ns '{}'",
                               table.cell(row, "dispatch_ns"), table.cell(row, "runtime_ns"))};
    }
  }
  if (!table.cell(row, "spread_ns").empty()) read.spread = time_cell(table, row, "spread_ns");
  if (table.cell(row, "repeats").empty()) return;
  const double repeats = number_cell(table, row, "repeats");
  if (repeats < 1 || repeats > 1e9 || repeats != std::floor(repeats)) {
    throw Faulty{RowFault::Kind::kNotANumber,
                 fmt::format("column 'repeats': got '{}', expected a whole number of at least 1",
                             table.cell(row, "repeats"))};
  }
  read.repeats = static_cast<int>(repeats);
}

void read_work(const CsvTable& table, const CsvRow& row, SetFiles& files, MeasurementRow& read) {
  std::string_view named;
  for (const std::string_view column : {"kernel", "program", "op"}) {
    if (table.cell(row, column).empty()) continue;
    if (!named.empty()) {
      throw Error(fmt::format("{}: given besides {}; expected one of kernel, program, op",
                              table.where(row, column), named));
    }
    named = column;
  }
  if (named.empty()) {
    throw Error(fmt::format("{}:{}: nothing says what ran; expected one of kernel, program, op",
                            table.file, row.line));
  }
  read.is_program = named == "program";
  if (named == "op") return;
  const std::string_view cell = table.cell(row, named);
  const std::size_t hash = read.is_program ? std::string_view::npos : cell.rfind('#');
  read.file = cell.substr(0, hash);
  if (hash != std::string_view::npos) read.kernel = cell.substr(hash + 1);
  files.require(table, row, named, read.file);
}

std::string duplicate_key(const CsvTable& table, const CsvRow& row, const MeasurementRow& read) {
  return fmt::format("{}\n{}#{}\n{}\n{}\n{}", read.device, read.file, read.kernel,
                     operator_key(table, row), analytical::to_string(read.tile),
                     fmt::join(read.parameters, " "));
}

void read_rows(MeasurementSet& set, SetFiles& files) {
  const CsvTable& table = set.table;
  const DeviceNames devices(set.manifest);
  std::unordered_map<std::string, int> seen;  // work, device, tile -> line
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow& row = table.rows[i];
    MeasurementRow read;
    read.table_row = i;
    read.line = row.line;
    read_work(table, row, files, read);
    read.device = devices.of(table, row);
    read.op_class = table.cell(row, "class");
    read.family = table.cell(row, "family");
    read.split = table.cell(row, "split");
    read.tile = tile_cells(table, row);
    if (!set.parameter_names.empty()) read.parameters = read_parameters(table, row);
    read.quantities = read_quantities(table, row, set.manifest);
    if (read.is_program && read.tile != analytical::TileConfig{}) {
      throw Error(fmt::format("{}: got a tile, expected none: programs have many kernels",
                              table.where(row, "program")));
    }
    try {
      read_values(table, row, read);
      const auto [first, is_new] = seen.emplace(duplicate_key(table, row, read), row.line);
      if (!is_new) {
        throw Faulty{RowFault::Kind::kDuplicate,
                     fmt::format("same work, device{} as line {}",
                                 read.parameters.empty() ? " and tile" : ", tile and parameters",
                                 first->second)};
      }
    } catch (Faulty& faulty) {
      set.faults.push_back({row.line, faulty.kind, std::move(faulty.message), read.device});
      continue;
    }
    set.rows.push_back(std::move(read));
  }
}

std::string read_text(const std::string& path, std::size_t max_bytes) {
  if (!base::is_file(path)) {
    throw Error(
        fmt::format("{}: no such file; a measurement set is a directory with manifest.yaml "
                    "and measurements.csv, or a zip archive of them",
                    path));
  }
  return base::SourceText::read_bytes(path, max_bytes);
}

// Requires that the device descriptions of an archived set are in the archive.
void check_devices_inside(const Manifest& manifest, const std::string& archive) {
  const std::string inside = fs::path(archive).lexically_normal().string() + "/";
  const auto check = [&](const std::string& device) {
    if (!hwdesc::is_path(device) || device.starts_with(inside)) return;
    throw Error(fmt::format("{}: the device {} is outside the archive", archive, device));
  };
  check(manifest.device);
  for (const auto& [name, device] : manifest.devices) check(device);
}

}  // namespace

std::string_view name(RowFault::Kind kind) {
  constexpr std::array<std::string_view, 7> kNames{"not_a_number",      "not_positive", "duplicate",
                                                   "faster_than_light", "unit_slip",    "outlier",
                                                   "cannot_run"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string operator_key(const CsvTable& table, const CsvRow& row) {
  std::string key;
  for (const std::string_view column : operator_columns()) {
    const std::string_view cell = table.cell(row, column);
    if (cell.empty()) continue;
    if (key.empty() && column != "op") return {};
    fmt::format_to(std::back_inserter(key), "{}{}={}", key.empty() ? "" : " ", column, cell);
  }
  return key;
}

std::string content_hash(std::string_view bytes) {
  sha1_ctx state;
  sha1_init(&state);
  sha1_update(&state, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  std::array<std::uint8_t, SHA1_DIGEST_SIZE> digest{};
  sha1_digest(&state, digest.size(), digest.data());
  std::string hex;
  for (const std::uint8_t byte : digest) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
  return hex;
}

MeasurementSet read_measurement_set(const std::string& path) {
  std::error_code failed;
  const bool archive = base::is_archive(path);
  if (!archive && !fs::is_directory(path, failed)) {
    throw Error(
        fmt::format("{}: no such directory or archive; expected a measurement set: "
                    "manifest.yaml and measurements.csv",
                    path));
  }
  MeasurementSet set;
  set.directory = path;
  const std::string manifest_file = (fs::path(path) / "manifest.yaml").string();
  const std::string manifest = read_text(manifest_file, hwdesc::kMaxConfigBytes);
  set.manifest = read_manifest(manifest, manifest_file);
  if (archive) check_devices_inside(set.manifest, path);
  if (set.manifest.subject == Subject::kGraph) {
    throw Error(
        fmt::format("{}: holds graphs of features, no kernels; they are no longer read", path));
  }
  const std::string table_file = (fs::path(path) / "measurements.csv").string();
  std::string hashed;
  {
    const base::SourceText text(table_file, read_text(table_file, base::SourceText::kMaxBytes));
    set.table = read_csv(text);
    hashed = content_hash(manifest) + content_hash(text.text());
  }
  check_columns(set.table, set.manifest);
  set.parameter_names = parameter_names(set.table);
  fill_dtype(set.manifest, set.table);
  SetFiles files(path);
  read_rows(set, files);
  for (const std::string& file : files.names()) {
    hashed += fmt::format(
        "{}:{}{}", file.size(), file,
        content_hash(read_text((fs::path(path) / file).string(), base::SourceText::kMaxBytes)));
  }
  set.hash = content_hash(hashed);
  return set;
}

}  // namespace tilecast::measured
