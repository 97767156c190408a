#include <gtest/gtest.h>

#include "analytical/energy.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "sim/tables.h"
#include "tests/support/tile_offers.h"

namespace tilecast::sim {
namespace {

using analytical::TileConfig;

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

// The commands' part of the contract of choosing (tests/search/tile_contract_test.cpp).
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

}  // namespace
}  // namespace tilecast::sim
