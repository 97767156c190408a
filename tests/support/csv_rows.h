// Tables as maps, for tests below the rooms that read measurements.
#pragma once

#include <istream>
#include <map>
#include <string>
#include <vector>

namespace tilecast::support {

using CsvRow = std::map<std::string, std::string>;  // by column

// The cells of a line; in quotes, commas are text and two quotes are one.
[[nodiscard]] inline std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else if (line[i] != '\r') {
      cells.back() += line[i];
    }
  }
  return cells;
}

// The rows below the line of columns; cells without a column are left out.
[[nodiscard]] inline std::vector<CsvRow> csv_rows(std::istream&& in) {
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> columns = csv_cells(line);
  std::vector<CsvRow> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

}  // namespace tilecast::support
