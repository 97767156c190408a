// A network over sets of graphs (graph_set.h) that ranks the runs of each graph or predicts their
// times. Purely learned: these graphs are not kernels, so there is no analytical estimate.
//
//   GraphModel model = load_graph_model("models/alexnet");
//   std::vector<double> scores = model.predict(set.graphs.front());
//   measured::ScoreSheet sheet = score_sheet(set, {{"sage", &model}});
//
// On disk it is a folder with model.yaml (format tilecast.graph_model/1: settings, names and hashes
// of the training sets), weights.bin (learned/graph_network.h), scaler_node.csv and
// scaler_config.csv.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learned/feature_scaler.h"
#include "learned/graph_network.h"
#include "learned/kernel_graph.h"
#include "learned/predictor.h"
#include "measured/evaluation.h"

namespace tilecast::learned {

// Graphs of tensor programs with the times of their runs, without kernels, as
// validation/sets/tpugraphs writes them (manifest `subject: graph`).
//
//   GraphSet set = read_graph_set("sets/alexnet", {.runs = 1000, .seed = 1});
//
// Nodes have the opcode numbers of TpuGraphs (Phothilimthana et al., NeurIPS 2023), 1 to 120.
// A run is a graph with one configuration, either of the whole graph (collection tile) or of some
// of its nodes (collection layout). Values are as in the set, not scaled.

inline constexpr std::int32_t kGraphOpcodes = 121;

struct GraphRuns {
  std::string name;
  KernelGraph graph;
  std::vector<std::int32_t> configured_nodes;  // in the order of a configuration
  std::vector<float> configs;                  // runs x config_size(), row-major
  // Seconds; or, if the set gives the default configuration's time on the same machine, multiples
  // of that time.
  std::vector<double> times;

  [[nodiscard]] std::size_t config_size() const { return configs.size() / times.size(); }
};

struct GraphSet {
  std::string name, device, licence, hash;
  std::vector<GraphRuns> graphs;  // each with at least one run and these widths
  std::size_t node_width = 0;     // features per node
  std::size_t config_width = 0;   // features per configured node, or of the graph's configuration
  bool configures_nodes = false;  // collection layout
};

struct GraphSetOptions {
  std::size_t runs = 0;  // maximum per graph, drawn at random; 0: all
  std::uint64_t seed = 1;
};

// Throws Error (file, line, column) if the set is malformed.
[[nodiscard]] GraphSet read_graph_set(const std::string& directory,
                                      const GraphSetOptions& options = {});
[[nodiscard]] bool is_graph_set(const std::string& directory);

// Where a whole graph's configuration enters. A node's configuration always enters at the node.
enum class ConfigPlace { kAtNodes, kAtKernel };
inline constexpr std::string_view kConfigPlaces[] = {"at_nodes", "at_kernel"};

struct GraphModel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> trained_on = {};  // name and hash of each set
  NetworkSpec spec = {};
  std::size_t node_width = 0, config_width = 0;  // feature widths of the sets
  bool configures_nodes = false;
  ConfigPlace place = ConfigPlace::kAtNodes;
  FeatureScaler node_scaler = {}, config_scaler = {};
  Standardisation target = {};  // scale of log(time); 0 and 1 when ranking
  bool ranks_only = false;
  std::unique_ptr<GraphNetwork> network = nullptr;

  [[nodiscard]] NetworkWidths widths() const;
  // One number per run: log(time), or a score where lower is faster. Throws Error if the graph is
  // from another collection.
  [[nodiscard]] std::vector<double> predict(const GraphRuns& runs) const;
};

// A graph's runs as network inputs. The inputs point into this object.
class ScaledRuns {
 public:
  ScaledRuns(const GraphModel& model, const GraphRuns& runs);
  [[nodiscard]] GraphInput input(std::size_t run) const;

 private:
  const GraphModel& model_;
  const GraphRuns& runs_;
  KernelGraph graph_;
  std::vector<float> configs_;  // per configured node: its row, then 1
};

// The table from which the benchmark's metrics are computed: one work per graph, one row per run,
// one column per model. TpuGraphs scores layouts by Kendall's tau and tiles by 1 - the slowdown of
// the top K.
[[nodiscard]] measured::ScoreSheet score_sheet(
    const GraphSet& set, std::span<const std::pair<std::string, const GraphModel*>> columns);

// Throws Error on failure; `force` replaces an existing model.
void save_graph_model(const GraphModel& model, const std::string& directory, bool force);
[[nodiscard]] GraphModel load_graph_model(const std::string& directory);
[[nodiscard]] bool is_graph_model(const std::string& directory);

}  // namespace tilecast::learned
