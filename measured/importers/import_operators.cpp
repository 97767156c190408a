#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/column_mapping.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/json_records.h"
#include "measured/importers/mapped_rows.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {
namespace {

// --- cache files of Kernel Tuner (JSON, plain or gzip): one row per configuration tried.
//
//   {"tune_params_keys": ["bx", "by"], ...,
//    "cache": {"16,2": {"bx": 16, "by": 2, "time": 0.81, "times": [0.80, 0.82]}, ...}}
//
// Columns: the tuning parameters, then time_ms_mean, time_ms_min, time_ms_std and n_repeats. A
// configuration that failed ("time" is a text such as InvalidConfig) has no time.

struct CacheOptions {
  bool keep_going = false;
  std::function<void(double)> progress;
};

constexpr double kFailedTime = 1e20;  // used by older versions for failed configurations
constexpr std::size_t kRecordsPerReport = 1024;

// Mean, minimum and spread of the repeats of one configuration.
struct Repeats {
  std::size_t n = 0;
  double sum = 0, squares = 0, least = INFINITY;

  void add(double time) {
    ++n;
    sum += time;
    squares += time * time;
    least = std::min(least, time);
  }
  [[nodiscard]] double spread() const {
    const double mean = sum / static_cast<double>(n);
    return std::sqrt(std::max(squares / static_cast<double>(n) - mean * mean, 0.0));
  }
};

// Converts configurations to rows.
class CacheRows {
 public:
  CacheRows(const std::string& path,
            const std::function<MappedRows(const std::vector<std::string>&)>& make,
            ImportReport& report, const CacheOptions& options)
      : path_(path), make_(make), report_(report), options_(options) {}

  void header(const JsonField& field) {
    if (field.path == "tune_params_keys[]") parameters_.push_back(field.text);
  }

  void record(const std::string& key, const JsonRecord& fields) {
    if (!rows_) begin();
    const auto where = [&] { return fmt::format("{}: cache '{}'", path_, key); };
    try {
      read(fields, where);
      std::vector<std::string_view> cells(cells_.begin(), cells_.end());
      rows_->add(cells, where);
    } catch (const RowError& error) {
      if (!options_.keep_going) throw;
      report_.add_bad(error);
    }
  }

  void finish() {
    if (!rows_) {
      throw Error(path_ +
                  ": no key 'cache' with configurations; not a cache file of "
                  "Kernel Tuner");
    }
    rows_->finish();
  }

 private:
  void begin() {
    if (parameters_.empty()) {
      throw Error(path_ + ": no tune_params_keys before 'cache'; not a cache file of Kernel Tuner");
    }
    std::vector<std::string> columns = parameters_;
    for (const char* name : {"time_ms_mean", "time_ms_min", "time_ms_std", "n_repeats"}) {
      columns.emplace_back(name);
    }
    rows_ = std::make_unique<MappedRows>(make_(columns));
    cells_.resize(columns.size());
  }

  // Reads the cells of one configuration, in the order of the columns.
  void read(const JsonRecord& fields, const std::function<std::string()>& where) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string* value = find_field(fields, parameters_[i]);
      if (value == nullptr) {
        throw RowError(fmt::format("{}: the parameter '{}' is missing", where(), parameters_[i]));
      }
      cells_[i] = *value;
    }
    const std::size_t time = parameters_.size();
    std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(time), cells_.end(), std::string());
    Repeats repeats;
    for (const JsonField& field : fields) {
      if (field.path == "time" && !field.is_text &&
          base::parse_number(field.text).value_or(kFailedTime) < kFailedTime) {
        cells_[time] = field.text;
      }
      if (field.path == "times[]" && !field.is_text)
        repeats.add(base::parse_number(field.text).value_or(std::nan("")));
    }
    const bool runs = !cells_[time].empty();
    if (!runs && find_field(fields, "time") == nullptr) {
      throw RowError(where() + ": the configuration has no 'time'");
    }
    if (!runs || repeats.n == 0 || !std::isfinite(repeats.squares)) return;
    cells_[time + 1] = fmt::format("{}", repeats.least);
    cells_[time + 2] = fmt::format("{}", repeats.spread());
    cells_[time + 3] = fmt::format("{}", repeats.n);
  }

  const std::string& path_;
  const std::function<MappedRows(const std::vector<std::string>&)>& make_;
  ImportReport& report_;
  const CacheOptions& options_;
  std::vector<std::string> parameters_, cells_;
  std::unique_ptr<MappedRows> rows_;
};

// Decides by name: *.json or *.json.gz.
bool is_kernel_tuner_cache(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".json.gz");
}

// `rows` creates the MappedRows once the columns are known. Throws Error.
void add_kernel_tuner_cache(const std::string& path,
                            const std::function<MappedRows(const std::vector<std::string>&)>& rows,
                            ImportReport& report, const CacheOptions& options) {
  ByteSource source(path);
  CacheRows cache(path, rows, report, options);
  std::size_t read = 0;
  JsonRecordReader reader;
  reader.container = "cache";
  reader.record = [&](const std::string& key, const JsonRecord& fields) {
    if (++read % kRecordsPerReport == 0) options.progress(source.progress());
    cache.record(key, fields);
  };
  reader.header = [&](const JsonField& field) { cache.header(field); };
  reader.may_be_unfinished = true;
  const bool whole = read_json_records(source, reader);
  cache.finish();
  if (!whole) report.notes.push_back(path + ": not finished: its configurations so far are taken");
  options.progress(1);
}

