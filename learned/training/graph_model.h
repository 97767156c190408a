// A network over sets of graphs (graph_set.h): orders the runs of each graph, or predicts their
// times. Learned only: a graph is no kernel, so that physics has nothing to say of it.
//
//   GraphModel model = load_graph_model("models/alexnet");
//   std::vector<double> scores = model.predict(set.graphs.front());
//   measured::ScoreSheet sheet = score_sheet(set, {{"sage", &model}});
//
// On disk a folder: model.yaml (format tilecast.graph_model/1: settings, and the sets it was
// trained on by name and hash), weights.bin (learned/graph_network.h), scaler_node.csv,
// scaler_config.csv.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learned/feature_scaler.h"
#include "learned/graph_network.h"
#include "learned/predictor.h"
#include "learned/training/graph_set.h"
#include "measured/evaluation.h"

namespace tilecast::learned {

// Where the configuration of a whole graph goes; that of nodes goes to them.
enum class ConfigPlace { kAtNodes, kAtKernel };
inline constexpr std::string_view kConfigPlaces[] = {"at_nodes", "at_kernel"};

struct GraphModel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> trained_on = {};  // sets: name, hash
  NetworkSpec spec = {};
  std::size_t node_width = 0, config_width = 0;  // of the sets
  bool configures_nodes = false;
  ConfigPlace place = ConfigPlace::kAtNodes;
  FeatureScaler node_scaler = {}, config_scaler = {};
  Standardisation target = {};  // of log(time); ranking: 0 and 1
  bool ranks_only = false;
  std::unique_ptr<GraphNetwork> network = nullptr;

  [[nodiscard]] NetworkWidths widths() const;
  // One number per run: log(time), or a score, lower is faster. Throws Error where the graph is of
  // another collection.
  [[nodiscard]] std::vector<double> predict(const GraphRuns& runs) const;
};

// A graph's runs as inputs of the network; examples point into it.
class ScaledRuns {
 public:
  ScaledRuns(const GraphModel& model, const GraphRuns& runs);
  [[nodiscard]] GraphInput input(std::size_t run) const;

 private:
  const GraphModel& model_;
  const GraphRuns& runs_;
  KernelGraph graph_;
  std::vector<float> configs_;  // of configured nodes: a row and 1 each
};

// One work per graph, one row per run, one column per model: what the benchmark's metrics follow
// from. TpuGraphs scores layouts by Kendall's tau, tiles by 1 - the slowdown of the top K.
[[nodiscard]] measured::ScoreSheet score_sheet(
    const GraphSet& set, std::span<const std::pair<std::string, const GraphModel*>> columns);

// Throws Error; `force` replaces a model that is there.
void save_graph_model(const GraphModel& model, const std::string& directory, bool force);
[[nodiscard]] GraphModel load_graph_model(const std::string& directory);
[[nodiscard]] bool is_graph_model(const std::string& directory);

}  // namespace tilecast::learned
