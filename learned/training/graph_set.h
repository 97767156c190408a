// Graphs of tensor programs with the times of their runs, without kernels, as
// validation/sets/tpugraphs writes them (manifest `subject: graph`).
//
//   GraphSet set = read_graph_set("sets/alexnet", {.runs = 1000, .seed = 1});
//
// A run is a graph with one configuration, either of the whole graph (collection tile) or of some
// of its nodes (collection layout). Values are as in the set, not scaled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "learned/kernel_graph.h"

namespace tilecast::learned {

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

}  // namespace tilecast::learned
