// The contract of choosing (search/tile_choice.h) on random lists of tiles, valid and absurd ones,
// and rankers that are right, wrong or without scores.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "hwdesc/device_yaml.h"
#include "search/tile_choice.h"
#include "tests/support/tile_offers.h"

namespace tilecast::search {
namespace {

using analytical::TileConfig;
using support::ArbitraryRanker;
using support::offered_tiles;
using support::product;
using ::testing::HasSubstr;

class EveryDevice : public ::testing::TestWithParam<const char*> {
 protected:
  const hwdesc::Device device_ = hwdesc::load_device(GetParam());
  const ir::Kernel kernel_ = product(512, 384, 768);
  const analytical::KernelAnalysis analysis_{kernel_, device_};
  const std::vector<TileConfig> listed_ = analysis_.tiles();
};

TEST_P(EveryDevice, TheAnswerIsOfferedAndRunsOrIsTheDefault) {
  const TileConfig by_default{.output = {7, 7, 7}, .kernel = {}, .input = {}};  // for any default
  std::mt19937_64 random(1);
  std::size_t chosen = 0, kept = 0;
  constexpr std::uint64_t kCases = 300;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const TileDecision d = choose_tile(kernel_, device_, ArbitraryRanker(i), tiles, by_default);
    EXPECT_EQ(d.offer.has_value(), d.why_default.empty());
    if (d.offer) {
      ++chosen;
      ASSERT_LT(*d.offer, tiles.size());
      EXPECT_EQ(d.tile, tiles[*d.offer]);
      EXPECT_TRUE(std::holds_alternative<analytical::Estimate>(analysis_.estimate(d.tile)));
    } else {
      ++kept;
      EXPECT_EQ(d.tile, by_default);
    }
  }
  EXPECT_GT(chosen, kCases / 10);
  EXPECT_GT(kept, kCases / 10);
}

TEST_P(EveryDevice, PhysicsChoosesTheFastestThatRuns) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const TileDecision d = choose_tile(kernel_, device_, analytical::PhysicsRanker(), tiles, {});
    for (const TileConfig& tile : tiles) {
      if (std::holds_alternative<analytical::Infeasible>(analysis_.estimate(tile))) continue;
      ASSERT_TRUE(d.offer);
      EXPECT_LE(analysis_.time(d.tile), analysis_.time(tile));
    }
  }
}

// Rankings of several tiles, as used by `tiles`, `tune` and ChosenTiles.
TEST_P(EveryDevice, ARankingIsOfOfferedTilesThatRunAndFewerOfItAreItsFirst) {
  std::mt19937_64 random(3);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const ArbitraryRanker ranker(i);
    const OfferRanking all = rank_offered(kernel_, device_, ranker, tiles);
    const OfferRanking two = rank_offered(kernel_, device_, ranker, tiles, 2);
    std::set<std::size_t> seen;
    for (std::size_t k = 0; k < all.best.size(); ++k) {
      const auto [offer, score] = all.best[k];
      ASSERT_LT(offer, tiles.size());
      EXPECT_TRUE(seen.insert(offer).second) << "each once";
      EXPECT_TRUE(std::isfinite(score));
      EXPECT_EQ(analysis_.infeasible_reason(tiles[offer]), "");
      EXPECT_LE(all.best[k == 0 ? 0 : k - 1].score, score);
    }
    EXPECT_EQ(all.why_none.empty(), !all.best.empty());
    ASSERT_EQ(two.best.size(), std::min<std::size_t>(all.best.size(), 2));
    for (std::size_t k = 0; k < two.best.size(); ++k) {
      EXPECT_EQ(two.best[k].offer, all.best[k].offer);
    }
    const TileDecision one = choose_tile(kernel_, device_, ranker, tiles, {});
    EXPECT_EQ(one.offer, all.best.empty() ? std::nullopt : std::optional(all.best[0].offer));
  }
}

// Times, reasons and estimates agree on which tiles can run.
TEST_P(EveryDevice, ATimeIsFiniteWhereThereIsNoReasonAgainstTheTile) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const std::vector<double> times = analysis_.times_s(tiles);
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      const bool runs = analysis_.infeasible_reason(tiles[k]).empty();
      EXPECT_EQ(std::isfinite(times[k]), runs) << to_string(tiles[k]);
      EXPECT_EQ(std::isfinite(analysis_.time(tiles[k]).value), runs);
      EXPECT_EQ(std::holds_alternative<analytical::Estimate>(analysis_.estimate(tiles[k])), runs);
    }
  }
}

TEST_P(EveryDevice, ChosenTilesTakeTheRankersBestOfTheListOrLeaveTheKernelAlone) {
  const analytical::AnalyticalModel physics;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ArbitraryRanker ranker(seed);
    const ChosenTiles model(physics, {.ranker = &ranker});
    const OfferRanking ranking = rank_offered(kernel_, device_, ranker, listed_, 1);
    const auto tile = model.tile_of(kernel_, device_);
    ASSERT_EQ(tile.has_value(), !ranking.best.empty());
    if (tile) {
      EXPECT_EQ(*tile, listed_[ranking.best[0].offer]);
    }
  }
}

std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}
INSTANTIATE_TEST_SUITE_P(TileContract, EveryDevice,
                         ::testing::Values("tpu_v3", "a100_sxm_40gb", "cpu_generic"), device_name);

TEST(TileContract, SaysWhyTheDefaultIsKept) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const ir::Kernel kernel = product(512, 384, 768);
  const analytical::PhysicsRanker physics;
  EXPECT_EQ(choose_tile(kernel, device, physics, {}, {}).why_default, "no tile is offered");
  const std::vector<TileConfig> too_large = {
      {.output = {256, 256}, .kernel = {128, 256}, .input = {}, .stages = 9, .warps = 8}};
  const TileDecision d = choose_tile(kernel, device, physics, too_large, {});
  EXPECT_THAT(d.why_default, HasSubstr("none of 1 tiles offered can run on a100_sxm_40gb: not "
                                       "even one block fits"));
}

}  // namespace
}  // namespace tilecast::search
