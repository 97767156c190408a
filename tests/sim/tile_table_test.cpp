#include <gmock/gmock.h>

#include "analytical/analytical_model.h"
#include "analytical/energy.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "sim/explain.h"
#include "sim/tables.h"
#include "tests/support/errors.h"
#include "tests/support/tile_offers.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::TileConfig;
using ::testing::HasSubstr;

TEST(ParseTile, ReadsTheFormItIsGivenInAndTheFormReportsPrint) {
  const TileConfig tile{.output = {2, 26, 4, 2}, .kernel = {3, 3, 24, 1}, .input = {}};
  EXPECT_EQ(analytical::parse_tile("out=2x26x4x2 kernel=3x3x24x1"), tile);
  EXPECT_EQ(analytical::parse_tile("kernel 3x3x24x1, out 2x26x4x2"), tile);
  EXPECT_EQ(analytical::parse_tile("in=8x1"),
            (TileConfig{.output = {}, .kernel = {}, .input = {8, 1}}));
}

TEST(ParseTile, RefusesWhatIsNoTile) {
  for (const char* text : {"", "out", "out=", "out=2x", "out=0x2", "out=2x-1", "2x2", "out=2y3",
                           "out=2 out=3", "out=99999999999999999999"}) {
    EXPECT_THROW((void)analytical::parse_tile(text), Error) << text;
  }
}

TEST(TileTable, OfTilesIsReadBackAsItWasMade) {
  const std::vector<TileConfig> tiles = {
      {.output = {8, 8}, .kernel = {4, 8}, .input = {}, .stages = 2, .warps = 4},
      {.output = {16, 8}, .kernel = {4, 8}, .input = {}, .warps = 8}};
  const measured::CsvTable table = table_of_tiles(tiles);
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"output_bounds", "kernel_bounds", "stages", "warps"}));
  EXPECT_EQ(table.rows[0].cells, (std::vector<std::string>{"8 8", "4 8", "2", "4"}));
  EXPECT_EQ(tiles_of_table(table), tiles);
  const TileConfig plain[] = {{.output = {8, 8}, .kernel = {}, .input = {}}};
  EXPECT_EQ(table_of_tiles(plain).columns.size(), 2U);
}

TEST(TileTable, EndsWithTheEnergyOfALaunchWhereTheDeviceDescribesIt) {
  const ir::Kernel kernel = support::product(512, 384, 768);
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> tiles = analysis.tiles();
  const measured::CsvTable table = estimate_tiles(table_of_tiles(tiles), kernel, device);
  ASSERT_EQ(table.columns.back(), "energy_uJ");
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto answer = analysis.estimate(tiles[i]);
    const auto& estimate = std::get<analytical::Estimate>(answer);
    const double joule = (analytical::average_power(estimate, device) * estimate.time).value;
    EXPECT_NEAR(std::stod(table.rows[i].cells.back()), joule * 1e6, 1e-3);
  }
  const hwdesc::Device without = hwdesc::load_device("tpu_v3", {{"energy", "null"}});
  const measured::CsvTable plain = estimate_tiles(table_of_tiles(tiles), kernel, without);
  EXPECT_EQ(plain.columns.back(), "reason");
}

