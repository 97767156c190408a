// Trains a network on sets of graphs (learned/training/graph_model.h), described by a file:
//
//   format: tilecast.graph_training/1
//   name: alexnet
//   sets: [sets/alexnet]    folders of graphs, relative to this file or absolute
//   runs: 2000              maximum per graph, drawn at random; default: all
//   split: {by: run, validation: 10 %, test: 20 %, seed: 1}     by: run, or graph (whole graphs)
//   config: at_nodes        place of whole graphs' configurations (tile): at_nodes | at_kernel
//   learner: {name: sage, model: network, graph: sage, loss: rank_hinge, epochs: 40}
//
// The learner's keys are those of learned/training/learner.h for networks without kernels: no
// features, target or search.
#pragma once

#include "learned/training/graph_model.h"
#include "learned/training/learner.h"

namespace tilecast::learned {

struct GraphTraining {
  std::string name;
  std::vector<std::string> sets;
  std::size_t runs = 0;
  bool by_graph = false;
  double validation = 0.1, test = 0.2;  // shares of the runs, or of the graphs
  std::uint64_t seed = 1;
  ConfigPlace place = ConfigPlace::kAtNodes;
  LearnerSpec learner;
};
[[nodiscard]] bool is_graph_training(const std::string& file);
// Throws Error with file, line and column.
[[nodiscard]] GraphTraining read_graph_training(const std::string& file);

struct TrainedGraphs {
  GraphModel model;
  GraphSet test;  // the held-out runs; without graphs if the share is 0
  std::size_t graphs = 0, train_runs = 0, validation_runs = 0, test_runs = 0;
};

// Deterministic. The file's seed draws and splits runs, the learner's seed draws weights. Throws
// Error for sets of different collections, and if no runs are left to train on.
[[nodiscard]] TrainedGraphs train_graphs(const GraphTraining& training,
                                         const LearnerHooks& hooks = {});

}  // namespace tilecast::learned
