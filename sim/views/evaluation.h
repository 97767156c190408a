// An evaluation as text (a block per stratum, models below each other), as CSV (one row per
// stratum, model and metric) or as JSON, schema "tilecast.evaluate/1": models[], sets[], scores[]
// (as the CSV), notes[], references[], faults[]. Text shows %, CSV and JSON fractions. Pure.
#pragma once

#include <array>
#include <span>
#include <string>

#include "sim/evaluation_report.h"

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

// A model card in Markdown: models and devices, data with source, licence, timing and hash, rows
// left out, metrics by stratum with the roofline for comparison, caveats, and published numbers if
// the report has them.
[[nodiscard]] std::string model_card(const EvaluationReport& report);

// Published figures of others, with a heading that names the source and says that they are on other
// data. A table with a row of means or medians shows only these; JSON has all rows.
[[nodiscard]] std::string reference_text(std::span<const measured::ReferenceRow> rows);
[[nodiscard]] std::string reference_markdown(std::span<const measured::ReferenceRow> rows);

// The error and ranking metrics in text and Markdown, in this order; CSV and JSON have all.
inline constexpr std::array kErrorMetrics{measured::Metric::kMape, measured::Metric::kMedianApe,
                                          measured::Metric::kP90Ape, measured::Metric::kBias,
                                          measured::Metric::kRowTau};
inline constexpr std::array kRankingMetrics{
    measured::Metric::kTileTau,      measured::Metric::kTileSizeApe,
    measured::Metric::kTop1Slowdown, measured::Metric::kTop1SlowdownP90,
    measured::Metric::kTop5Slowdown, measured::Metric::kTop10Slowdown,
    measured::Metric::kBestInTop10};

// The error metrics, plus the interval metrics if some model gives intervals.
[[nodiscard]] std::vector<measured::Metric> error_metrics(const measured::Evaluation& evaluation);

inline constexpr std::size_t kShortHash = 12;  // of a set's hash, as shown

// A metric for display: whether it is shown in %, its title with unit, and its cells.
[[nodiscard]] bool is_share(measured::Metric metric);
[[nodiscard]] std::string metric_title(measured::Metric metric);            // "MAPE %"
[[nodiscard]] std::string metric_value(measured::Metric metric, double v);  // 0.123 -> "12.3"
// "12.3 [10.1, 14.9]"; "-" if undefined.
[[nodiscard]] std::string metric_cell(measured::Metric metric, const measured::Score& score);
// Whether a stratum contains all rows (e.g. that of the only class): tables name it but do not
// repeat its numbers.
[[nodiscard]] bool repeats_all(const measured::Evaluation& evaluation,
                               const measured::Stratum& stratum);
// "class matmul"; or "all", with the strata that repeat it in brackets.
[[nodiscard]] std::string stratum_title(const measured::Evaluation& evaluation,
                                        const measured::Stratum& stratum);

}  // namespace tilecast::sim::views
