// Graphs of tensor programs with the times of their runs, and no kernels: what
// validation/sets/tpugraphs writes (manifest `subject: graph`).
//
//   GraphSet set = read_graph_set("sets/alexnet", {.runs = 1000, .seed = 1});
//
// A run is a graph under one configuration: of the whole graph (collection tile) or of some of its
// nodes (collection layout). Values are as in the set, not scaled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "learned/kernel_graph.h"

namespace tilecast::learned {

struct GraphRuns {
  std::string name;
  KernelGraph graph;
  std::vector<std::int32_t> configured_nodes;  // by their place in a configuration
  std::vector<float> configs;                  // run by run, one as long as another
  // Seconds; where the set gives the time of the default configuration on the same machine,
  // multiples of that.
  std::vector<double> times;

  [[nodiscard]] std::size_t config_size() const { return configs.size() / times.size(); }
};

struct GraphSet {
  std::string name, device, licence, hash;
  std::vector<GraphRuns> graphs;  // with at least one run; all alike in the next three
  std::size_t node_width = 0;     // features of a node
  std::size_t config_width = 0;   // of a configured node, or of the graph's configuration
  bool configures_nodes = false;  // collection layout
};

struct GraphSetOptions {
  std::size_t runs = 0;  // of each graph at most, drawn at random; 0: all
  std::uint64_t seed = 1;
};

// Throws Error (file, line, column) where the set is not of that form.
[[nodiscard]] GraphSet read_graph_set(const std::string& directory,
                                      const GraphSetOptions& options = {});
[[nodiscard]] bool is_graph_set(const std::string& directory);

}  // namespace tilecast::learned
