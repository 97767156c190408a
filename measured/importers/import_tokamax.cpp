#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "ir/text/hlo_parser.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/expression.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"
#include "measured/importers/tokamax_modules.h"

namespace tilecast::measured {
namespace {

// The rows of one cache: of equal keys the fastest.
class TokamaxRows {
 public:
  TokamaxRows(const Manifest& manifest, SetWriter& writer, ImportReport& report)
      : manifest_(manifest), writer_(writer), report_(report) {}

  // Throws RowError.
  void add(std::string_view device, std::string_view op, std::string_view key,
           std::string_view median_ms) {
    const std::optional<double> time_ms = base::parse_number(median_ms);
    if (!time_ms || !(*time_ms > 0)) {
      throw RowError(fmt::format("column 'median_ms': got {}, expected a time above zero",
                                 hwdesc::show_text(median_ms)));
    }
    const auto preset = manifest_.devices.find(std::string(device));
    if (preset == manifest_.devices.end()) {
      ++report_.left_out[fmt::format("device {}", device)];
      return;
    }
    const auto [found, is_new] =
        fastest_.try_emplace(fmt::format("{}\n{}\n{}", device, op, key), rows_.size());
    if (!is_new) {
      ++report_.left_out["slower than a run of the same key"];
      double& least = rows_[found->second].time_ms;
      least = std::min(least, *time_ms);
      return;
    }
    const TokamaxModule module = tokamax_module(op, key, is_tiled(preset->second));
    if (module.hlo.empty()) {
      fastest_.erase(found);
      ++report_.left_out[module.left_out];
      return;
    }
    rows_.push_back({std::string(device), std::string(op), file_of(module.hlo, op), *time_ms});
  }

  void write() {
    constexpr double kNanosecondsPerMillisecond = 1e6;
    writer_.begin_rows({"program", "device", "class", "runtime_ns"});
    for (const Row& row : rows_) {
      writer_.add({row.file, row.device, row.op,
                   fmt::format("{:.1f}", row.time_ms * kNanosecondsPerMillisecond)});
    }
    report_.rows = static_cast<std::int64_t>(rows_.size());
  }

 private:
  struct Row {
    std::string device, op, file;
    double time_ms = 0;
  };

  bool is_tiled(const std::string& device) {
    const auto [found, is_new] = tiled_.try_emplace(device);
    if (is_new) found->second = hwdesc::load_device(device).native_tile.tiled;
    return found->second;
  }
  // Equal modules are one file.
  std::string file_of(const std::string& hlo, std::string_view op) {
    const auto [found, is_new] = files_.try_emplace(hlo);
    if (is_new) {
      found->second = fmt::format("programs/{}_{}.hlo", op, files_.size());
      static_cast<void>(ir::parse_hlo(base::SourceText(found->second, hlo)));
      writer_.add_file(found->second, hlo);
    }
    return found->second;
  }

  const Manifest& manifest_;
  SetWriter& writer_;
  ImportReport& report_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t> fastest_;  // device, op and key -> row
  std::map<std::string, std::string> files_;    // text -> file
  std::map<std::string, bool> tiled_;           // of devices
};

}  // namespace

ImportReport import_tokamax(const std::vector<std::string>& files, const std::string& mapping,
                            const ImportOptions& options) {
  const Manifest manifest = read_import_manifest(mapping, options, files.front());
  SetWriter writer(options);
  ImportReport report;
  TokamaxRows rows(manifest, writer, report);
  for (const std::string& file : files) {
    ByteSource bytes(file);
    CsvReader table(file, bytes.reader());
    std::vector<std::size_t> columns;
    for (const char* name : {"device", "op", "key_json", "median_ms"}) {
      columns.push_back(column_index(table.columns(), name, file + ":1"));
    }
    std::vector<std::string_view> cells;
    while (table.next(cells)) {
      try {
        rows.add(cells[columns[0]], cells[columns[1]], cells[columns[2]], cells[columns[3]]);
      } catch (const Error& error) {
        const RowError located(fmt::format("{}: {}", table.where(), error.what()));
        if (!options.keep_going) throw located;
        report.add_bad(located);
      }
      options.progress(bytes.progress());
    }
  }
  rows.write();
  if (report.rows == 0) {
    throw Error(fmt::format("{}: no row is a measurement; nothing is written", files.front()));
  }
  writer.commit(manifest);
  return report;
}

}  // namespace tilecast::measured
