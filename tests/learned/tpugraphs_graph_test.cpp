#include "tests/learned/tpugraphs_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "learned/node_columns.h"
#include "tests/support/folders.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kWidth = 140;

// A column of the published encoding, by its published position.
float at(const KernelGraph& graph, std::size_t node, std::size_t column) {
  return graph.features[node * kWidth + column];
}

const char kReduce[] = R"(HloModule reduce.1

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add.1 = f32[] add(f32[] %a, f32[] %b)
}

ENTRY %main (x: f32[3,5]) -> f32[3] {
  %x = f32[3,5]{0,1} parameter(0)
  %zero = f32[] constant(0)
  %twice = f32[3,5]{0,1} add(f32[3,5]{0,1} %x, f32[3,5]{0,1} %x)
  ROOT %reduce.1 = f32[3]{0} reduce(f32[3,5]{0,1} %twice, f32[] %zero), dimensions={1}, to_apply=%sum
}
)";

TEST(TpuGraphs, NodesAreTheInstructionsOfAllComputationsCalleesFirst) {
  const KernelGraph graph = make_tpugraphs_graph(ir::parse_hlo(base::SourceText("t", kReduce)));
  // The data set's numbers: add 2, constant 24, parameter 63, reduce 70.
  EXPECT_EQ(graph.opcodes, (std::vector<std::int32_t>{63, 63, 2, 63, 24, 2, 70}));
  ASSERT_EQ(graph.features.size(), graph.nodes() * kWidth);
}

TEST(TpuGraphs, EdgesAreOperandsOnceThenRootsOfCalledComputations) {
  const KernelGraph graph = make_tpugraphs_graph(ir::parse_hlo(base::SourceText("t", kReduce)));
  const std::vector<GraphEdge> expected = {{0, 2}, {1, 2}, {3, 5}, {5, 6}, {4, 6}, {2, 6}};
  EXPECT_EQ(graph.edges, expected);
  EXPECT_EQ(graph.topological.size(), graph.nodes());
  EXPECT_EQ(graph.topological.back(), 6);
}

TEST(TpuGraphs, ColumnsStandWhereTheDataSetHasThem) {
  const KernelGraph graph = make_tpugraphs_graph(ir::parse_hlo(base::SourceText("t", kReduce)));
  const std::size_t first = 0, second = 1, x = 3, reduce = 6;
  EXPECT_EQ(at(graph, second, 30), 1) << "number of a parameter";
  EXPECT_EQ(at(graph, first, 28), 1) << "elements of a scalar";
  EXPECT_EQ(at(graph, x, 13), 1) << "f32";
  EXPECT_EQ(at(graph, x, 21), 3);
  EXPECT_EQ(at(graph, x, 22), 5);
  EXPECT_EQ(at(graph, x, 27), 3 + 5);
  EXPECT_EQ(at(graph, x, 28), 3 * 5);
  EXPECT_EQ(at(graph, x, 134), 0);
  EXPECT_EQ(at(graph, x, 135), 1);
  EXPECT_EQ(at(graph, reduce, 31), 1) << "the reduced dimension";
  EXPECT_EQ(at(graph, reduce, 0), 1) << "root";
  EXPECT_EQ(at(graph, 2, 0), 1) << "root of the called computation";
  EXPECT_EQ(at(graph, x, 0), 0);
}

