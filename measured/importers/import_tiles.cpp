#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/expression.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/module_copies.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {
namespace {

const std::vector<std::string> kTargets{"kernel",        "runtime_ns",        "output_bounds",
                                        "kernel_bounds", "input_bounds",      "x_config_index",
                                        "x_is_default",  "x_iteration_bounds"};

// The columns of a table of tile runs; all but the first two may be missing.
class RunColumns {
 public:
  explicit RunColumns(const CsvReader& source) {
    const auto& names = source.columns();
    for (const char* name : {"file", "compute_time_ns"}) {
      static_cast<void>(column_index(names, name, source.file() + ":1"));
    }
    for (std::size_t i = 0; i < names.size(); ++i) index_[names[i]] = i;
  }

  // "" when there is no such column.
  [[nodiscard]] std::string_view of(const std::vector<std::string_view>& cells,
                                    const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? std::string_view{} : cells[found->second];
  }

 private:
  std::map<std::string, std::size_t> index_;
};

[[noreturn]] void bad_cell(const std::string& column, std::string_view got, const char* expected) {
  throw RowError(fmt::format("column '{}': got {}, expected {}", column,
                             got.empty() ? "an empty cell" : hwdesc::show_text(got), expected));
}

// Whole numbers of at least 1 with spaces between them, as they stand.
std::string bounds(std::string_view text, const std::string& column) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < 1) {
      bad_cell(column, text, "whole numbers of at least 1 with single spaces between them");
    }
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return std::string(text);
}

std::string runtime(std::string_view text) {
  if (!(base::parse_number(text) > 0.0)) {
    bad_cell("compute_time_ns", text, "a time above zero in nanoseconds");
  }
  return std::string(text);
}

std::string copied(ModuleCopies& modules, const std::string& folder, std::string_view file) {
  try {
    return modules.take(folder, file);
  } catch (const Error& error) {
    throw RowError(fmt::format("column 'file': {}", error.what()));
  }
}

// Why a run tells nothing about a tile; "" when it does.
std::string unusable(const RunColumns& columns, const std::vector<std::string_view>& cells) {
  const std::string_view error = columns.of(cells, "error");
  if (!error.empty() && error != "0" && error != "false") return "the run failed (column 'error')";
  for (const char* name : {"output_bounds", "kernel_bounds", "input_bounds"}) {
    if (!columns.of(cells, name).empty()) return {};
  }
  return "no bounds: the run has no tile";
}

}  // namespace

ImportReport import_tiles(const TileSource& source, const ImportOptions& options) {
  const Manifest manifest = read_import_manifest(source.manifest, options, source.runs);
  ByteSource bytes(source.runs);
  CsvReader runs(source.runs, bytes.reader());
  const RunColumns columns(runs);
  SetWriter writer(options);
  writer.begin_rows(kTargets);
  ModuleCopies modules(writer);
  ImportReport report;
  std::vector<std::string_view> cells;
  const auto text = [&](const std::string& name) { return std::string(columns.of(cells, name)); };
  for (;;) {
    std::vector<std::string> row;
    try {
      if (!runs.next(cells)) break;
      if (const std::string reason = unusable(columns, cells); !reason.empty()) {
        ++report.left_out[reason];
        continue;
      }
      row = {copied(modules, source.modules, columns.of(cells, "file")),
             runtime(columns.of(cells, "compute_time_ns")),
             bounds(columns.of(cells, "output_bounds"), "output_bounds"),
             bounds(columns.of(cells, "kernel_bounds"), "kernel_bounds"),
             bounds(columns.of(cells, "input_bounds"), "input_bounds"),
             text("config_index"),
             text("is_default"),
             text("iteration_bounds")};
    } catch (const RowError& error) {
      const std::string what = error.what();
      const RowError located(what.starts_with(runs.file()) ? what : runs.where() + ": " + what);
      if (!options.keep_going) throw located;
      report.add_bad(located);
      continue;
    }
    writer.add(row);
    ++report.rows;
    options.progress(bytes.progress());
  }
  if (report.rows == 0) throw Error(runs.file() + ": no row is a measurement; nothing is written");
  writer.commit(manifest);
  return report;
}

}  // namespace tilecast::measured
