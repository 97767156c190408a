// domain.csv: one table whose first column says what a row is: covering, deviation, op_class,
// device, kernel.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hybrid/domain.h"
#include "measured/csv.h"

namespace tilecast::hybrid {
namespace {

using measured::CsvRow;
using measured::CsvTable;

constexpr std::size_t kFirst = 3;  // of the coordinates' columns
constexpr float kMost = 1e4F;      // of a coordinate: beyond the logarithm of any number

std::vector<std::string> header() {
  std::vector<std::string> columns = {"what", "name", "op_class"};
  for (const std::string_view name : coordinate_names()) columns.emplace_back(name);
  return columns;
}

void check_header(const CsvTable& table) {
  const std::vector<std::string> expected = header();
  const auto [got, wanted] = std::ranges::mismatch(table.columns, expected);
  if (got == table.columns.end() && wanted == expected.end()) return;
  throw Error(fmt::format("{}:1: got column {}, expected {}; hint: it may be of another version",
                          table.file, got == table.columns.end() ? "none" : hwdesc::show_text(*got),
                          wanted == expected.end() ? "none" : *wanted));
}

// Numbers fill the coordinates' columns from the first; the rest stay empty.
std::string csv_row(const std::string& what, const std::string& name, const std::string& op_class,
                    std::span<const float> numbers) {
  std::vector<std::string> cells = {what, name, op_class};
  for (const float number : numbers) cells.push_back(fmt::format("{}", number));
  cells.resize(kFirst + kCoordinates);
  return measured::csv_line(cells);
}

template <class Number>
Number number_at(const CsvTable& table, const CsvRow& row, std::size_t column) {
  const std::string& text = row.cells[column];
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  throw Error(fmt::format("{}: got {}, expected a finite number",
                          table.where(row, table.columns[column]), hwdesc::show_text(text)));
}

void require(bool met, const CsvTable& table, const CsvRow& row, std::string_view column,
             std::string_view got, std::string_view expected) {
  if (met) return;
  throw Error(fmt::format("{}: got {}, expected {}", table.where(row, column),
                          hwdesc::show_text(got), expected));
}

Coordinates coordinates_at(const CsvTable& table, const CsvRow& row) {
  Coordinates at;
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    at[c] = number_at<float>(table, row, kFirst + c);
    require(std::fabs(at[c]) <= kMost, table, row, coordinate_names()[c], row.cells[kFirst + c],
            fmt::format("a number of {} at most", kMost));
  }
  return at;
}

// Names come sorted and once.
void append_name(const CsvTable& table, const CsvRow& row, std::vector<std::string>& names) {
  const std::string& name = row.cells[1];
  require(names.empty() || names.back() < name, table, row, "name", name,
          "names in ascending order, each once");
  names.push_back(name);
}

Coordinates deviation_at(const CsvTable& table, const CsvRow& row) {
  const Coordinates deviation = coordinates_at(table, row);
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    require(deviation[c] >= coordinate_floor(c), table, row, coordinate_names()[c],
            row.cells[kFirst + c], fmt::format("at least {}", coordinate_floor(c)));
  }
  return deviation;
}

}  // namespace

std::string Domain::save() const {
  std::string text = measured::csv_line(header());
  std::vector<std::string> covering = {"covering", "", "", fmt::format("{}", covering_)};
  covering.resize(kFirst + kCoordinates);
  text += measured::csv_line(covering);
  if (!kernels_.empty()) text += csv_row("deviation", "", "", deviation_);
  for (const std::string& name : op_classes_) text += csv_row("op_class", name, "", {});
  for (const std::string& name : devices_) text += csv_row("device", name, "", {});
  for (const KnownKernel& kernel : kernels_) {
    text += csv_row("kernel", kernel.name, kernel.op_class, kernel.at);
  }
  return text;
}

Domain Domain::load(const std::string& text, const std::string& file) {
  const CsvTable table = measured::read_csv(base::SourceText(file, text));
  check_header(table);
  Domain domain;
  bool has_covering = false, has_deviation = false;
  for (const CsvRow& row : table.rows) {
    const std::string& what = row.cells[0];
    if (what == "covering" && !has_covering) {
      domain.covering_ = number_at<double>(table, row, kFirst);
      require(domain.covering_ >= 0, table, row, table.columns[kFirst], row.cells[kFirst],
              "a distance");
      has_covering = true;
    } else if (what == "deviation" && !has_deviation) {
      domain.deviation_ = deviation_at(table, row);
      has_deviation = true;
    } else if (what == "op_class") {
      append_name(table, row, domain.op_classes_);
    } else if (what == "device") {
      append_name(table, row, domain.devices_);
    } else if (what == "kernel") {
      require(domain.kernels_.size() < kMostKernels, table, row, "what", what,
              fmt::format("at most {} kernels", kMostKernels));
      require(std::ranges::binary_search(domain.op_classes_, row.cells[2]), table, row, "op_class",
              row.cells[2], "an op class of the rows before");
      domain.kernels_.push_back({row.cells[1], row.cells[2], coordinates_at(table, row)});
    } else {
      require(false, table, row, "what", what,
              "covering and deviation once, op_class, device or kernel");
    }
  }
  if (!has_covering) throw Error(fmt::format("{}: a row covering is missing", file));
  if (!domain.kernels_.empty() && !has_deviation) {
    throw Error(fmt::format("{}: a row deviation is missing", file));
  }
  if (domain.kernels_.empty()) domain.deviation_ = {};
  domain.scale_kernels();
  return domain;
}

}  // namespace tilecast::hybrid
