// How one column of a measurement set is computed from the columns of a third-party table. In YAML:
//
//   m: M                                                    a column
//   elements: B*H                                           an expression (expression.h)
//   op: {constant: matmul}                                  the same text for every row
//   device: {column: Device, map: {Tesla T4: t4}}           a column, its values renamed
//   device: {file: {"*_T4.*": t4}}                          from the name of the file, by pattern
//   runtime: {column: latency_ms, unit: ms}                 a time ("1.5" or "1.5ms" in the cell);
//                                                           also {value: EXPRESSION, unit}
//   runtime: {work: m*n, per: gelem_per_s, unit: Gelem/s}   a time from a rate
//   output_bounds: [block_x*tile_x, block_y]                a tile
//
// The target column determines the valid values: times (runtime, dispatch, spread) need a unit and
// become nanoseconds above zero; extents are whole numbers of at least 1; op, dtype, device, class,
// family, split, padding and x_* are copied as text; kernel and program name an HLO file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formula.h"
#include "hwdesc/config_reader.h"

namespace tilecast::measured {

// A formula (base/formula.h) over the cells of a row: "m*n", "4096", "block_x * tile_x / 2". If the
// cells of a column dims are like "m=928 n=368 tb=1", dims.m is the field m.

class Expression {
 public:
  // Throws Error, starting with `where`, if the text is not a formula.
  static Expression parse(std::string_view text, const std::string& where);

  // Whether the formula is a single column.
  [[nodiscard]] bool is_column() const;
  // The last column in the formula; empty if there is none.
  [[nodiscard]] std::string_view column() const;
  // True if the formula is a single column and its cell is empty.
  [[nodiscard]] bool is_empty(const std::vector<std::string_view>& cells) const;

  // Looks up the columns of a table; throws Error, starting with `where`, for a missing one.
  void bind(const std::vector<std::string>& columns, const std::string& where);
  // A number in a cell may be followed by `unit`. Throws Error ("column 'm': got 'x', expected a
  // number").
  [[nodiscard]] double evaluate(const std::vector<std::string_view>& cells,
                                std::string_view unit = {}) const;

 private:
  struct Cell {
    std::string column, field;  // field: within the cells; empty: the whole cell
    std::size_t index = 0;      // of the column in a row, after bind()
    [[nodiscard]] double number(const std::vector<std::string_view>& cells,
                                std::string_view unit) const;
  };
  base::Formula formula_;
  std::vector<Cell> cells_;  // by index of the name in the formula
};

// The index of `name` in `columns`; throws Error that suggests the nearest name.
[[nodiscard]] std::size_t column_index(const std::vector<std::string>& columns,
                                       const std::string& name, const std::string& where);

class ColumnRule {
 public:
  // Reads an entry of `columns:`, whose key is the target. Throws Error.
  static ColumnRule read(const hwdesc::ConfigNode& node);
  // Copies a column unchanged, as x_<name in lower case>.
  static ColumnRule keep(const hwdesc::ConfigNode& node);
  // Copies a column of numbers or empty cells, as p_<name in lower case>.
  static ColumnRule parameter(const hwdesc::ConfigNode& node);

  // Copies a column that is already in the format of a set. The source column is `column`, or
  // `target` if empty. Cells except times may be empty. `at`: the file, for messages.
  static ColumnRule as_named(const std::string& target, const hwdesc::ConfigNode& at,
                             const std::string& column = {});

  // The name of the column in measurements.csv: "runtime_ns" for runtime.
  [[nodiscard]] const std::string& target() const { return target_; }
  [[nodiscard]] bool is_by_file_name() const { return kind_ == Kind::kFile; }
  // For text rules with a known set of results (a constant, a map): the results; else empty.
  [[nodiscard]] std::vector<std::string> possible_texts() const;
  // For text rules without a map: makes all other cells of the source errors.
  void allow_only(const std::vector<std::string>& texts);
  // Looks up the columns of a source; throws Error.
  void bind(const std::vector<std::string>& columns, const std::string& file);
  // Writes the cell's text to `out`. Throws Error naming the column but not the row.
  void apply(const std::vector<std::string_view>& cells, std::string& out) const;

 private:
  enum class Kind { kConstant, kFile, kText, kWhole, kTime, kTile };
  friend class RuleReader;

  // Copies text to a column named `prefix` + column name; `key`: the mapping key that lists the
  // column.
  static ColumnRule copied(const hwdesc::ConfigNode& node, std::string_view key,
                           std::string_view prefix);
  void apply_text(std::string_view cell, std::string& out) const;
  void apply_time(const std::vector<std::string_view>& cells, std::string& out) const;
  void append_whole(const Expression& expression, const std::vector<std::string_view>& cells,
                    std::string& out) const;

  Kind kind_ = Kind::kConstant;
  std::string target_, where_;  // where_: position of the rule, for messages
  std::string constant_, column_;
  std::size_t index_ = 0;                                 // of column_, after bind()
  std::vector<std::pair<std::string, std::string>> map_;  // from values, or from file name patterns
  std::vector<Expression> values_;                        // one, or one per bound of a tile
  std::vector<Expression> per_;                           // kTime from a rate: work / per
  std::string unit_;                                      // time unit that cells may include
  double scale_ = 1;                                      // ns per unit, or units per second
  bool may_be_empty_ = false;                             // an empty cell stays empty
  bool is_number_ = false;                                // text that must be a finite number
  bool is_bounds_ = false;                                // text that must be whole numbers
};

}  // namespace tilecast::measured
