#include "sim/tile_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
    EXPECT_THROW(static_cast<void>(analytical::parse_tile(text)), Error) << text;
  }
}

TEST(TileTable, OfListedTilesTheFastestThatRunAreKeptInOrder) {
  const TileConfig tiles[] = {
      {.output = {8, 8}, .kernel = {4, 8}, .input = {}, .stages = 2, .warps = 4},
      {.output = {16, 8}, .kernel = {4, 8}, .input = {}, .warps = 8}};
  measured::CsvTable table = table_of_tiles(tiles);
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"output_bounds", "kernel_bounds", "stages", "warps"}));
  EXPECT_EQ(table.rows[0].cells, (std::vector<std::string>{"8 8", "4 8", "2", "4"}));
  table.columns.emplace_back("estimate_ns");
  table.rows.push_back(table.rows[1]);
  for (const auto& [row, time] : {std::pair{0, "30.5"}, {1, "9.75"}, {2, ""}}) {
    table.rows[row].cells.emplace_back(time);
  }
  const measured::CsvTable both = fastest_rows(table, 10), one = fastest_rows(table, 1);
  ASSERT_EQ(both.rows.size(), 2U);
  EXPECT_EQ(both.rows[0].cells.back(), "9.75");
  ASSERT_EQ(one.rows.size(), 1U);
  EXPECT_EQ(one.rows[0].cells.back(), "9.75");
  const TileConfig plain[] = {{.output = {8, 8}, .kernel = {}, .input = {}}};
  EXPECT_EQ(table_of_tiles(plain).columns.size(), 2U);
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
