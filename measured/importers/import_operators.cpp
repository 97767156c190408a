#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "measured/importers/byte_source.h"
#include "measured/importers/column_mapping.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/kernel_tuner_cache.h"
#include "measured/importers/mapped_rows.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {
namespace {

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
