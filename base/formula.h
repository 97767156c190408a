// Formulas over named numbers, for studies and constraints.
//
//   Formula f = Formula::parse("2 * chips * min(power, 300) <= 1e4");
//   f.names()                                  // "chips", "power"
//   f.value([&](std::string_view name) { return numbers.at(name); })   // 1 or 0
//
// Syntax: numbers (1, 0.5, 1e9), names (letters, digits, _ and dots between words: hbm.bandwidth),
// + - * /, ^ (right-associative, binds tighter than the sign: -2^2 is -4), comparisons < <= > >= ==
// != (1 or 0; not chained), `and`, `or`, `not`, parentheses, and the functions min, max (two
// arguments or more), log, log2, exp, sqrt, abs, floor, ceil, round, if(condition, then, else).
// Numbers are in SI base units. Division by zero and logarithms of negatives give the IEEE 754
// results. Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tilecast::base {

// `offset`: 0-based position in the formula's text.
class FormulaError final : public Error {
 public:
  FormulaError(std::size_t where, const std::string& message) : Error(message), offset(where) {}
  std::size_t offset;
};

class Formula {
 public:
  using Lookup = std::function<double(std::string_view name)>;

  // Throws FormulaError if the text is not a formula or nests more than 100 deep.
  [[nodiscard]] static Formula parse(std::string_view text);
  [[nodiscard]] double value(const Lookup& lookup) const;
  // How far the condition is from becoming false: (b - a) / max(|a|, |b|) for a < b, the minimum
  // for `and`, the maximum for `or`, else 1 if it is not 0. Negative: it does not hold; 0: on the
  // edge.
  [[nodiscard]] double slack(const Lookup& lookup) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // each once

  // One instruction of the stack machine that a formula is compiled to.
  struct Step {
    enum class Kind { kNumber, kName, kOperator } kind = Kind::kNumber;
    double number = 0;
    std::size_t index = 0;      // of the name or the operator
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
