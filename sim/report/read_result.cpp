#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "measured/csv.h"
#include "sim/report/needed.h"
#include "sim/report/results.h"
#include "sim/views/rows.h"

namespace tilecast::sim::report {
namespace {

// Last modification of the file, to the minute; "" if the system does not provide it.
std::string minute_written(const std::string& path) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(path, failure);
  if (failure) return "";
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(time));
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(seconds));
}

// Columns of evaluate --rows before those of the models.
constexpr std::string_view kFixed[] = {"set",   "line", "work",       "class",
                                       "split", "tile", "measured_ns"};

void check_nanoseconds(const measured::CsvTable& table, const std::string& column) {
  for (const measured::CsvRow& row : table.rows) {
    const std::string_view cell = table.cell(row, column);
    const auto value = base::parse_number(cell);
    if (cell.empty() || (value && *value >= 0)) continue;
    throw Error(fmt::format("{}: got '{}', expected nanoseconds", table.where(row, column),
                            base::printable(cell)));
  }
}

Json read_evaluated_rows(const base::SourceText& text) {
  const measured::CsvTable table = measured::read_csv(text);
  for (std::size_t i = 0; i < std::size(kFixed); ++i) {
    if (i < table.columns.size() && table.columns[i] == kFixed[i]) continue;
    throw Error(text.describe(
        0, "neither a result in JSON (--format json) nor the rows of tilecast evaluate --rows"));
  }
  for (std::size_t i = std::size(kFixed) - 1; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    if (i >= std::size(kFixed) && !column.ends_with(" ns")) {
      throw Error(fmt::format("{}:1: column '{}': expected times of a model, as in 'hybrid ns'",
                              table.file, base::printable(column)));
    }
    check_nanoseconds(table, column);
  }
  return views::rows_document(table, "tilecast.evaluate_rows/1");
}

}  // namespace

Result read_result(base::SourceText text) {
  const std::string source = text.file();
  const std::size_t first = text.text().find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw Error(text.describe(0, "got an empty file"));
  if (text.text()[first] != '{' && text.text()[first] != '[') {
    return {source, "", read_evaluated_rows(text)};
  }
  const Document document(std::move(text));
  const Value root = document.root();
  const std::string schema = root.text("schema");
  const bool is_result = schema.starts_with("tilecast.") && schema.ends_with("/1");
  if (!is_result && schema != "tilecast.simulate/2" && schema != "tilecast.sweep/2") {
    throw root.error(fmt::format(
        "schema: got '{}', expected a result of tilecast (tilecast.simulate/2, ...)", schema));
  }
  check_needed(root, schema);
  return {source, "", root.json()};
}

Result read_result_file(const std::string& path) {
  Result result = read_result(base::SourceText::read_file(path));
  result.written = minute_written(path);
  return result;
}

}  // namespace tilecast::sim::report