namespace fs = std::filesystem;

// Expands folders to the files in and below them that the mapping matches, in order of name.
std::vector<std::string> expand(const std::vector<std::string>& inputs,
                                const ColumnMapping& mapping) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::error_code failure;
    if (!fs::is_directory(input, failure)) {
      if (mapping.find(input) == nullptr) {
        throw Error(
            fmt::format("{}: no table of the mapping is for a file of this name; see its "
                        "`files:`",
                        input));
      }
      files.push_back(input);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(
             input, fs::directory_options::skip_permission_denied, failure)) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file(failure) && mapping.find(path) != nullptr) found.push_back(path);
    }
    if (found.empty()) {
      throw Error(
          fmt::format("{}: the folder has no file the mapping knows; see its `files:`", input));
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::vector<TableMapping> tables_as_named(const std::vector<std::string>& files) {
  std::vector<TableMapping> tables;
  for (const std::string& file : files) {
    if (is_kernel_tuner_cache(file)) {
      throw Error(
          fmt::format("{}: JSON is read as a cache of Kernel Tuner, of which a mapping must say "
                      "which operator was tuned and which "
                      "parameters make its tile: --mapping YAML, as kernel_tuner_gemm is",
                      file));
    }
    ByteSource bytes(file);
    const std::vector<std::string> columns = CsvReader(file, bytes.reader()).columns();
    if (std::ranges::any_of(columns, [](const std::string& name) {
          return name == "Total Time (ns)" || name == "Duration (ns)" || name == "Kernel Name";
        })) {
      throw Error(fmt::format(
          "{}: a table of NVIDIA's profilers (Nsight): its kernels have no sizes; a mapping must "
          "say which operator each is: --mapping YAML",
          file));
    }
    tables.push_back(mapping_as_named(columns, file));
    tables.back().files = {file};
  }
  return tables;
}

// Keeps only the devices that have rows. A cell that is not in the mapping's `devices` is a
// preset's name.
void keep_devices(const std::set<std::string>& cells, const ImportOptions& options,
                  Manifest& manifest) {
  std::erase_if(manifest.devices, [&](const auto& entry) { return !cells.contains(entry.first); });
  for (const std::string& cell : cells) {
    if (cell.empty() || manifest.devices.contains(cell)) continue;
    manifest.devices[cell] = options.device.empty() ? resolve_device(cell, {}) : options.device;
  }
}

constexpr std::int64_t kRowsPerReport = 4096;

// `tables`: a row goes to the first table that takes it; if none does, it is left out with the
// first table's reason.
void add_csv_rows(CsvReader& source, std::vector<MappedRows>& tables, ImportReport& report,
                  bool keep_going, const std::function<void()>& progress) {
  const std::function<std::string()> where = [&] { return source.where(); };
  std::vector<std::string_view> row;
  for (std::int64_t read = 1;; ++read) {
    if (read % kRowsPerReport == 0) progress();
    try {
      if (!source.next(row)) break;
      const auto taker =
          std::ranges::find_if(tables, [&](const MappedRows& table) { return table.takes(row); });
      (taker == tables.end() ? tables.front() : *taker).add(row, where);
    } catch (const RowError& error) {
      if (!keep_going) throw;
      report.add_bad(error);
    }
  }
  for (MappedRows& table : tables) table.finish();
}

}  // namespace

void ImportReport::add_bad(const Error& error) {
  ++bad;
  if (messages.size() < kMaxMessages) messages.emplace_back(error.what());
}

ImportReport import_operators(const std::vector<std::string>& inputs, const std::string& mapping,
                              const ImportOptions& options) {
  ColumnMapping columns = read_column_mapping(mapping, options, inputs.front());
  const std::vector<std::string> files = expand(inputs, columns);
  SetWriter writer(options);
  ImportReport report;
  if (columns.tables.front().rules.empty()) columns.tables = tables_as_named(files);
  MappedSet set{writer, report, columns.targets(), ModuleCopies(writer), options.modules, {}};
  writer.begin_rows(set.targets);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto progress = [&](double done) {
      options.progress((static_cast<double>(i) + done) / static_cast<double>(files.size()));
    };
    const std::vector<TableMapping> tables = columns.all_of(files[i]);
    const TableMapping& table = tables.front();
    if (is_kernel_tuner_cache(files[i])) {
      const auto rows = [&](const std::vector<std::string>& names) {
        return MappedRows(table, names, files[i], set);
      };
      add_kernel_tuner_cache(files[i], rows, report, {options.keep_going, progress});
    } else {
      ByteSource bytes(files[i]);
      CsvReader source(files[i], bytes.reader(), table.header);
      std::vector<MappedRows> rows;
      for (const TableMapping& one : tables) {
        rows.emplace_back(one, source.columns(), files[i], set);
      }
      add_csv_rows(source, rows, report, options.keep_going, [&] { progress(bytes.progress()); });
      progress(1);
    }
  }
  if (report.rows == 0) {
    throw Error(fmt::format("{}: no row is a measurement; nothing is written", files.front()));
  }
  keep_devices(set.devices, options, columns.manifest);
  writer.commit(columns.manifest);
  return report;
}

}  // namespace tilecast::measured
