// Schedules as inputs of models: the graph of a tile, and the curves over its loops.
#include "learned/schedule_nodes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "ir/kernels/kernel_sketch.h"
#include "learned/table_features.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

ir::Kernel product() {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {64, 32});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {32, 48});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {64, 48},
                                  ir::DType::kF32)});
}

float at(const KernelGraph& graph, std::size_t node, const std::string& column) {
  const auto& columns = node_schema(GraphEncoding::kSchedule).columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == "node." + column) return graph.features[node * columns.size() + i];
  }
  ADD_FAILURE() << column;
  return 0;
}

TEST(ScheduleGraph, IsTheTreeOfTheTileTopDown) {
  const ir::Kernel kernel = product();
  const analytical::TileConfig tile = analytical::parse_tile("out=16x12 kernel=8x12");
  const schedule::LoopProgram loops = schedule::loops_of(kernel, &tile);
  const schedule::ScheduleTree tree = schedule::make_tree(loops);
  const KernelGraph graph = schedule_graph(loops);
  ASSERT_EQ(graph.nodes(), tree.nodes.size());
  EXPECT_EQ(graph.edges.size(), graph.nodes() - 1);
  for (const GraphEdge& edge : graph.edges) EXPECT_LT(edge.producer, edge.consumer);
  for (std::size_t i = 0; i < graph.nodes(); ++i) {
    EXPECT_EQ(graph.topological[i], static_cast<std::int32_t>(i));
    EXPECT_GE(graph.opcodes[i], 0);
    EXPECT_LT(graph.opcodes[i], opcode_count(GraphEncoding::kSchedule));
    EXPECT_EQ(at(graph, i, "top_down"), static_cast<float>(tree.nodes[i].context.top_down));
    EXPECT_TRUE(std::isfinite(at(graph, i, "reuse.read_1")));
  }
  EXPECT_EQ(at(graph, 0, "ops.multiplies"), 64.F * 48 * 32);
}

TEST(ScheduleGraph, OfAnotherTileIsAnother) {
  const ir::Kernel kernel = product();
  hwdesc::Device device;
  device.native_tile = {.tiled = false};
  const analytical::TileConfig one = analytical::parse_tile("out=16x12 kernel=8x12"),
                               two = analytical::parse_tile("out=32x12 kernel=8x12");
  const auto features = [&](const analytical::TileConfig* tile) {
    return make_graph({kernel, tile}, device, GraphEncoding::kSchedule).features;
  };
  EXPECT_NE(features(&one), features(&two));
  EXPECT_EQ(features(nullptr), make_graph(kernel, GraphEncoding::kSchedule).features);
}

TEST(ScheduleGraph, OfAKernelWithoutLoopsIsRefused) {
  ir::KernelSketch sketch("sum", ir::Opcode::kAllReduce, {.tiled = false});
  const ir::OpId x = sketch.row_major_parameter(ir::DType::kF32, {64});
  const ir::Kernel kernel = sketch.build({sketch.all_reduce(x, 4)});
  EXPECT_THAT(support::error_of([&] { return make_graph(kernel, GraphEncoding::kSchedule); }),
              HasSubstr("has no loop nest yet"));
}

// Two loops: i touches 8 elements of x in 32 iterations; the inner loop k touches 4 in 4.
TEST(Curves, AreTheLargestBelowEachThreshold) {
  const schedule::LoopProgram loops =
      schedule::parse_loops(base::SourceText("curve.loops", R"(program p
  input main x f32[64]
  output main y f32[8]
{
  unroll i < 8 {
    vector k < 4 {
      y[i] add= x[i + k]
    }
  }
}
)"));
  FeatureSchema schema;
  Columns names(FeatureGroup::kCurve, schema);
  curve_columns({}, names);
  std::vector<float> row(schema.columns.size());
  Columns to(row.data());
  curve_columns(schedule::make_tree(loops), to);
  std::map<std::string, float> of;
  for (std::size_t i = 0; i < row.size(); ++i) of[schema.columns[i].name] = row[i];

  const auto log2_1 = [](double value) { return static_cast<float>(std::log2(1 + value)); };
  const double i_touched = 8 + 4 - 1, i_reuse = 32 / i_touched;  // of x
  // reuse by touched: k touches 4, reuse 1; i touches 11, reuse 32 / 11.
  EXPECT_EQ(of.at("curve.read_1.reuse_by_touched.0"), 0);                // below 4: none
  EXPECT_EQ(of.at("curve.read_1.reuse_by_touched.1"), log2_1(i_reuse));  // below 16: both
  // touched by top_down: i at 8, k at 32.
  EXPECT_EQ(of.at("curve.read_1.touched_by_top_down.0"), 0);
  EXPECT_EQ(of.at("curve.read_1.touched_by_top_down.1"), log2_1(i_touched));
  EXPECT_EQ(of.at("curve.read_1.touched_by_top_down.2"), log2_1(i_touched));
  // For y: k touches 1, reuse 2 x 4; i touches 8, reuse 8.
  EXPECT_EQ(of.at("curve.written.reuse_by_touched.0"), log2_1(8));
  EXPECT_EQ(of.at("curve.read_2.reuse_by_touched.5"), 0);  // no such buffer
  EXPECT_EQ(of.at("curve.unrolled"), 3);
  EXPECT_EQ(of.at("curve.vectorized"), 2);
  EXPECT_EQ(of.at("curve.parallel"), 0);
}

TEST(Curves, AreAGroupOfATable) {
  const ir::Kernel kernel = product();
  hwdesc::Device device;
  device.native_tile = {.tiled = false};
  const TableFeatures features({.groups = {FeatureGroup::kCurve}});
  const analytical::TileConfig one = analytical::parse_tile("out=16x12 kernel=8x12");
  const std::vector<analytical::KernelQuery> queries = {{kernel, &one}, {kernel}, {kernel, &one}};
  std::vector<float> rows(queries.size() * features.width());
  features.extract(queries, device, {}, rows);
  const auto row = [&](std::size_t i) {
    return std::vector<float>(
        rows.begin() + static_cast<std::ptrdiff_t>(i * features.width()),
        rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * features.width()));
  };
  EXPECT_EQ(row(0), row(2));
  EXPECT_NE(row(0), row(1));
}

}  // namespace
}  // namespace tilecast::learned
