#include "learned/kernel_graph.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "learned/table_features.h"
#include "schedule/tile_schedule.h"
#include "tests/analytical/test_kernels.h"
#include "tests/schedule/parse_loops.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using analytical::testing::fusion;
using analytical::testing::kernel_of;
using ::testing::ElementsAre;

// Features of one op by name.
class Row {
 public:
  Row(const ir::Kernel& kernel, ir::Opcode opcode, std::size_t skip = 0) {
    const FeatureSchema& schema = node_schema(GraphEncoding::kTilecast);
    const KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
    std::size_t node = 0;
    while (kernel.ops()[node].opcode != opcode || skip-- > 0) ++node;
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      values_[schema.columns[c].name] = graph.features[node * schema.columns.size() + c];
    }
  }
  [[nodiscard]] float operator()(const std::string& column) const {
    return values_.at("node." + column);
  }
  // Six entries, sum, product.
  [[nodiscard]] std::vector<float> list(const std::string& name) const {
    std::vector<float> found;
    for (int i = 0; i < 6; ++i) found.push_back((*this)(name + "." + std::to_string(i)));
    found.push_back((*this)(name + ".sum"));
    found.push_back((*this)(name + ".product"));
    return found;
  }

 private:
  std::map<std::string, float> values_;
};

using Floats = std::vector<float>;

TEST(KernelGraph, ShapesAreToldFastestVaryingDimensionFirst) {
  const std::string shape = "bf16[4,8,16]{1,2,0:T(8,128)}";
  const ir::Kernel kernel = kernel_of(fusion({shape}, shape, "ROOT r = " + shape + " negate(p0)"));
  const Row row(kernel, ir::Opcode::kNegate);
  EXPECT_EQ(row.list("shape"), (Floats{8, 16, 4, 0, 0, 0, 8 + 16 + 4, 8 * 16 * 4}));
  EXPECT_EQ(row.list("layout"), (Floats{2, 3, 1, 0, 0, 0, 2 + 3 + 1, 2 * 3 * 1}));
  EXPECT_EQ(row("bytes"), 4 * 16 * 128 * sizeof(std::uint16_t)) << "8 padded to 128 lanes";
  EXPECT_EQ(row("rank"), 3);
  EXPECT_EQ(row("element_bytes"), sizeof(std::uint16_t));
  EXPECT_EQ(row("dtype.float"), 1);
  EXPECT_EQ(row("dtype.pred"), 0);
}

TEST(KernelGraph, OutputsAndParametersAreMarked) {
  const ir::Kernel kernel = kernel_of(fusion(
      {"f32[8,128]"}, "f32[8,128]", "n = f32[8,128] negate(p0)\n  ROOT r = f32[8,128] add(n, p0)"));
  const Row parameter(kernel, ir::Opcode::kParameter), negate(kernel, ir::Opcode::kNegate),
      add(kernel, ir::Opcode::kAdd);
  EXPECT_EQ(parameter("is_parameter"), 1);
  EXPECT_EQ(parameter("users"), 2);
  EXPECT_EQ(negate("is_parameter"), 0);
  EXPECT_EQ(negate("is_output"), 0);
  EXPECT_EQ(add("is_output"), 1);
  EXPECT_EQ(add("operands"), 2);
}

TEST(KernelGraph, RanksBeyondSixKeepTheirSumAndProduct) {
  const std::string shape = "f32[2,1,3,1,2,1,5]";
  const ir::Kernel kernel = kernel_of(fusion({shape}, shape, "ROOT r = " + shape + " negate(p0)"));
  const Row row(kernel, ir::Opcode::kNegate);
  EXPECT_EQ(row.list("shape").at(6), 2 + 1 + 3 + 1 + 2 + 1 + 5);
  EXPECT_EQ(row.list("shape").at(7), 2 * 3 * 2 * 5);
}

