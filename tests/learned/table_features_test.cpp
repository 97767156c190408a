// The columns of a table have the values that their explanations state.
#include "learned/table_features.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

const std::vector<FeatureGroup> kOfKernels = {
    FeatureGroup::kStatic,  FeatureGroup::kOps,   FeatureGroup::kShape,    FeatureGroup::kTile,
    FeatureGroup::kMachine, FeatureGroup::kPrior, FeatureGroup::kAlignment};

ir::Kernel kernel_of(const std::string& text) {
  const ir::Module module = ir::parse_hlo(base::SourceText("test.hlo", text));
  return ir::make_program(module).kernels().front().kernel;
}

// relu(x * k + bias), in TPU layouts.
ir::Kernel conv_relu() {
  return kernel_of(R"(HloModule conv_relu, is_scheduled=true

fused {
  x = bf16[8,28,28,64]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  k = bf16[3,3,64,256]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  b = f32[256]{0:T(256)} parameter(2)
  conv = f32[8,14,14,256]{3,0,2,1:T(8,128)} convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f
  wide = f32[8,14,14,256]{3,0,2,1:T(8,128)} broadcast(b), dimensions={3}
  sum = f32[8,14,14,256]{3,0,2,1:T(8,128)} add(conv, wide)
  zero = f32[]{:T(128)} constant(0)
  zeros = f32[8,14,14,256]{3,0,2,1:T(8,128)} broadcast(zero), dimensions={}
  ROOT relu = f32[8,14,14,256]{3,0,2,1:T(8,128)} maximum(sum, zeros)
}

ENTRY main {
  x = bf16[8,28,28,64]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  k = bf16[3,3,64,256]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  b = f32[256]{0:T(256)} parameter(2)
  ROOT y = f32[8,14,14,256]{3,0,2,1:T(8,128)} fusion(x, k, b), kind=kOutput, calls=fused
}
)");
}

// Row sums of a transposed matrix, over a quotient.
ir::Kernel sums() {
  return kernel_of(R"(HloModule sums, is_scheduled=true

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

fused {
  x = f32[64,48]{1,0} parameter(0)
  y = f32[64,48]{1,0} parameter(1)
  q = f32[64,48]{1,0} divide(x, y)
  e = f32[64,48]{1,0} exponential(q)
  t = f32[48,64]{1,0} transpose(e), dimensions={1,0}
  zero = f32[] constant(0)
  ROOT r = f32[48]{0} reduce(t, zero), dimensions={1}, to_apply=add
}

ENTRY main {
  x = f32[64,48]{1,0} parameter(0)
  y = f32[64,48]{1,0} parameter(1)
  ROOT r = f32[48]{0} fusion(x, y), kind=kLoop, calls=fused
}
)");
}

class TableFeaturesTest : public testing::Test {
 protected:
  // The features of one query by column name.
  std::map<std::string, float> row(const ir::Kernel& kernel, const TileConfig* tile = nullptr,
                                   const std::optional<Estimate>& prior = std::nullopt) {
    const TableFeatures features({.groups = kOfKernels, .parameters = {}});
    std::vector<float> values(features.width(), -1);
    const std::vector<KernelQuery> queries = {{kernel, tile}};
    const std::vector<std::optional<Estimate>> priors = {prior};
    features.extract(queries, device_, priors, values);
    std::map<std::string, float> row;
    for (std::size_t i = 0; i < values.size(); ++i) {
      row[features.schema().columns[i].name] = values[i];
    }
    return row;
  }

  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
};

std::vector<float> list(const std::map<std::string, float>& row, const std::string& name) {
  std::vector<float> values;
  for (const char* part : {"0", "1", "2", "3", "4", "5", "sum", "product"}) {
    values.push_back(row.at(name + "." + part));
  }
  return values;
}

