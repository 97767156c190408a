#include "sim/views/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::sim::views {
namespace {

// A cell as shown: on one line, without control characters, truncated between UTF-8 characters.
std::string shown(const std::string& cell, std::size_t width) {
  std::string text = base::printable(cell);
  std::ranges::replace(text, '\n', ' ');
  if (text.size() <= width) return text;
  std::size_t end = width - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "~";
}

void append_line(std::string& out, const std::vector<Column>& columns,
                 const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += "  ";
    line += columns[i].align == Align::kLeft ? fmt::format("{:<{}}", cells[i], widths[i])
                                             : fmt::format("{:>{}}", cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.title = shown(column.title, column.title.size() * 4 + 1);
}

void TextTable::add(std::vector<std::string> cells) {
  TC_CHECK(cells.size() == columns_.size(), "a row has one cell per column");
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = shown(cells[i], columns_[i].max_width);
  rows_.push_back(std::move(cells));
}

std::string TextTable::render() const {
  std::vector<std::string> titles, rule;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  std::string out;
  append_line(out, columns_, titles, widths);
  append_line(out, columns_, rule, widths);
  for (const auto& row : rows_) append_line(out, columns_, row, widths);
  return out;
}

std::string compact(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e15 || size < 1e-4) return fmt::format("{:.3g}", value);
  const int whole_digits = size < 1 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - whole_digits, size < 0.1 ? 4 : 0, 4));
}

std::string count(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? fmt::format("{:.0f}", value) : compact(value);
}

std::string microseconds(double time_s) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  const double time_us = time_s * kMicrosecondsPerSecond;
  return std::abs(time_us) >= 100 ? fmt::format("{:.1f}", time_us) : compact(time_us);
}

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string signed_microseconds(Seconds time) {
  return (time.value > 0 ? "+" : "") + microseconds(time.value);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

}  // namespace tilecast::sim::views
