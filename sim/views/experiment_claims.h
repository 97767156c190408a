// What an experiment says of its table, as text: bars, others' figures beside ours, findings.
// Private to the views of experiments. Pure.
#pragma once

#include <string>
#include <vector>

#include "validation/experiment_run.h"

namespace tilecast::sim::views {

// "8.1 [7.2, 9.0]"; with seeds "8.1 (worst 9.3)", and the interval where there is one.
[[nodiscard]] std::string experiment_cell(measured::Metric metric, const validation::Cell& cell);
[[nodiscard]] std::string bar_text(const validation::BarResult& result);
[[nodiscard]] std::string direction_text(const validation::DirectionResult& result);
[[nodiscard]] std::string_view name(validation::DirectionResult::Verdict verdict);

// One row per published figure: model, metric, ours, n, seeds, theirs, where it stands.
[[nodiscard]] const std::vector<std::string>& published_titles();
[[nodiscard]] std::vector<std::vector<std::string>> published_rows(
    const validation::ExperimentResult& result);
inline constexpr const char* kPublishedHeading =
    "Others' published numbers, on others' data and machines, beside ours";

// Kernels with several tiles for rankings of tiles, else rows.
[[nodiscard]] std::size_t count_of(const validation::ResultStratum& stratum,
                                   measured::Metric metric);

}  // namespace tilecast::sim::views
