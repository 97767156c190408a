#include "measured/importers/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"

namespace tilecast::measured {
namespace {

std::string_view without_unit(std::string_view cell, std::string_view unit) {
  if (unit.empty() || !cell.ends_with(unit)) return cell;
  cell.remove_suffix(unit.size());
  return cell.substr(0, cell.find_last_not_of(' ') + 1);
}

std::string_view skip_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// The value of NAME=VALUE in a cell with several such fields; empty if there is none.
std::string_view field_of(std::string_view cell, std::string_view name) {
  while (!cell.empty()) {
    const std::string_view word = cell.substr(0, cell.find(' '));
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return word.substr(name.size() + 1);
    }
    cell = skip_blanks(cell.substr(word.size()));
  }
  return {};
}

}  // namespace

Expression Expression::parse(std::string_view text, const std::string& where) {
  Expression result;
  try {
    result.formula_ = base::Formula::parse(text);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: got {}, expected a formula of columns, such as m*n: {}", where,
                            hwdesc::show_text(text), error.what()));
  }
  for (const std::string& name : result.formula_.names()) {
    result.cells_.push_back({.column = name, .field = {}});
  }
  return result;
}

bool Expression::is_column() const {
  return cells_.size() == 1 && base::trim(formula_.text()) == formula_.names().front();
}

std::string_view Expression::column() const {
  return cells_.empty() ? std::string_view{} : cells_.back().column;
}

bool Expression::is_empty(const std::vector<std::string_view>& cells) const {
  return is_column() && cells[cells_.front().index].empty();
}

void Expression::bind(const std::vector<std::string>& columns, const std::string& where) {
  for (Cell& cell : cells_) {
    const std::size_t dot = cell.column.find('.');
    const bool is_field = std::ranges::find(columns, cell.column) == columns.end() &&
                          std::ranges::find(columns, cell.column.substr(0, dot)) != columns.end();
    if (is_field) {
      cell.field = cell.column.substr(dot + 1);
      cell.column.resize(dot);
    }
    cell.index = column_index(columns, cell.column, where);
  }
}

double Expression::Cell::number(const std::vector<std::string_view>& cells,
                                std::string_view unit) const {
  const std::string_view cell = field.empty() ? cells[index] : field_of(cells[index], field);
  const std::optional<double> number = base::parse_number(without_unit(cell, unit));
  if (number) return *number;
  throw Error(fmt::format("column '{}': got {}, expected a number", column,
                          cell.empty() ? "an empty cell" : hwdesc::show_text(cell)));
}

double Expression::evaluate(const std::vector<std::string_view>& cells,
                            std::string_view unit) const {
  if (is_column()) return cells_.front().number(cells, unit);
  return formula_.value([&](std::string_view name) {
    const auto place = std::ranges::find(formula_.names(), name) - formula_.names().begin();
    return cells_[static_cast<std::size_t>(place)].number(cells, unit);
  });
}

std::size_t column_index(const std::vector<std::string>& columns, const std::string& name,
                         const std::string& where) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const std::string near =
      base::nearest(name, std::vector<std::string_view>(columns.begin(), columns.end()));
  throw Error(fmt::format("{}: there is no column '{}'; the table has {}{}", where, name,
                          fmt::join(columns, ", "),
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace tilecast::measured
