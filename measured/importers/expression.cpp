#include "measured/importers/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"

namespace tilecast::measured {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

bool starts_number(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

// The number a text is, wholly; NaN when it is none or not finite.
double parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? value : std::nan("");
}

std::string_view without_unit(std::string_view cell, std::string_view unit) {
  if (unit.empty() || !cell.ends_with(unit)) return cell;
  cell.remove_suffix(unit.size());
  return cell.substr(0, cell.find_last_not_of(' ') + 1);
}

std::string_view skip_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// The value of NAME=VALUE in a cell of several; empty: there is none.
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

Expression::Factor factor(std::string_view word) {
  if (!starts_number(word.front())) return {.column = std::string(word)};
  return {.number = parse_number(word), .column = {}};
}

}  // namespace

Expression Expression::parse(std::string_view text, const std::string& where) {
  const auto fail = [&] {
    throw Error(fmt::format(
        "{}: got {}, expected columns and numbers joined by * and /, such as m*n or 4096/block",
        where, hwdesc::show_text(text)));
  };
  Expression result;
  std::string_view rest = skip_blanks(text);
  for (bool divides = false;;) {
    const auto stop = std::find_if_not(rest.begin(), rest.end(), in_name);
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(stop - rest.begin()));
    if (word.empty()) fail();
    Factor next = factor(word);
    if (std::isnan(next.number) || (divides && next.number == 0)) fail();
    next.divides = divides;
    result.factors_.push_back(std::move(next));
    rest = skip_blanks(rest.substr(word.size()));
    if (rest.empty()) return result;
    if (rest.front() != '*' && rest.front() != '/') fail();
    divides = rest.front() == '/';
    rest = skip_blanks(rest.substr(1));
  }
}

bool Expression::is_column() const {
  return factors_.size() == 1 && !factors_.front().column.empty();
}

void Expression::bind(const std::vector<std::string>& columns, const std::string& where) {
  for (Factor& factor : factors_) {
    if (factor.column.empty()) continue;
    const std::size_t dot = factor.column.find('.');
    const bool is_field = std::ranges::find(columns, factor.column) == columns.end() &&
                          std::ranges::find(columns, factor.column.substr(0, dot)) != columns.end();
    if (is_field) {
      factor.field = factor.column.substr(dot + 1);
      factor.column.resize(dot);
    }
    factor.index = column_index(columns, factor.column, where);
  }
}

double Expression::evaluate(const std::vector<std::string_view>& cells,
                            std::string_view unit) const {
  double value = 1;
  for (const Factor& factor : factors_) {
    double number = factor.number;
    if (!factor.column.empty()) {
      const std::string_view whole = cells[factor.index];
      const std::string_view cell = factor.field.empty() ? whole : field_of(whole, factor.field);
      number = parse_number(without_unit(cell, unit));
      if (std::isnan(number) || (factor.divides && number == 0)) {
        throw Error(fmt::format("column '{}': got {}, expected a {}number", factor.column,
                                cell.empty() ? "an empty cell" : hwdesc::show_text(cell),
                                factor.divides ? "non-zero " : ""));
      }
    }
    value = factor.divides ? value / number : value * number;
  }
  return value;
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
