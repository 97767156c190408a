// Small formulas over named numbers, as studies and constraints are written in.
//
//   Formula f = Formula::parse("2 * chips * min(power, 300) <= 1e4");
//   f.names()                                  // "chips", "power"
//   f.value([&](std::string_view name) { return numbers.at(name); })   // 1 or 0
//
// Numbers (1, 0.5, 1e9), names (letters, digits, _ and dots between words: hbm.bandwidth), + - * /,
// ^ (right to left, before the sign: -2^2 is -4), comparisons < <= > >= == != (1 or 0; not in a
// row), `and`, `or`, `not`, parentheses, and the functions min, max (two arguments or more), log,
// log2, exp, sqrt, abs, floor, ceil, round, if(condition, then, else). Numbers are in SI base
// units. Division by zero and logarithms of negatives give what IEEE 754 gives.
// Thread-safe: a formula does not change.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tilecast::base {

// `offset`: where in the text of the formula, 0-based.
class FormulaError final : public Error {
 public:
  FormulaError(std::size_t where, const std::string& message) : Error(message), offset(where) {}
  std::size_t offset;
};

class Formula {
 public:
  using Lookup = std::function<double(std::string_view name)>;

  // Throws FormulaError for what is no formula; nested at most 100 deep.
  [[nodiscard]] static Formula parse(std::string_view text);
  [[nodiscard]] double value(const Lookup& lookup) const;
  // How far the condition is from turning false: of a < b (b - a) / max(|a|, |b|), of `and` and
  // `or` the least and the most, else 1 where it is not 0. Negative: it does not hold; 0: the edge.
  [[nodiscard]] double slack(const Lookup& lookup) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // each once

  // A step on a stack of numbers: what a formula is compiled to.
  struct Step {
    enum class Kind { kNumber, kName, kOperator } kind = Kind::kNumber;
    double number = 0;
    std::size_t index = 0;      // into names, or of the operator
    std::size_t arguments = 0;  // of the operator
  };

 private:
  struct Known {
    double value, slack;
  };
  [[nodiscard]] Known known(const Lookup& lookup) const;
  static Known apply(const Step& step, const Known* arguments);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;
  friend class FormulaReader;
};

}  // namespace tilecast::base