TEST_F(TableFeaturesTest, EveryColumnIsNamedOnceAndExplained) {
  std::vector<FeatureGroup> groups = kOfKernels;
  groups.push_back(FeatureGroup::kParameters);
  const TableFeatures features({.groups = groups, .parameters = {"unroll", "block x"}});
  std::set<std::string> names;
  for (const FeatureColumn& column : features.schema().columns) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_TRUE(column.name.starts_with(std::string(name(column.group)) + ".")) << column.name;
    EXPECT_GT(column.doc.size(), 10U) << column.name;
    EXPECT_LE(column.doc.size(), 100U) << column.name << ": tables cut longer cells";
    EXPECT_TRUE(column.doc.ends_with(".")) << column.name << ": " << column.doc;
    EXPECT_THAT((std::set<std::string>{"1", "B", "s", "1/B", "1/s", "B/s", "Hz"}),
                testing::Contains(column.unit))
        << column.name;
  }
  EXPECT_TRUE(names.contains("parameters.block x"));
  EXPECT_EQ(features.schema().name, "tilecast.table");
}

TEST_F(TableFeaturesTest, StaticFeaturesAreTheKernelsWork) {
  const ir::Kernel kernel = conv_relu();
  const auto of = row(kernel);
  EXPECT_EQ(of.at("static.flops"), kernel.work().flops);
  EXPECT_EQ(of.at("static.transcendentals"), 0);
  EXPECT_EQ(of.at("static.bytes_written"), 8 * 14 * 14 * 256 * 4);
  EXPECT_EQ(of.at("static.bytes_read"), 8 * 28 * 28 * 64 * 2 + 3 * 3 * 64 * 256 * 2 + 256 * 4);
  EXPECT_EQ(row(sums()).at("static.transcendentals"), 64 * 48);
}

TEST_F(TableFeaturesTest, OpsAreCountedByClass) {
  const auto of = row(conv_relu());
  constexpr float kOut = 8 * 14 * 14 * 256;
  EXPECT_EQ(of.at("ops.total"), 9);
  EXPECT_EQ(of.at("ops.parameters"), 3);
  EXPECT_EQ(of.at("ops.outputs"), 1);
  EXPECT_EQ(of.at("ops.count.free"), 4);
  EXPECT_EQ(of.at("ops.count.matrix"), 1);
  EXPECT_EQ(of.at("ops.count.elementwise"), 2);
  EXPECT_EQ(of.at("ops.count.data_movement"), 2);
  EXPECT_EQ(of.at("ops.elements.elementwise"), 2 * kOut);
  EXPECT_EQ(of.at("ops.elements.matrix"), kOut);
  EXPECT_EQ(of.at("ops.multiply_adds"), kOut * 3 * 3 * 64);
  EXPECT_EQ(of.at("ops.broadcast"), kOut) << "a scalar spread is no broadcast";
  EXPECT_EQ(of.at("ops.broadcast_factor"), 8 * 14 * 14);
  EXPECT_EQ(of.at("ops.minor_broadcast"), 0);
  EXPECT_EQ(of.at("ops.depth"), 3);
  EXPECT_EQ(of.at("ops.dtype_bytes_min"), 2);
  EXPECT_EQ(of.at("ops.dtype_bytes_max"), 4);
}

TEST_F(TableFeaturesTest, PatternsThatCostTimeAreFound) {
  const auto of = row(sums());
  constexpr float kIn = 64 * 48;
  EXPECT_EQ(of.at("ops.divided"), kIn);
  EXPECT_EQ(of.at("ops.exponentials"), kIn);
  EXPECT_EQ(of.at("ops.transposes"), 1);
  EXPECT_EQ(of.at("ops.minor_moved"), kIn);
  EXPECT_EQ(of.at("ops.minor_reduced"), kIn);
  EXPECT_EQ(of.at("ops.major_reduced"), 0);
  EXPECT_EQ(of.at("ops.elements.reduction"), kIn) << "the input's";
  EXPECT_EQ(of.at("shape.reduce_size"), 64);
  EXPECT_EQ(of.at("shape.reduce_kept"), 48);
  EXPECT_EQ(of.at("shape.reduce_minor"), 1);
  EXPECT_THAT(of.at("shape.matrix_m"), IsNan());
  EXPECT_THAT(of.at("shape.conv_window"), IsNan());
}

