// Scores models of a quantity other than time, next to constants that any model should beat. The
// analytical model does not predict such quantities.
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
#include "measured/metrics.h"

namespace tilecast::learned {

// By row of the examples, in the quantity's unit.
[[nodiscard]] std::vector<double> quantity_values(const Examples& examples);
// The predictions; NaN if there is none. The predictor must predict the examples' target.
[[nodiscard]] std::vector<double> quantity_answers(const Predictor& predictor,
                                                   const Examples& examples);

struct QuantityColumn {
  std::string name;
  std::vector<double> answers;  // by row
};
struct QuantityStratum {
  std::string name;                                             // "all", or an op class
  std::size_t rows = 0, works = 0;                              // predicted by every column
  std::vector<std::optional<measured::QuantityScores>> scores;  // by column
};
struct QuantityReport {
  Target target;
  std::vector<std::string> columns;
  std::vector<QuantityStratum> strata;  // all, then op classes by name if there are several
  std::size_t unanswered = 0;           // rows without a prediction in some column: not scored
};
[[nodiscard]] QuantityReport quantity_report(const Examples& examples,
                                             const std::vector<QuantityColumn>& columns);

}  // namespace tilecast::learned
