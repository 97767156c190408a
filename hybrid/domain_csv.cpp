// domain.csv: one table whose first column says what a row is: covering, deviation, kind, device,
// kernel. A kernel's numbers are its shares by resource, then its coordinates.
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

constexpr std::size_t kShares = 4;                    // first column of the shares
constexpr std::size_t kFirst = kShares + kResources;  // of the coordinates
constexpr float kMostCoordinate = 1e4F;  // of a coordinate: beyond the logarithm of any number

std::vector<std::string> header() {
  std::vector<std::string> columns = {"what", "name", "kind", "device"};
  for (const std::string_view name : kResourceNames)
    columns.push_back(fmt::format("share_{}", name));
  for (const std::string_view name : coordinate_names()) columns.emplace_back(name);
  return columns;
}

void check_header(const CsvTable& table) {
  const std::vector<std::string> expected = header();
  const auto [got, wanted] = std::ranges::mismatch(table.columns, expected);
  if (got == table.columns.end() && wanted == expected.end()) return;
  throw Error(fmt::format(
      "{}:1: got column {}, expected {}; hint: the model may be of another version: train it again",
      table.file, got == table.columns.end() ? "none" : hwdesc::show_text(*got),
      wanted == expected.end() ? "none" : *wanted));
}

// `numbers` fill the columns from `first`; the rest stay empty.
std::string csv_row(std::vector<std::string> cells, std::size_t first,
                    std::span<const float> numbers) {
  cells.resize(first);
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

template <class... Args>
void require(bool met, const CsvTable& table, const CsvRow& row, std::string_view column,
             std::string_view got, fmt::format_string<Args...> expected, Args&&... args) {
  if (met) return;
  throw Error(fmt::format("{}: got {}, expected {}", table.where(row, column),
                          hwdesc::show_text(got),
                          fmt::format(expected, std::forward<Args>(args)...)));
}

Coordinates coordinates_at(const CsvTable& table, const CsvRow& row) {
  Coordinates at;
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    at[c] = number_at<float>(table, row, kFirst + c);
    require(std::fabs(at[c]) <= kMostCoordinate, table, row, coordinate_names()[c],
            row.cells[kFirst + c], "a number of {} at most", kMostCoordinate);
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
            row.cells[kFirst + c], "at least {}", coordinate_floor(c));
  }
  return deviation;
}

// The kind by its name, as static text.
std::string_view kind_at(const CsvTable& table, const CsvRow& row, std::size_t column) {
  const std::span<const std::string> all = all_kinds();
  const auto found = std::ranges::find(all, row.cells[column]);
  require(found != all.end(), table, row, table.columns[column], row.cells[column],
          "what a kernel computes with and what binds it, as \"16-bit product, matrix\"");
  return *found;
}

KnownKernel kernel_at(const CsvTable& table, const CsvRow& row, const Domain& domain) {
  KnownKernel kernel{.name = row.cells[1], .device = row.cells[3], .work = {}};
  require(std::ranges::binary_search(domain.kinds(), row.cells[2]), table, row, "kind",
          row.cells[2], "a kind of the rows before");
  require(std::ranges::binary_search(domain.devices(), kernel.device), table, row, "device",
          kernel.device, "a device of the rows before");
  kernel.work.kind = kind_at(table, row, 2);
  for (std::size_t r = 0; r < kResources; ++r) {
    kernel.work.shares[r] = number_at<float>(table, row, kShares + r);
    require(kernel.work.shares[r] >= 0 && kernel.work.shares[r] <= 1, table, row,
            table.columns[kShares + r], row.cells[kShares + r], "a share");
  }
  kernel.work.at = coordinates_at(table, row);
  return kernel;
}

}  // namespace

std::string Domain::save() const {
  const float covering = static_cast<float>(covering_);
  std::string text = measured::csv_line(header());
  text += csv_row({"covering"}, kFirst, std::span(&covering, 1));
  if (!kernels_.empty()) text += csv_row({"deviation"}, kFirst, deviation_);
  for (const std::string& kind : kinds_) text += csv_row({"kind", kind}, kFirst, {});
  for (const std::string& name : devices_) text += csv_row({"device", name}, kFirst, {});
  for (const KnownKernel& kernel : kernels_) {
    std::vector<float> numbers(kernel.work.shares.begin(), kernel.work.shares.end());
    numbers.insert(numbers.end(), kernel.work.at.begin(), kernel.work.at.end());
    text += csv_row({"kernel", kernel.name, std::string(kernel.work.kind), kernel.device}, kShares,
                    numbers);
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
      domain.covering_ = number_at<float>(table, row, kFirst);
      require(domain.covering_ >= 0, table, row, table.columns[kFirst], row.cells[kFirst],
              "a distance");
      has_covering = true;
    } else if (what == "deviation" && !has_deviation) {
      domain.deviation_ = deviation_at(table, row);
      has_deviation = true;
    } else if (what == "kind") {
      static_cast<void>(kind_at(table, row, 1));
      append_name(table, row, domain.kinds_);
    } else if (what == "device") {
      append_name(table, row, domain.devices_);
    } else if (what == "kernel") {
      require(domain.kernels_.size() < kMostKernels, table, row, "what", what, "at most {} kernels",
              kMostKernels);
      domain.kernels_.push_back(kernel_at(table, row, domain));
    } else {
      require(false, table, row, "what", what,
              "covering and deviation once, kind, device or kernel");
    }
  }
  if (!has_covering) throw Error(fmt::format("{}: a row covering is missing", file));
  if (!domain.kernels_.empty() && !has_deviation) {
    throw Error(fmt::format("{}: a row deviation is missing", file));
  }
  if (domain.kernels_.empty()) domain.deviation_ = {};
  domain.index_kernels();
  return domain;
}

}  // namespace tilecast::hybrid