TEST_F(TableFeaturesTest, ListsAreSixEntriesSumAndProductAsLaidOut) {
  const auto of = row(conv_relu());
  EXPECT_THAT(list(of, "shape.output"),
              ElementsAre(14, 14, 8, 256, 0, 0, 14 + 14 + 8 + 256, 14 * 14 * 8 * 256));
  EXPECT_THAT(list(of, "shape.parameter"),
              ElementsAre(28, 28, 8, 64, 0, 0, 28 + 28 + 8 + 64, 28 * 28 * 8 * 64));
  EXPECT_EQ(of.at("shape.output_minor"), 256);
  EXPECT_EQ(of.at("shape.output_rank"), 4);
}

TEST_F(TableFeaturesTest, AConvolutionIsAProductOfMatrices) {
  const auto of = row(conv_relu());
  EXPECT_EQ(of.at("shape.matrix_m"), 8 * 14 * 14);
  EXPECT_EQ(of.at("shape.matrix_n"), 256);
  EXPECT_EQ(of.at("shape.matrix_k"), 3 * 3 * 64);
  EXPECT_EQ(of.at("shape.matrix_batch"), 1);
  EXPECT_EQ(of.at("shape.conv_spatial"), 14 * 14);
  EXPECT_EQ(of.at("shape.conv_stride"), 4);
  EXPECT_EQ(of.at("shape.conv_padding"), 2);
  EXPECT_EQ(of.at("shape.lhs_minor_contracted"), 1);
  EXPECT_EQ(of.at("shape.rhs_minor_contracted"), 0);
}

