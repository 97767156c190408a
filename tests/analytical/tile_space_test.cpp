// All balanced tilings of a loop nest, against a brute-force enumeration.
#include "analytical/tile_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "tests/analytical/test_kernels.h"

namespace tilecast::analytical {
namespace {

// Loops of a kernel without matrix work, outermost first.
IterationSpace nest(const std::vector<std::int64_t>& sizes, std::int64_t granule = 1) {
  IterationSpace space;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    space.loops.push_back({.size = sizes[i], .granule = granule, .slot = static_cast<int>(i)});
    space.order.push_back(static_cast<int>(i));
  }
  space.output_slots = sizes.size();
  return space;
}

// Extents, in units, of all divisions into equal pieces.
std::set<std::int64_t> extents_of(std::int64_t units) {
  std::set<std::int64_t> extents;
  for (std::int64_t pieces = 1; pieces <= units; ++pieces) {
    extents.insert(base::ceil_div(units, pieces));
  }
  return extents;
}

double pieces_of(const IterationSpace& space, const TileConfig& tile) {
  return tile_count(space, tile_extents(space, tile));
}

TEST(AllTiles, AreEveryBalancedCutOnceFewestPiecesFirst) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> sizes(1 + random() % 3);
    for (std::int64_t& size : sizes) size = 1 + static_cast<std::int64_t>(random() % 40);
    const IterationSpace space = nest(sizes, 1 + static_cast<std::int64_t>(random() % 3));
    double expected = 1;
    for (const Loop& loop : space.loops) {
      expected *= static_cast<double>(extents_of(loop.units()).size());
    }
    const std::vector<TileConfig> tiles = all_tiles(space, 1'000'000);
    EXPECT_EQ(static_cast<double>(tiles.size()), expected);
    EXPECT_EQ(count_all_tiles(space), expected);
    std::set<ir::Dims> different;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      different.insert(tiles[i].output);
      if (i > 0) {
        EXPECT_LE(pieces_of(space, tiles[i - 1]), pieces_of(space, tiles[i]));
      }
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        EXPECT_TRUE(extents_of(space.loops[d].units()).contains(tiles[i].output[d]));
      }
    }
    EXPECT_EQ(different.size(), tiles.size());
  }
}

TEST(AllTiles, HoldTheLadder) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{64}, {7, 33}, {12, 5, 100}}) {
    const IterationSpace space = nest(sizes);
    const std::vector<TileConfig> all = all_tiles(space, 1'000'000);
    for (const TileConfig& tile : candidate_tiles(space, 1'000'000)) {
      EXPECT_TRUE(std::ranges::find(all, tile) != all.end()) << to_string(tile);
    }
  }
}

TEST(AllTiles, EndAtTheLimitAndLeaveOutWhatDoesNotFit) {
  const IterationSpace space = nest({16, 16});
  const auto fits = [](const TileConfig& tile) { return tile.output[1] <= 4; };
  const std::vector<TileConfig> whole = all_tiles(space, 1'000'000);
  const std::vector<TileConfig> some = all_tiles(space, 5, fits);
  ASSERT_EQ(some.size(), 5U);
  std::vector<TileConfig> expected;
  std::ranges::copy_if(whole, std::back_inserter(expected), fits);
  expected.resize(5);
  EXPECT_EQ(some, expected);
}

TEST(AllTiles, OfAKernelAreTilesItCanRun) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const ir::Kernel kernel = testing::kernel_of(
      "HloModule dot\n\nENTRY main {\n  a = " + testing::array("bf16", {512, 1024}) +
      " parameter(0)\n  b = " + testing::array("bf16", {1024, 384}) +
      " parameter(1)\n  ROOT d = " + testing::array("bf16", {512, 384}) +
      " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  const KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> all = analysis.tiles(100'000, TileSet::kAll);
  EXPECT_GT(all.size(), analysis.tiles().size());
  EXPECT_LE(static_cast<double>(all.size()), analysis.count_all_tiles());
  for (const TileConfig& tile : all) EXPECT_LT(analysis.time(tile).value, 1.0);
  const Seconds ladder = analysis.estimate_best().time;
  const auto fastest = std::ranges::min_element(
      all, {}, [&](const TileConfig& tile) { return analysis.time(tile).value; });
  EXPECT_LE(analysis.time(*fastest).value, ladder.value) << "the best of more tiles";
}

}  // namespace
}  // namespace tilecast::analytical
