// A formula (base/formula.h) over the cells of a row: "m*n", "4096", "block_x * tile_x / 2". If the
// cells of a column dims are like "m=928 n=368 tb=1", dims.m is the field m.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formula.h"

namespace tilecast::measured {

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

}  // namespace tilecast::measured
