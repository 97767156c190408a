// A formula (base/formula.h) over the cells of a row: "m*n", "4096", "block_x * tile_x / 2". Of a
// column whose cells are "m=928 n=368 tb=1", dims.m is the field m.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formula.h"

namespace tilecast::measured {

class Expression {
 public:
  // Throws Error, starting with `where`, for what is no formula.
  static Expression parse(std::string_view text, const std::string& where);

  // One column and nothing else.
  [[nodiscard]] bool is_column() const;
  // The last column named; empty: there is none.
  [[nodiscard]] std::string_view column() const;
  // Is the cell of the column, where it is nothing else, empty?
  [[nodiscard]] bool is_empty(const std::vector<std::string_view>& cells) const;

  // Finds the columns in a table; throws Error, starting with `where`, naming the missing one.
  void bind(const std::vector<std::string>& columns, const std::string& where);
  // `unit` may stand behind the number in a cell. Throws Error ("column 'm': got 'x', expected a
  // number").
  [[nodiscard]] double evaluate(const std::vector<std::string_view>& cells,
                                std::string_view unit = {}) const;

 private:
  struct Cell {
    std::string column, field;  // field: of its cells; empty: the whole cell
    std::size_t index = 0;      // of the column in a row, once bound
    [[nodiscard]] double number(const std::vector<std::string_view>& cells,
                                std::string_view unit) const;
  };
  base::Formula formula_;
  std::vector<Cell> cells_;  // by name of the formula
};

// The place of `name` among `columns`; throws Error with the nearest name.
[[nodiscard]] std::size_t column_index(const std::vector<std::string>& columns,
                                       const std::string& name, const std::string& where);

}  // namespace tilecast::measured