// The commands' part of the contract of choosing (tests/search/tile_tuner_test.cpp).
TEST(TileTable, RanksOnlyRowsWhoseTileRuns) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const ir::Kernel kernel = support::product(512, 384, 768);
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> listed = analysis.tiles();
  std::mt19937_64 random(5);
  std::size_t ranked = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::vector<TileConfig> tiles = support::offered_tiles(listed, random);
    tiles.emplace_back();  // for which the model chooses the tile
    const support::ArbitraryRanker ranker(i);
    const search::OfferRanking best = rank_rows(tiles, kernel, device, ranker);
    const measured::CsvTable answered =
        estimate_tiles(table_of_tiles(tiles), kernel, device, nullptr, &ranker);
    ASSERT_EQ(answered.rows.size(), tiles.size());
    std::vector<bool> has_rank(tiles.size(), false);
    for (const search::RankedOffer& one : best.best) has_rank.at(one.offer) = true;
    for (std::size_t row = 0; row < tiles.size(); ++row) {
      const bool runs =
          tiles[row] == TileConfig{} || analysis.infeasible_reason(tiles[row]).empty();
      EXPECT_EQ(answered.cell(answered.rows[row], "estimate_ns").empty(), !runs);
      EXPECT_EQ(!answered.cell(answered.rows[row], "rank").empty(), has_rank[row]);
      EXPECT_TRUE(runs || !has_rank[row]);
      ranked += has_rank[row] ? 1 : 0;
    }
    EXPECT_FALSE(has_rank.back()) << "no tile is offered there";
  }
  EXPECT_GT(ranked, 50U);
}

TEST(RowsOfFile, KeepsTheRowsThatNameTheFile) {
  const measured::CsvTable table = measured::read_csv(
      base::SourceText("t.csv", "file,output_bounds\na.hlo,1\nb.hlo,2\ndir/a.hlo,3\n"));
  const measured::CsvTable rows = rows_of_file(table, "some/where/a.hlo");
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(rows.rows[1].cells[1], "3");
}

TEST(RowsOfFile, KeepsAllRowsWithoutAFileColumn) {
  const measured::CsvTable table =
      measured::read_csv(base::SourceText("t.csv", "output_bounds\n1\n2\n"));
  EXPECT_EQ(rows_of_file(table, "a.hlo").rows.size(), 2U);
}

TEST(TileMismatch, SaysHowManyDimensionsTheKernelHas) {
  const TileConfig full{.output = {26, 26, 4, 2}, .kernel = {3, 3, 24, 3}, .input = {}};
  EXPECT_EQ(tile_mismatch({.output = {1, 1, 1, 1}}, full), "");
  EXPECT_EQ(tile_mismatch({.output = {1, 1, 1}}, full),
            "output tile has 3 dimensions, this kernel has 4");
  EXPECT_EQ(tile_mismatch({.kernel = {1}}, full),
            "kernel tile has 1 dimensions, this kernel has 4");
}

// Counts its queries; a kernel takes a second.
class CountingModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& /*device*/) const override {
    asked += queries.size();
    analytical::Estimate estimate;
    estimate.time = Seconds{1};
    return {queries.size(), estimate};
  }
  mutable std::size_t asked = 0;
};

TEST(OpTable, IsReadToItsEndBeforeAnythingIsComputed) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const std::string good = "op,dtype,elements\nadd,f32,64\nadd,f32,128\n";
  const auto table = [](const std::string& text) {
    return measured::read_csv(base::SourceText("ops.csv", text));
  };
  const CountingModel model;
  EXPECT_THAT(support::error_of([&] {
                return estimate_operators(table(good + "add,f32,none\n"), device, model,
                                          {.jobs = 1});
              }),
              HasSubstr("ops.csv:4"));
  EXPECT_EQ(model.asked, 0U);
  (void)estimate_operators(table(good), device, model, {.jobs = 1});
  EXPECT_EQ(model.asked, 2U);
}

TEST(OpTable, SaysEnergyPowerAndClockWhereTheDeviceDescribesThem) {
  const measured::CsvTable table = measured::read_csv(
      base::SourceText("ops.csv", "op,dtype,m,n,k\nmatmul,bf16,8192,8192,8192\n"));
  const analytical::AnalyticalModel model;
  const auto answer = [&](const std::string& key, const std::string& value) {
    const hwdesc::Device device = hwdesc::load_device("h200_sxm", {{key, value}});
    return estimate_operators(table, device, model, {.jobs = 1});
  };
  const measured::CsvTable held = answer("energy.power_state", "sustained");
  const auto number = [&](const std::string& column) {
    return measured::number_cell(held, held.rows[0], *held.find(column), 0, 1e15);
  };
  EXPECT_NEAR(number("power_W"), 700, 0.1);
  EXPECT_NEAR(number("energy_uJ") * 1e3 / number("estimate_ns"), number("power_W"), 0.1);
  EXPECT_LT(number("clock_MHz"), 1980);
  EXPECT_FALSE(answer("energy", "null").find("energy_uJ"));
}

