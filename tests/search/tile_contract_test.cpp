// The contract of choosing (search/tile_choice.h) on random lists of tiles, sound and absurd ones,
// and rankers that are right, wrong or silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/random.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "search/tile_choice.h"

namespace tilecast::search {
namespace {

using analytical::TileConfig;
using ::testing::HasSubstr;

ir::Kernel product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, {.tiled = false});
  const ir::OpId lhs = sketch.parameter(ir::DType::kBF16, {rows, depth});
  const ir::OpId rhs = sketch.parameter(ir::DType::kBF16, {depth, columns});
  const ir::DotDims dims{.lhs_contracting = {1}, .rhs_contracting = {0}};
  return sketch.build({sketch.dot(lhs, rhs, dims, {rows, columns}, ir::DType::kBF16)});
}

// Any number, or none, for any tile: what the contract must hold against.
class Arbitrary final : public analytical::TileRanker {
 public:
  explicit Arbitrary(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::vector<std::optional<double>> scores(const ir::Kernel& /*kernel*/,
                                                          std::span<const TileConfig> tiles,
                                                          const hwdesc::Device&) const override {
    std::mt19937_64 random(seed_);
    std::vector<std::optional<double>> scores;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      switch (base::draw(random, 6)) {
        case 0:
          scores.emplace_back(std::nullopt);
          break;
        case 1:
          scores.emplace_back(std::numeric_limits<double>::quiet_NaN());
          break;
        case 2:
          scores.emplace_back(std::numeric_limits<double>::infinity());
          break;
        default:
          scores.emplace_back(static_cast<double>(base::draw(random, 1000)) - 500);
      }
    }
    return scores;
  }

 private:
  std::uint64_t seed_;
};

TileConfig absurd(std::mt19937_64& random) {
  TileConfig tile;
  const auto sizes = [&](ir::Dims& dims) {
    for (std::uint64_t n = base::draw(random, 5); n > 0; --n) {
      dims.push_back(std::int64_t{1} << base::draw(random, 24));
    }
  };
  sizes(tile.output);
  sizes(tile.kernel);
  tile.stages = static_cast<int>(base::draw(random, 100));
  tile.warps = static_cast<int>(base::draw(random, 100));
  return tile;
}

std::vector<TileConfig> offered(const std::vector<TileConfig>& listed, std::mt19937_64& random) {
  std::vector<TileConfig> tiles;
  for (std::uint64_t n = base::draw(random, 8); n > 0; --n) {
    const bool sound = !listed.empty() && base::draw(random, 2) == 0;
    tiles.push_back(sound ? listed[base::draw(random, listed.size())] : absurd(random));
  }
  return tiles;
}

class EveryDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryDevice, TheAnswerIsOfferedAndRunsOrIsTheDefault) {
  const hwdesc::Device device = hwdesc::load_device(GetParam());
  const ir::Kernel kernel = product(512, 384, 768);
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> listed = analysis.tiles();
  const TileConfig by_default{.output = {7, 7, 7}, .kernel = {}, .input = {}};  // whatever it is
  std::mt19937_64 random(1);
  std::size_t chosen = 0, kept = 0;
  constexpr std::uint64_t kCases = 300;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const std::vector<TileConfig> tiles = offered(listed, random);
    const TileDecision d = choose_tile(kernel, device, Arbitrary(i), tiles, by_default);
    EXPECT_EQ(d.offer.has_value(), d.why_default.empty());
    if (d.offer) {
      ++chosen;
      ASSERT_LT(*d.offer, tiles.size());
      EXPECT_EQ(d.tile, tiles[*d.offer]);
      EXPECT_TRUE(std::holds_alternative<analytical::Estimate>(analysis.estimate(d.tile)));
    } else {
      ++kept;
      EXPECT_EQ(d.tile, by_default);
    }
  }
  EXPECT_GT(chosen, kCases / 10);
  EXPECT_GT(kept, kCases / 10);
}

TEST_P(EveryDevice, PhysicsChoosesTheFastestThatRuns) {
  const hwdesc::Device device = hwdesc::load_device(GetParam());
  const ir::Kernel kernel = product(512, 384, 768);
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> listed = analysis.tiles();
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::vector<TileConfig> tiles = offered(listed, random);
    const TileDecision d = choose_tile(kernel, device, analytical::PhysicsRanker(), tiles, {});
    std::size_t infeasible = 0;
    for (const TileConfig& tile : tiles) {
      if (std::holds_alternative<analytical::Infeasible>(analysis.estimate(tile))) {
        ++infeasible;
      } else {
        ASSERT_TRUE(d.offer);
        EXPECT_LE(analysis.time(d.tile), analysis.time(tile));
      }
    }
    EXPECT_EQ(d.infeasible, infeasible);
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
  EXPECT_EQ(d.infeasible, 1U);
}

}  // namespace
}  // namespace tilecast::search
