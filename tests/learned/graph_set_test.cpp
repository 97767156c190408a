// Sets of graphs are read as written, and anything else is rejected.
#include <gmock/gmock.h>

#include "base/error.h"
#include "learned/training/graph_model.h"
#include "tests/learned/graph_set_folder.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of_set(const std::string& path) {
  return support::error_of([&] { return read_graph_set(path); }, "read");
}

TEST(GraphSets, HoldConfigurationsOfNodesAndTimesInSeconds) {
  const GraphSetFolder folder("layouts", /*configures_nodes=*/true);
  EXPECT_TRUE(is_graph_set(folder.path()));
  const GraphSet set = read_graph_set(folder.path());
  EXPECT_EQ(set.name, "layouts");
  EXPECT_EQ(set.node_width, 3U);
  EXPECT_EQ(set.config_width, 2U);
  EXPECT_TRUE(set.configures_nodes);
  ASSERT_EQ(set.graphs.size(), 2U);
  const GraphRuns& runs = set.graphs.front();
  EXPECT_THAT(runs.graph.opcodes, ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(runs.configured_nodes, ElementsAre(1, 4));
  EXPECT_THAT(runs.graph.edges,
              ElementsAre(GraphEdge{0, 2}, GraphEdge{1, 3}, GraphEdge{3, 4}, GraphEdge{4, 5}));
  EXPECT_THAT(runs.graph.topological, ElementsAre(0, 2, 1, 3, 4, 5));
  ASSERT_EQ(runs.times.size(), 120U);
  EXPECT_NEAR(runs.times[7], 1e-6 * std::exp(runs.configs[7 * 4 + 2]), 1e-11);
}

TEST(GraphSets, GiveTimesAsMultiplesOfTheDefaultsWhereItIsThere) {
  const GraphSetFolder folder("tiles", /*configures_nodes=*/false);
  const GraphSet set = read_graph_set(folder.path());
  EXPECT_FALSE(set.configures_nodes);
  EXPECT_NEAR(set.graphs[1].times[3], 2 * std::exp(set.graphs[1].configs[3 * 2]), 1e-5);
}

TEST(GraphSets, DrawAsManyRunsOfEachGraphAsAskedFor) {
  const GraphSetFolder folder("drawn", /*configures_nodes=*/false);
  const GraphSet all = read_graph_set(folder.path());
  const auto drawn = [&](std::uint64_t seed) {
    return read_graph_set(folder.path(), {.runs = 30, .seed = seed}).graphs[0].times;
  };
  EXPECT_EQ(drawn(1).size(), 30U);
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  for (const double time : drawn(1)) EXPECT_THAT(all.graphs[0].times, ::testing::Contains(time));
}

TEST(GraphSets, AreRefusedByFileAndLineWhereTheyAreWrong) {
  const GraphSetFolder folder("wrong", /*configures_nodes=*/true);
  EXPECT_FALSE(is_graph_set(folder.path() + "/graphs"));
  folder.write("graphs/net_1.edges.csv", "edge_index_0,edge_index_1\n1,0\n1,3\n");
  EXPECT_THAT(
      refusal_of_set(folder.path()),
      HasSubstr("net_1.edges.csv:3: column 'edge_index_0': got 1 and 3, expected a node and "
                "an operand before it"));
  folder.write("graphs/net_1.edges.csv", "edge_index_0,edge_index_1\n1,0\n");
  const auto with_run = [&](const std::string& time, const std::string& config) {
    folder.write("measurements.csv",
                 "graph,runtime_ns,x_normalizer_ns,x_config\nnet_0,5,,1 2 3 4\n"
                 "net_0," +
                     time + ",," + config + "\n");
    return refusal_of_set(folder.path());
  };
  EXPECT_EQ(with_run("7", "1 2 3 4"), "read");
  EXPECT_THAT(with_run("7", "1 2 3"), HasSubstr("'x_config': got 3 numbers, expected 4"));
  EXPECT_THAT(with_run("-7", "1 2 3 4"), HasSubstr("'runtime_ns': got '-7', expected a time"));
  EXPECT_THAT(with_run("7", "1 2 x 4"), HasSubstr("got 'x 4', expected finite numbers"));
}

}  // namespace
}  // namespace tilecast::learned