TEST(KernelGraph, ReducedDimensionsAreToldByTheirPlaceInTheLayout) {
  const std::string text = R"(HloModule t
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(f32[] %a, f32[] %b)
}
ENTRY %main (x: f32[16,32,64]) -> f32[32] {
  %x = f32[16,32,64]{2,0,1:T(8,128)} parameter(0)
  %zero = f32[] constant(0)
  ROOT %r = f32[32]{0} reduce(f32[16,32,64]{2,0,1:T(8,128)} %x, f32[] %zero), dimensions={0,2}, to_apply=%sum
}
)";
  const Row row(kernel_of(text), ir::Opcode::kReduce);
  EXPECT_EQ(row.list("dimensions"), (Floats{2, 1, 0, 0, 0, 0, 2 + 1, 2 * 1}));
  EXPECT_EQ(row.list("summed"), (Floats{16, 64, 0, 0, 0, 0, 16 + 64, 16 * 64}));
  EXPECT_EQ(row("applied_flops"), 1);
}

TEST(KernelGraph, DotsSayWhatTheyContract) {
  const ir::Kernel kernel = kernel_of(fusion(
      {"bf16[4,16,32]{2,1,0:T(8,128)}", "bf16[4,64,32]{1,2,0:T(8,128)}"},
      "bf16[4,16,64]{2,1,0:T(8,128)}",
      "ROOT d = bf16[4,16,64]{2,1,0:T(8,128)} dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={2}"));
  const Row row(kernel, ir::Opcode::kDot);
  EXPECT_EQ(row.list("summed"), (Floats{32, 0, 0, 0, 0, 0, 32, 32}));
  EXPECT_EQ(row.list("dot.batch"), (Floats{4, 0, 0, 0, 0, 0, 4, 4}));
  EXPECT_EQ(row("dot.lhs.0"), 1) << "fastest varying";
  EXPECT_EQ(row("dot.rhs.0"), 2);
}

TEST(KernelGraph, ConvolutionsSayWindowAndFeatures) {
  const ir::Kernel kernel = kernel_of(fusion(
      {"f32[8,6,7,4]{3,2,1,0:T(8,128)}", "f32[3,5,4,16]{3,2,1,0:T(8,128)}"},
      "f32[8,3,7,16]{3,2,1,0:T(8,128)}",
      "ROOT c = f32[8,3,7,16]{3,2,1,0:T(8,128)} convolution(p0, p1), window={size=3x5 stride=2x1 "
      "pad=1_1x2_2}, dim_labels=b01f_01io->b01f"));
  const Row row(kernel, ir::Opcode::kConvolution);
  EXPECT_EQ(row.list("window.size"), (Floats{3, 5, 0, 0, 0, 0, 3 + 5, 3 * 5}));
  EXPECT_EQ(row.list("window.stride"), (Floats{2, 1, 0, 0, 0, 0, 2 + 1, 2 * 1}));
  EXPECT_EQ(row.list("window.pad_high"), (Floats{1, 2, 0, 0, 0, 0, 1 + 2, 1 * 2}));
  EXPECT_EQ(row("summed.product"), 4 * 3 * 5);
  EXPECT_EQ(row("conv.input_features"), 4);
  EXPECT_EQ(row("conv.output_features"), 16);
  EXPECT_EQ(row("conv.batch"), 8);
  EXPECT_EQ(row("conv.feature_groups"), 1);
  EXPECT_EQ(row("conv.output_feature_place"), 1);
}

