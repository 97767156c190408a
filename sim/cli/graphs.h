// `train` and `evaluate` of graphs without kernels (learned/graph_set.h).
#pragma once

#include <string>
#include <vector>

#include "measured/evaluation.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

struct GraphTrainingArguments {
  std::string file, directory;
  bool force = false, resume = false, dry_run = false;
  int jobs = 1;
};
void train_graphs(const GraphTrainingArguments& arguments, const OutputOptions& output);

// Every model, a folder that train_graphs() made, on every set.
void evaluate_graphs(const std::vector<std::string>& sets, const std::vector<std::string>& models,
                     const OutputOptions& output, const measured::EvaluationOptions& options);

}  // namespace tilecast::sim::cli