TEST(TpuGraphs, ConvolutionColumnsStandWhereTheDataSetHasThem) {
  const KernelGraph graph = make_tpugraphs_graph(ir::parse_hlo(base::SourceText("t", R"(HloModule c
ENTRY %main (x: f32[8,6,7,4], w: f32[3,5,4,16]) -> f32[8,6,7,16] {
  %x = f32[8,6,7,4]{3,2,1,0} parameter(0)
  %w = f32[3,5,4,16]{3,2,1,0} parameter(1)
  ROOT %c = f32[8,6,7,16]{3,2,1,0} convolution(f32[8,6,7,4]{3,2,1,0} %x, f32[3,5,4,16]{3,2,1,0} %w), window={size=3x5 pad=1_1x2_2}, dim_labels=b01f_01io->b01f
}
)")));
  const std::size_t conv = 2;
  EXPECT_EQ(graph.opcodes[conv], 26);
  EXPECT_EQ(at(graph, conv, 37), 3);
  EXPECT_EQ(at(graph, conv, 38), 5);
  EXPECT_EQ(at(graph, conv, 44), 3 * 5) << "window";
  EXPECT_EQ(at(graph, conv, 51), 1 + 1) << "strides";
  EXPECT_EQ(at(graph, conv, 53), 1) << "padding low";
  EXPECT_EQ(at(graph, conv, 68), 1 * 2) << "padding high";
  EXPECT_EQ(at(graph, conv, 92), 2) << "dimensions that run forwards";
  EXPECT_EQ(at(graph, conv, 94), 3) << "input feature dimension";
  EXPECT_EQ(at(graph, conv, 96), 2) << "second spatial dimension";
  EXPECT_EQ(at(graph, conv, 100), 3) << "kernel output feature dimension";
  EXPECT_EQ(at(graph, conv, 107), 1) << "feature groups";
}

TEST(TpuGraphs, SchemaNamesEachOfThe140Columns) {
  const FeatureSchema& schema = node_schema(GraphEncoding::kTpuGraphs);
  ASSERT_EQ(schema.columns.size(), kWidth);
  EXPECT_EQ(schema.columns[0].name, "node.is_root");
  EXPECT_EQ(schema.columns[20].name, "node.dtype.token");
  EXPECT_EQ(schema.columns[30].name, "node.parameter_number");
  EXPECT_EQ(schema.columns[92].name, "node.window.reversal.false");
  EXPECT_EQ(schema.columns[133].name, "node.is_stable");
  EXPECT_EQ(schema.columns[139].name, "node.layout.5");
}

TEST(TpuGraphs, OpcodesItDoesNotKnowAreZero) {
  EXPECT_EQ(tpugraphs_opcode(ir::Opcode::kAbs), 1);
  EXPECT_EQ(tpugraphs_opcode(ir::Opcode::kTan), 120);
  EXPECT_EQ(tpugraphs_opcode(ir::Opcode::kSelect), 83) << "not tuple-select, 101";
  EXPECT_EQ(tpugraphs_opcode(ir::Opcode::kErf), 0);
  EXPECT_EQ(opcode_count(GraphEncoding::kTpuGraphs), 121);
}

fs::path published() {
  return support::shared_dir() / "data/tpu_v3_tiles";
}

void expect_equal(const KernelGraph& graph, const nlohmann::json& expected) {
  ASSERT_EQ(graph.opcodes, expected["node_opcode"].get<std::vector<std::int32_t>>());
  const nlohmann::json& edges = expected["edge_index"];
  ASSERT_EQ(graph.edges.size(), edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(graph.edges[i].consumer, edges[i][0]) << "edge " << i;
    EXPECT_EQ(graph.edges[i].producer, edges[i][1]) << "edge " << i;
  }
  const nlohmann::json& features = expected["node_feat"];
  for (std::size_t node = 0; node < graph.nodes(); ++node) {
    ASSERT_EQ(features[node].size(), kWidth);
    for (std::size_t c = 0; c < kWidth; ++c) {
      EXPECT_EQ(at(graph, node, c), features[node][c].get<float>())
          << "node " << node << " column " << c;
    }
  }
}

TEST(TpuGraphs, PublishedKernelsAreEncodedAsPublished) {
  const fs::path folder = published();
  if (!fs::exists(folder / "tile_features.json")) {
    GTEST_SKIP() << "no published graphs at " << folder;
  }
  std::ifstream file(folder / "tile_features.json");
  const nlohmann::json graphs = nlohmann::json::parse(file);
  ASSERT_EQ(graphs.size(), 8U);
  for (const auto& [name, expected] : graphs.items()) {
    SCOPED_TRACE(name);
    const std::string hlo = name.substr(std::string("tile_").size()) + ".hlo";
    expect_equal(make_tpugraphs_graph(ir::read_hlo_file((folder / hlo).string())), expected);
  }
}

// A kernel without called computations, tuples and fusions is encoded without loss.
TEST(TpuGraphs, AKernelOfOneOpIsEncodedAsItsModule) {
  const std::string text = R"(HloModule copy.1
ENTRY %copy.1 (p: bf16[32,5,5,256]) -> bf16[32,5,5,256] {
  %p = bf16[32,5,5,256]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  ROOT %copy.1 = bf16[32,5,5,256]{3,2,1,0:T(8,128)(2,1)} copy(bf16[32,5,5,256]{3,0,2,1:T(8,128)(2,1)} %p)
}
)";
  const ir::Module module = ir::parse_hlo(base::SourceText("t", text));
  ir::WorkCounter counter(module);
  const ir::Computation& entry = module.entry_computation();
  const ir::Kernel kernel = ir::make_kernel(module, module.entry, entry.root, counter);
  const KernelGraph of_kernel = make_graph(kernel, GraphEncoding::kTpuGraphs);
  const KernelGraph of_module = make_tpugraphs_graph(module);
  EXPECT_EQ(of_kernel.opcodes, of_module.opcodes);
  EXPECT_EQ(of_kernel.edges, of_module.edges);
  EXPECT_EQ(of_kernel.features, of_module.features);
  EXPECT_EQ(of_kernel.topological, of_module.topological);
}

}  // namespace
}  // namespace tilecast::learned