TEST(KernelGraph, SlicesAndPaddingAreTold) {
  const ir::Kernel kernel = kernel_of(fusion(
      {"f32[10,20]{1,0:T(8,128)}"}, "f32[6,15]{1,0:T(8,128)}",
      "s = f32[4,5]{1,0:T(8,128)} slice(p0), slice={[2:10:2], [5:20:3]}\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[6,15]{1,0:T(8,128)} pad(s, z), padding=1_1x2_4_1"));
  const Row slice(kernel, ir::Opcode::kSlice), pad(kernel, ir::Opcode::kPad);
  EXPECT_EQ(slice.list("slice.start"), (Floats{5, 2, 0, 0, 0, 0, 5 + 2, 5 * 2}));
  EXPECT_EQ(slice.list("slice.limit"), (Floats{20, 10, 0, 0, 0, 0, 20 + 10, 20 * 10}));
  EXPECT_EQ(slice.list("slice.stride"), (Floats{3, 2, 0, 0, 0, 0, 3 + 2, 3 * 2}));
  EXPECT_EQ(pad.list("pad.low"), (Floats{2, 1, 0, 0, 0, 0, 2 + 1, 2 * 1}));
  EXPECT_EQ(pad.list("pad.high"), (Floats{4, 1, 0, 0, 0, 0, 4 + 1, 4 * 1}));
  EXPECT_EQ(pad.list("pad.interior"), (Floats{1, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(pad.list("slice.start"), Floats(8, 0)) << "what an op does not have is 0";
}

TEST(KernelGraph, ARepeatedOperandIsOneEdge) {
  const ir::Kernel kernel =
      kernel_of(fusion({"f32[8,128]"}, "f32[8,128]", "ROOT r = f32[8,128] multiply(p0, p0)"));
  const KernelGraph graph = make_graph(kernel, GraphEncoding::kTilecast);
  EXPECT_EQ(graph.edges, (std::vector<GraphEdge>{{0, 1}}));
  EXPECT_EQ(graph.topological, (std::vector<std::int32_t>{0, 1}));
}

// exp(a) - (b * c), with its ops added in the given order.
ir::Kernel numbered(const std::vector<std::string>& order) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {8, 128});
  const std::map<std::string, std::pair<ir::Opcode, std::vector<std::string>>> ops = {
      {"exp", {ir::Opcode::kExp, {"a"}}},
      {"mul", {ir::Opcode::kMultiply, {"b", "c"}}},
      {"sub", {ir::Opcode::kSubtract, {"exp", "mul"}}}};
  ir::KernelBuilder builder("k", ir::Opcode::kFusion);
  std::map<std::string, ir::OpId> ids;
  for (const std::string& name : order) {
    const auto found = ops.find(name);
    if (found == ops.end()) {
      ids[name] = builder.parameter(shape, name);
      continue;
    }
    ir::Op op;
    op.opcode = found->second.first;
    op.shape = shape;
    for (const std::string& operand : found->second.second) op.operands.push_back(ids.at(operand));
    ids[name] = builder.add(std::move(op), name);
  }
  return builder.build({ids.at("sub")});
}

// Names of the ops in the order in which sequence models read them.
std::vector<std::string> sequence(const ir::Kernel& kernel) {
  std::vector<std::string> names;
  for (const std::int32_t node : make_graph(kernel, GraphEncoding::kTilecast).topological) {
    names.push_back(kernel.name_of(ir::OpId(static_cast<std::size_t>(node))));
  }
  return names;
}

TEST(KernelGraph, TheSequenceDoesNotDependOnHowNodesAreNumbered) {
  const std::vector<std::string> expected = {"a", "exp", "b", "c", "mul", "sub"};
  EXPECT_EQ(sequence(numbered({"a", "b", "c", "exp", "mul", "sub"})), expected);
  EXPECT_EQ(sequence(numbered({"c", "b", "mul", "a", "exp", "sub"})), expected);
}

TEST(KernelGraph, EveryColumnIsNamedOnceAndExplained) {
  for (const GraphEncoding encoding : {GraphEncoding::kTilecast, GraphEncoding::kSchedule}) {
    std::set<std::string> names;
    for (const FeatureColumn& column : node_schema(encoding).columns) {
      EXPECT_TRUE(names.insert(column.name).second) << column.name;
      EXPECT_EQ(column.group, FeatureGroup::kNode);
      EXPECT_FALSE(column.unit.empty()) << column.name;
      EXPECT_GE(std::count(column.doc.begin(), column.doc.end(), ' '), 1) << column.name;
      EXPECT_EQ(column.doc.back(), '.') << column.name;
    }
  }
  EXPECT_NE(node_schema(GraphEncoding::kTilecast).hash(),
            node_schema(GraphEncoding::kSchedule).hash());
}

TEST(KernelGraph, OpcodesAreThoseOfTheEncoding) {
  EXPECT_EQ(opcode_count(GraphEncoding::kTilecast),
            static_cast<std::int32_t>(ir::Opcode::kXor) + 1);
  const KernelGraph graph =
      make_graph(numbered({"a", "b", "c", "exp", "mul", "sub"}), GraphEncoding::kTilecast);
  EXPECT_EQ(graph.opcodes[3], static_cast<std::int32_t>(ir::Opcode::kExp));
}

}  // namespace

// Schedules as inputs of models: the graph of a tile, and the curves over its loops.

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