TEST_F(TableFeaturesTest, ADotsSizesAreItsBatchRowsColumnsAndTerms) {
  const auto of = row(kernel_of(R"(HloModule dots, is_scheduled=true

ENTRY main {
  x = f32[5,32,24]{2,1,0} parameter(0)
  y = f32[5,40,24]{2,1,0} parameter(1)
  ROOT d = f32[5,32,40]{2,1,0} dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
}
)"));
  EXPECT_EQ(of.at("shape.matrix_batch"), 5);
  EXPECT_EQ(of.at("shape.matrix_m"), 32);
  EXPECT_EQ(of.at("shape.matrix_n"), 40);
  EXPECT_EQ(of.at("shape.matrix_k"), 24);
  EXPECT_EQ(of.at("shape.rhs_minor_contracted"), 1);
  EXPECT_EQ(of.at("ops.multiply_adds"), 5 * 32 * 40 * 24);
}

TEST_F(TableFeaturesTest, ATilesBoundsComeAsThe24FeaturesOfTpuGraphs) {
  const TileConfig tile{.output = {7, 14, 1, 1}, .kernel = {3, 3, 4, 1}, .input = {}};
  const ir::Kernel kernel = conv_relu();
  const auto of = row(kernel, &tile);
  EXPECT_THAT(list(of, "tile.kernel"), ElementsAre(3, 3, 4, 1, 0, 0, 11, 36));
  EXPECT_THAT(list(of, "tile.output"), ElementsAre(7, 14, 1, 1, 0, 0, 23, 98));
  EXPECT_THAT(list(of, "tile.input"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  const FeatureSchema schema =
      TableFeatures({.groups = {FeatureGroup::kTile}, .parameters = {}}).schema();
  EXPECT_EQ(schema.columns[0].name, "tile.kernel.0");
  EXPECT_EQ(schema.columns[15].name, "tile.output.product");
  EXPECT_EQ(schema.columns[23].name, "tile.input.product");
}

TEST_F(TableFeaturesTest, ATilesLoopsFollowFromItsBounds) {
  // Loops: 14 x 14 x 8 rows x 256 columns (2 native tiles), window 3 x 3, 64 input features (8
  // native tiles of sublanes).
  const TileConfig tile{.output = {5, 14, 1, 1}, .kernel = {3, 3, 4, 1}, .input = {}};
  const ir::Kernel kernel = conv_relu();
  const auto of = row(kernel, &tile);
  EXPECT_EQ(of.at("tile.minor"), 128);
  EXPECT_EQ(of.at("tile.minor_share"), 0.5);
  EXPECT_EQ(of.at("tile.second_minor"), 8);
  EXPECT_EQ(of.at("tile.outer_trips"), 3);  // 5 + 5 + 4
  EXPECT_EQ(of.at("tile.output_tiles"), 3 * 2);
  EXPECT_EQ(of.at("tile.reduction_steps"), 2);
  EXPECT_EQ(of.at("tile.iterations"), 3 * 2 * 2);
  EXPECT_EQ(of.at("tile.output_elements"), 5 * 14 * 8 * 128);
  EXPECT_EQ(of.at("tile.output_bytes"), 5 * 14 * 8 * 128 * 4);
  EXPECT_EQ(of.at("tile.elements"), 5 * 14 * 8 * 128 * 3 * 3 * 32);
  EXPECT_FLOAT_EQ(of.at("tile.ragged"), 1 - 14.0F / 15);
  EXPECT_EQ(of.at("tile.matrix_m"), 5 * 14 * 8);
  EXPECT_EQ(of.at("tile.matrix_k"), 3 * 3 * 32);
}

TEST_F(TableFeaturesTest, WithoutTileOrPriorTheirColumnsAreMissing) {
  const auto of = row(conv_relu());
  int missing = 0;
  for (const auto& [name, value] : of) {
    if (!name.starts_with("tile.") && !name.starts_with("prior.")) continue;
    EXPECT_THAT(value, IsNan()) << name;
    ++missing;
  }
  EXPECT_GT(missing, 24 + 12);
}

TEST_F(TableFeaturesTest, ThePriorIsTheEstimateTermByTerm) {
  const ir::Kernel kernel = conv_relu();
  const std::vector<KernelQuery> queries = {{kernel}};
  const Estimate estimate =
      analytical::AnalyticalModel().estimate(queries, device_).front().value();
  const auto of = row(kernel, nullptr, estimate);
  EXPECT_FLOAT_EQ(of.at("prior.time"), static_cast<float>(estimate.time.value));
  EXPECT_FLOAT_EQ(of.at("prior.utilisation"), static_cast<float>(estimate.utilisation));
  EXPECT_EQ(of.at("prior.bound"), static_cast<float>(estimate.bound));
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    const std::string name(analytical::name(static_cast<analytical::Bound>(i)));
    const double busy = estimate.bounds[i].value;
    EXPECT_FLOAT_EQ(of.at("prior.busy." + name), static_cast<float>(busy));
    EXPECT_FLOAT_EQ(of.at("prior.share." + name), static_cast<float>(busy / estimate.time.value));
  }
}

TEST_F(TableFeaturesTest, SizesAreDividedByTheNativeTileAndTheRestIsKept) {
  const TileConfig tile{.output = {5, 14, 1, 1}, .kernel = {3, 3, 4, 1}, .input = {}};
  const auto of = row(conv_relu(), &tile);
  const auto expect = [&](const std::string& name, double size, double unit) {
    EXPECT_FLOAT_EQ(of.at("alignment.over." + name), static_cast<float>(size / unit)) << name;
    EXPECT_EQ(of.at("alignment.modulo." + name), static_cast<float>(std::fmod(size, unit))) << name;
  };
  constexpr double kLanes = 128, kSublanes = 8;
  expect("output_minor", 256, kLanes);
  expect("output_second", 8, kSublanes);  // batch: layout {3,0,2,1}
  expect("parameter_minor", 64, kLanes);  // of x, the largest
  expect("parameter_second", 8, kSublanes);
  expect("matrix_m", 8 * 14 * 14, kSublanes);
  expect("matrix_n", 256, kLanes);
  expect("matrix_k", 3 * 3 * 64, kLanes);
  expect("tile_minor", 128, kLanes);
  expect("tile_second", 8, kSublanes);
  expect("tile_k", 3 * 3 * 32, kLanes);
  EXPECT_THAT(row(conv_relu()).at("alignment.over.tile_minor"), IsNan());
}

TEST_F(TableFeaturesTest, WithoutNativeTilesVectorsAreTheUnitOfAlignment) {
  device_ = hwdesc::load_device("cpu_generic");
  ASSERT_FALSE(device_.native_tile.tiled);
  const double vector = static_cast<double>(device_.vector.lanes * device_.vector.sublanes);
  const auto of = row(sums());
  EXPECT_FLOAT_EQ(of.at("alignment.over.output_minor"), static_cast<float>(48 / vector));
  EXPECT_EQ(of.at("alignment.modulo.output_minor"), static_cast<float>(std::fmod(48, vector)));
}

TEST_F(TableFeaturesTest, TheMachinesRatiosFollowFromItsDescription) {
  const auto of = row(conv_relu());
  const double bandwidth = device_.main_memory().bandwidth.value * device_.main_memory().efficiency;
  EXPECT_FLOAT_EQ(of.at("machine.matrix_peak"),
                  static_cast<float>(device_.matrix_peak("bf16").value));
  EXPECT_FLOAT_EQ(of.at("machine.ridge"),
                  static_cast<float>(device_.matrix_peak("bf16").value / bandwidth));
  EXPECT_FLOAT_EQ(
      of.at("machine.memory_time"),
      static_cast<float>((of.at("static.bytes_read") + of.at("static.bytes_written")) / bandwidth));
  EXPECT_FLOAT_EQ(of.at("machine.roofline"),
                  std::max(of.at("machine.memory_time"), of.at("machine.compute_time")));
  device_.matrix.count = 0;
  EXPECT_EQ(row(conv_relu()).at("machine.matrix_peak"), 0);
}

TEST_F(TableFeaturesTest, ParametersAreWrittenAsGivenAndThenTheirProduct) {
  const TableFeatures features(
      {.groups = {FeatureGroup::kParameters}, .parameters = {"unroll", "block"}});
  const ir::Kernel kernel = sums();
  const std::vector<float> first = {4, NAN}, second = {0.5F, 1e38F};
  const std::vector<KernelQuery> queries = {{kernel, nullptr, first}, {kernel, nullptr, second}};
  std::vector<float> rows(2 * features.width());
  features.extract(queries, device_, {}, rows);
  EXPECT_THAT(rows, ElementsAre(4, IsNan(), IsNan(), 0.5F, 1e38F, 0.5F * 1e38F));
}

TEST_F(TableFeaturesTest, ParametersThatAreNotAsManyAreAnError) {
  const TableFeatures features({.groups = {FeatureGroup::kParameters}, .parameters = {"unroll"}});
  const ir::Kernel kernel = sums();
  const std::vector<KernelQuery> queries = {{kernel}};
  std::vector<float> rows(1);
  EXPECT_THAT(support::error_of([&] { features.extract(queries, device_, {}, rows); }),
              HasSubstr("got 0 parameters, expected 1"));
}

std::string message(const FeatureSelection& selection) {
  return support::error_of([&] { return TableFeatures(selection); }, "made");
}

TEST_F(TableFeaturesTest, SelectionsThatMeanNothingAreErrors) {
  using enum FeatureGroup;
  EXPECT_EQ(message({.groups = {}, .parameters = {}}), "made");
  EXPECT_THAT(message({.groups = {kNode}, .parameters = {}}), HasSubstr("'node'"));
  EXPECT_THAT(message({.groups = {kTile, kTile}, .parameters = {}}), HasSubstr("'tile' twice"));
  EXPECT_THAT(message({.groups = {kTile}, .parameters = {"x"}}),
              HasSubstr("got 1 parameters, expected the group"));
  EXPECT_THAT(message({.groups = {kParameters}, .parameters = {}}), HasSubstr("got 0 parameters"));
  EXPECT_THAT(message({.groups = {kParameters}, .parameters = {"x", "x"}}), HasSubstr("'x' twice"));
  EXPECT_THAT(message({.groups = {kParameters}, .parameters = {""}}), HasSubstr("no name"));
}

TEST_F(TableFeaturesTest, TheOrderOfGroupsDoesNotMatterButTheirChoiceDoes) {
  using enum FeatureGroup;
  const auto hash = [](std::vector<FeatureGroup> groups) {
    return TableFeatures({.groups = std::move(groups), .parameters = {}}).schema().hash();
  };
  EXPECT_EQ(hash({kStatic, kTile, kOps}), hash({kOps, kTile, kStatic}));
  EXPECT_NE(hash({kStatic, kTile}), hash({kStatic, kOps}));
  const auto with = [](const std::string& parameter) {
    return TableFeatures({.groups = {kParameters}, .parameters = {parameter}}).schema().hash();
  };
  EXPECT_NE(with("unroll"), with("block"));
}

}  // namespace
}  // namespace tilecast::learned
