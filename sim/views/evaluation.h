// An evaluation as text (a block per stratum, models below each other), as CSV (one row per
// stratum, model and metric) or as JSON, schema "tilecast.evaluate/1": models[], sets[], scores[]
// (as the CSV), notes[], references[], faults[]. Text shows %, CSV and JSON fractions. Pure.
#pragma once

#include <string>

#include "sim/evaluation.h"

namespace tilecast::sim::views {

struct EvaluationViewOptions {
  bool faults = false;  // list every row left out, not only how many
};

[[nodiscard]] std::string evaluation_text(const EvaluationReport& report,
                                          const EvaluationViewOptions& options = {});
[[nodiscard]] std::string evaluation_json(const EvaluationReport& report,
                                          const EvaluationViewOptions& options = {});
[[nodiscard]] std::string evaluation_csv(const EvaluationReport& report);
// One row per measurement: set, line, work, class, split, tile, measured_ns, and "<model> ns" per
// column, comparable to it; empty without a prediction. Then "<model> low ns" and "<model> high
// ns", its 90 % interval, for every column with intervals.
[[nodiscard]] std::string evaluation_rows_csv(const EvaluationReport& report);

inline constexpr std::size_t kShortHash = 12;  // of a set's hash, as shown

// A metric for display: whether it is shown in %, its title with unit, and its cells.
[[nodiscard]] bool is_share(measured::Metric metric);
[[nodiscard]] std::string metric_title(measured::Metric metric);            // "MAPE %"
[[nodiscard]] std::string metric_value(measured::Metric metric, double v);  // 0.123 -> "12.3"
// "12.3 [10.1, 14.9]"; "-" if undefined.
[[nodiscard]] std::string metric_cell(measured::Metric metric, const measured::Score& score);

}  // namespace tilecast::sim::views
