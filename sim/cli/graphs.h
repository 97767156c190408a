// `evaluate` for sets of graphs without kernels (learned/training/graph_model.h), and its table,
// which `train` prints as well.
#pragma once

#include <string>
#include <vector>

#include "measured/evaluation.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

// Evaluates every model (a folder written by `train`) on every set.
void evaluate_graphs(const std::vector<std::string>& sets, const std::vector<std::string>& models,
                     const OutputOptions& output, const measured::EvaluationOptions& options);

inline constexpr const char* kGraphSchema = "tilecast.graphs/1";
[[nodiscard]] measured::CsvTable graph_scores();  // without rows
// Adds the benchmark's own metrics, over all graphs and per graph. A model that only ranks has no
// MAPE.
void add_graph_scores(const measured::ScoreSheet& sheet, const measured::EvaluationOptions& options,
                      measured::CsvTable& table);

}  // namespace tilecast::sim::cli
