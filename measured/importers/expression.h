// A product or quotient of columns and numbers, worked out from left to right: "m*n", "4096",
// "block_size_x*tile_size_x/2". No sums, no brackets: a mapping that needs more should say so in
// a table of its own. Column names hold letters, digits, '_' and '.'; of a column whose cells are
// "m=928 n=368 tb=1", dims.m is the field m.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecast::measured {

class Expression {
 public:
  // Throws Error, starting with `where`, for anything else.
  static Expression parse(std::string_view text, const std::string& where);

  struct Factor {
    bool divides = false;
    double number = 1;
    std::string column;      // empty: the number
    std::string field = {};  // of its cells; empty: the whole cell
    std::size_t index = 0;   // of the column in a row, once bound
  };
  [[nodiscard]] const std::vector<Factor>& factors() const { return factors_; }
  // One column and nothing else.
  [[nodiscard]] bool is_column() const;

  // Finds the columns in a table; throws Error, starting with `where`, naming the missing one.
  void bind(const std::vector<std::string>& columns, const std::string& where);
  // `unit` may stand behind the number in a cell. Throws Error ("column 'm': got 'x', expected a
  // number").
  [[nodiscard]] double evaluate(const std::vector<std::string_view>& cells,
                                std::string_view unit = {}) const;

 private:
  std::vector<Factor> factors_;
};

// The place of `name` among `columns`; throws Error with the nearest name.
[[nodiscard]] std::size_t column_index(const std::vector<std::string>& columns,
                                       const std::string& name, const std::string& where);

}  // namespace tilecast::measured
