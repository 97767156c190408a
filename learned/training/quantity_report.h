// How models of a quantity other than time do on rows, beside constants that any model should beat.
// Physics has no answer for such quantities.
//
//   QuantityReport report(examples, {{"mean", constant(12.5, n)}, {"trees", answers}});
//
// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learned/training/examples.h"
#include "measured/quantity_scores.h"

namespace tilecast::learned {

// By row of the examples, in the quantity's unit.
[[nodiscard]] std::vector<double> quantity_values(const Examples& examples);
// What the predictor says; NaN where it has no answer. It must predict the examples' target.
[[nodiscard]] std::vector<double> quantity_answers(const Predictor& predictor,
                                                   const Examples& examples);

struct QuantityColumn {
  std::string name;
  std::vector<double> answers;  // by row
};
struct QuantityStratum {
  std::string name;                                             // "all", or an op class
  std::size_t rows = 0, works = 0;                              // that every column answered
  std::vector<std::optional<measured::QuantityScores>> scores;  // by column
};
struct QuantityReport {
  Target target;
  std::vector<std::string> columns;
  std::vector<QuantityStratum> strata;  // all, then op classes by name when there are several
  std::size_t unanswered = 0;           // rows that a column did not answer: scored for none
};
[[nodiscard]] QuantityReport quantity_report(const Examples& examples,
                                             const std::vector<QuantityColumn>& columns);

}  // namespace tilecast::learned
