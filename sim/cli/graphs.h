// `evaluate` of graphs without kernels (learned/training/graph_set.h), and its table, which `train`
// of them prints as well.
#pragma once

#include <string>
#include <vector>

#include "measured/evaluation.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

// Every model, a folder that `train` made, on every set.
void evaluate_graphs(const std::vector<std::string>& sets, const std::vector<std::string>& models,
                     const OutputOptions& output, const measured::EvaluationOptions& options);

inline constexpr const char* kGraphSchema = "tilecast.graphs/1";
[[nodiscard]] measured::CsvTable graph_scores();  // no rows yet
// The benchmark's own metrics, of all graphs and of each; a model that only ranks has no MAPE.
void add_graph_scores(const measured::ScoreSheet& sheet, const measured::EvaluationOptions& options,
                      measured::CsvTable& table);

}  // namespace tilecast::sim::cli
