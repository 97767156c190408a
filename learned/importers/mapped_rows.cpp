#include "learned/importers/mapped_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilecast::learned {
namespace {

constexpr std::int64_t kRowsPerReport = 4096;

// Applies every rule to one row; cells of columns without a rule stay empty.
class RowMapper {
 public:
  RowMapper(const TableMapping& table, const std::vector<std::string>& targets)
      : table_(table), cells_(targets.size()) {
    for (const ColumnRule& rule : table.rules) {
      const auto place = std::find(targets.begin(), targets.end(), rule.target());
      places_.push_back(static_cast<std::size_t>(place - targets.begin()));
    }
  }

  void map(const std::vector<std::string_view>& row) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      table_.rules[i].apply(row, cells_[places_[i]]);
    }
  }
  [[nodiscard]] const std::vector<std::string>& cells() const { return cells_; }

 private:
  const TableMapping& table_;
  std::vector<std::size_t> places_;
  std::vector<std::string> cells_;
};

// The first filter that a row does not pass; null when it passes all.
const RowFilter* stopped_by(const TableMapping& table, const std::vector<std::string_view>& row) {
  for (const RowFilter& filter : table.filters) {
    if (!filter.passes(row)) return &filter;
  }
  return nullptr;
}

std::string reason(const RowFilter& filter) {
  if (filter.values.empty()) return fmt::format("column '{}' is empty", filter.column);
  return fmt::format("left out by `where` on column '{}'", filter.column);
}

}  // namespace

void add_mapped_rows(RowSource& source, TableMapping table, const std::vector<std::string>& targets,
                     const MappedRowsTo& to) {
  table.bind(source.columns());
  RowMapper mapper(table, targets);
  std::vector<std::string_view> row;
  for (std::int64_t read = 1;; ++read) {
    if (read % kRowsPerReport == 0) to.progress(source.progress());
    try {
      if (!source.next(row)) break;
      if (const RowFilter* filter = stopped_by(table, row)) {
        ++to.report.left_out[reason(*filter)];
        continue;
      }
    } catch (const RowError& error) {
      if (!to.keep_going) throw;
      to.report.add_bad(error);
      continue;
    }
    try {
      mapper.map(row);
    } catch (const Error& error) {
      const RowError located(fmt::format("{}: {}", source.where(), error.what()));
      if (!to.keep_going) throw located;
      to.report.add_bad(located);
      continue;
    }
    to.writer.add(mapper.cells());
    ++to.report.rows;
  }
  to.progress(1);
}

}  // namespace tilecast::learned