// --- explain() with a model other than the analytical one.

// The time is the first dimension of the tile in microseconds; without a tile, 7 us.
class FirstDimensionModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<Estimate>> estimate(std::span<const analytical::KernelQuery> queries,
                                                const hwdesc::Device&) const override {
    std::vector<std::optional<Estimate>> answers(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const TileConfig* tile = queries[i].tile;
      const double time = tile == nullptr ? 7 : static_cast<double>(tile->output.front());
      answers[i].emplace().time = Seconds{time * 1e-6};
      if (tile != nullptr) answers[i]->tile = *tile;
    }
    return answers;
  }
};

class NoModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<Estimate>> estimate(std::span<const analytical::KernelQuery> queries,
                                                const hwdesc::Device&) const override {
    return std::vector<std::optional<Estimate>>(queries.size());
  }
};

const hwdesc::Device& tpu() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

ir::Kernel negation() {
  ir::KernelSketch sketch("rows", ir::Opcode::kFusion, analytical::layout_rules(tpu()));
  const ir::OpId x = sketch.parameter(ir::DType::kF32, {256, 1024});
  return sketch.build({sketch.elementwise(ir::Opcode::kNegate, {x})});
}

TEST(Explain, AsksTheModelAndRanksTilesByIt) {
  const ir::Kernel kernel = negation();
  const FirstDimensionModel model;
  const Explanation why = explain(kernel, tpu(), {.top = 5, .model = &model});
  EXPECT_EQ(why.estimate.time, Seconds{7e-6});
  EXPECT_EQ(why.tile_origin, "none");
  ASSERT_EQ(why.best_tiles.size(), 5U);
  for (std::size_t i = 1; i < why.best_tiles.size(); ++i) {
    EXPECT_LE(why.best_tiles[i - 1].time, why.best_tiles[i].time);
  }
  EXPECT_EQ(why.best_tiles.front().tile.output.front(), 1);
}

TEST(Explain, WhatResourcesAddIsPhysicsInProportionToTheAnswer) {
  const ir::Kernel kernel = negation();
  const Explanation physics = explain(kernel, tpu());
  const FirstDimensionModel model;
  const Explanation other = explain(kernel, tpu(), {.model = &model});
  const double factor = other.estimate.time / physics.estimate.time;
  Seconds sum;
  for (std::size_t i = 0; i < physics.added.size(); ++i) {
    EXPECT_NEAR(other.added[i].value, factor * physics.added[i].value, 1e-15);
    sum = sum + other.added[i];
  }
  EXPECT_NEAR(sum.value, 7e-6, 1e-15);
  const TileConfig bad{.output = {1, 2, 3}};
  EXPECT_EQ(explain(kernel, tpu(), {.tile = &bad}).added, analytical::BoundVector{});
}

TEST(Explain, LeavesWhetherATileCanRunToPhysics) {
  const ir::Kernel kernel = negation();
  const FirstDimensionModel model;
  const TileConfig good{.output = {2, 1}}, bad{.output = {1, 2, 3}};
  EXPECT_EQ(explain(kernel, tpu(), {.tile = &good, .model = &model}).estimate.time, Seconds{2e-6});
  EXPECT_TRUE(explain(kernel, tpu(), {.tile = &bad, .model = &model}).infeasible.has_value());
}

TEST(Explain, AModelWithoutAnAnswerIsAnError) {
  const NoModel model;
  EXPECT_THROW((void)explain(negation(), tpu(), {.model = &model}), Error);
}
}  // namespace
}  // namespace tilecast::sim
