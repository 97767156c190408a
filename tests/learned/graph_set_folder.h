// Folders of graphs as validation/sets/tpugraphs writes them, with times computed from
// configurations.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/support/folders.h"

namespace tilecast::learned {

// Chains of six nodes with three features each. A configuration is two numbers, for the graph or
// for each of its nodes 1 and 4. A run takes exp(x) microseconds, where x is the first number of
// the graph or of node 4.
class GraphSetFolder : public support::Folder {
 public:
  explicit GraphSetFolder(const std::string& name, bool configures_nodes, int graphs = 2,
                          int runs = 120) {
    write(
        "manifest.yaml",
        "format: tilecast.measurements/1\nname: " + name +
            "\ndevice: tpu_v3\nsource: made here\nlicence: none\ntiming: device\nsubject: graph\n");
    std::mt19937_64 random(7);
    const auto draw = [&] { return static_cast<int>(random() % 1000) / 1000.0; };
    std::string csv = "graph,runtime_ns,x_normalizer_ns,x_config\n";
    for (int g = 0; g < graphs; ++g) {
      write_graph(fmt::format("net_{}", g), configures_nodes, draw);
      for (int run = 0; run < runs; ++run) {
        double config[4] = {draw(), draw(), draw(), draw()};
        const double time_ns = 1000 * std::exp(configures_nodes ? config[2] : config[0]);
        csv += fmt::format("net_{},{:.3f},{},{} {}", g, time_ns, configures_nodes ? "" : "500",
                           config[0], config[1]);
        csv += configures_nodes ? fmt::format(" {} {}\n", config[2], config[3]) : "\n";
      }
    }
    write("measurements.csv", csv);
  }
  [[nodiscard]] std::string path() const { return folder().string(); }

 private:
  template <class Draw>
  void write_graph(const std::string& name, bool configures_nodes, Draw&& draw) const {
    std::string nodes = "node,opcode,config_node,feature_0,feature_1,feature_2\n";
    for (int i = 0; i < 6; ++i) {
      const char* place = !configures_nodes ? "" : i == 1 ? "0" : i == 4 ? "1" : "";
      nodes += fmt::format("{},{},{},{},{},{}\n", i, 2 + i, place, draw(), draw(), i);
    }
    write("graphs/" + name + ".nodes.csv", nodes);
    write("graphs/" + name + ".edges.csv", "edge_index_0,edge_index_1\n5,4\n4,3\n3,1\n3,1\n2,0\n");
  }
};

}  // namespace tilecast::learned
