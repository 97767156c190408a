// Bytes of regions in device layouts.
#include "analytical/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "analytical/analytical_model.h"
#include "analytical/reuse.h"
#include "analytical/tile_space.h"
#include "hwdesc/device_yaml.h"
#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"
#include "tests/analytical/test_kernels.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::analytical {
namespace {

using ir::DType;
using ir::Shape;

Extents extents(std::initializer_list<std::int64_t> sizes) {
  Extents e;
  e.fill(1);
  std::copy(sizes.begin(), sizes.end(), e.begin());
  return e;
}

TEST(RegionBytes, PadsTheTwoMinorDimensionsToTheTile) {
  const StoredArray a =
      stored_array(support::parse_shape("f32[32,26,26,192]{3,0,2,1:T(8,128)}"), 1);
  // Minor to major: 192 -> 256 lanes, dimension 0 (32) in sublanes, then 26 and 26.
  EXPECT_EQ(whole_bytes(a), 4.0 * 26 * 26 * 32 * 256);
  EXPECT_EQ(region_bytes(a, extents({9, 1, 2, 100})), 4.0 * 2 * 16 * 128);
}

TEST(RegionBytes, RoundEveryContiguousRunToTheGranule) {
  const StoredArray rows = stored_array(support::parse_shape("f32[64,1000]{1,0}"), 512);
  EXPECT_EQ(region_bytes(rows, extents({64, 10})), 64 * 512.0);   // 40 bytes per row
  EXPECT_EQ(region_bytes(rows, extents({2, 1000})), 16 * 512.0);  // one run of 8000 bytes
  EXPECT_EQ(resident_bytes(rows, extents({64, 10})), 64 * 10 * 4.0);
}

TEST(RegionBytes, CountElementSizesBelowAByte) {
  EXPECT_EQ(whole_bytes(stored_array(support::parse_shape("s4[256,256]{1,0:E(4)}"), 1)),
            256 * 256 / 2.0);
}

// 12 x 12 positions of 4 x 2 native tiles each.
double descriptors_of(int strides, std::initializer_list<std::int64_t> sizes) {
  StoredArray a =
      stored_array(support::parse_shape("bf16[32,12,12,256]{3,0,2,1:T(8,128)(2,1)}"), 1);
  a.descriptor_strides = strides;
  return descriptors(a, extents(sizes));
}

TEST(Descriptors, ListRunsAtOneStrideEach) {
  EXPECT_EQ(descriptors_of(1, {32, 12, 12, 256}), 1);  // one run
  EXPECT_EQ(descriptors_of(1, {32, 12, 12, 128}), 1);  // every second tile
  EXPECT_EQ(descriptors_of(1, {32, 6, 4, 128}), 6);  // every second tile of 4 consecutive positions
  EXPECT_EQ(descriptors_of(1, {16, 6, 4, 128}), 6 * 4);
  EXPECT_EQ(descriptors_of(1, {16, 6, 12, 128}), 6 * 12);
  EXPECT_EQ(descriptors_of(1, {8, 6, 4, 128}), 6);  // one tile per position
}

TEST(Descriptors, OfMoreStridesAreFewer) {
  EXPECT_EQ(descriptors_of(2, {16, 6, 4, 128}), 6);
  EXPECT_EQ(descriptors_of(2, {16, 6, 12, 128}), 1);  // positions continue at one stride
  EXPECT_EQ(descriptors_of(3, {16, 6, 4, 128}), 1);
  EXPECT_EQ(descriptors_of(0, {16, 6, 4, 128}), 1);  // any number
}

Shape random_shape(std::mt19937_64& random) {
  static constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kS8, DType::kPred};
  ir::Dims dims;
  const int rank = std::uniform_int_distribution<>(1, 5)(random);
  for (int d = 0; d < rank; ++d) dims.push_back(std::uniform_int_distribution<>(1, 300)(random));
  Shape shape = Shape::array(kTypes[random() % 4], dims);
  shape.layout = ir::default_layout(rank);
  ir::Dims& order = shape.layout.edit().minor_to_major;
  std::shuffle(order.begin(), order.end(), random);
  if (random() % 4 != 0) shape.layout = ir::device_layout(shape, {});
  return shape;
}

TEST(RegionBytes, OfTheWholeArrayAreItsPaddedBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const Shape shape = random_shape(random);
    const StoredArray a = stored_array(shape, 1);
    Extents whole;
    whole.fill(1);
    std::copy(shape.dims.begin(), shape.dims.end(), whole.begin());
    const auto padded = static_cast<double>(ir::padded_bytes(shape));
    ASSERT_EQ(whole_bytes(a), padded) << ir::to_string(shape);
    ASSERT_EQ(region_bytes(a, whole), padded) << ir::to_string(shape);
  }
}

TEST(StridedSlowdown, GrowsFromOneByThePagesThatRunsOpen) {
  constexpr double kRun = 32, kCost = 96;
  EXPECT_EQ(strided_slowdown(kRun, 1e6, 0), 1);
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 11, kCost), 1 + 3 * (1 + 1.5 / 32));
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 15, kCost), 1 + 3 * (1 + 1.5 / 2));
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 16, kCost), 1 + 3 * 2.5);
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 20, kCost), 1 + 3 * 2.5);
  EXPECT_DOUBLE_EQ(strided_slowdown(2 * kRun, 1 << 20, kCost), 1 + 1.5 * 2.5);
  double before = 1;
  for (double stride = kRun; stride < 1 << 20; stride *= 1.5) {
    EXPECT_GE(strided_slowdown(kRun, stride, kCost), before);
    before = strided_slowdown(kRun, stride, kCost);
  }
}

TEST(RegionBytes, NeverShrinkWhenTheRegionOrTheGranuleGrows) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const Shape shape = random_shape(random);
    Extents part;
    part.fill(1);
    for (int d = 0; d < shape.rank(); ++d)
      part[d] = 1 + static_cast<std::int64_t>(random() % shape.dims[d]);
    Extents larger = part;
    const int d = static_cast<int>(random() % shape.rank());
    larger[d] += static_cast<std::int64_t>(random() % (shape.dims[d] - part[d] + 1));
    const StoredArray a = stored_array(shape, 1);
    const StoredArray coarse = stored_array(shape, 512);
    ASSERT_LE(region_bytes(a, part), region_bytes(a, larger)) << ir::to_string(shape);
    ASSERT_LE(region_bytes(a, part), region_bytes(coarse, part)) << ir::to_string(shape);
    ASSERT_EQ(region_bytes(a, part), resident_bytes(a, part)) << ir::to_string(shape);
    ASSERT_LE(resident_bytes(a, part), whole_bytes(a)) << ir::to_string(shape);
  }
}

}  // namespace

// Counts loads per level and compares them with a walk of the nest with a stack of recent regions.

namespace {

constexpr int kNests = 4000;
constexpr double kRounding = 1e-9;
constexpr double kVast = 1e30, kNone = 0;

struct Sample {
  std::vector<NestLoop> nest;  // innermost first
  std::vector<Operand> operands;
  double always_bytes = 0;

  [[nodiscard]] std::string text() const {
    std::string s = "innermost first:";
    for (const NestLoop& step : nest) {
      s += " loop " + std::to_string(step.loop) + " x" + std::to_string(std::lround(step.tiles));
    }
    for (const Operand& operand : operands) {
      s += "; moved by " + std::to_string(operand.loops) + " of " +
           std::to_string(std::lround(operand.tile_bytes)) + " B";
    }
    return s + "; always " + std::to_string(std::lround(always_bytes)) + " B";
  }
  [[nodiscard]] double distinct_tiles(const Operand& operand) const {
    double tiles = 1;
    for (const NestLoop& step : nest) {
      if ((operand.loops >> step.loop & 1U) != 0) tiles *= step.tiles;
    }
    return tiles;
  }
};

Sample random_sample(int seed) {
  std::mt19937_64 random(seed);
  Sample sample;
  std::vector<int> loops{0, 1, 2, 3};
  std::shuffle(loops.begin(), loops.end(), random);
  loops.resize(1 + random() % 4);
  for (const int loop : loops) {
    sample.nest.push_back({loop, static_cast<double>(1 + random() % 5)});
  }
  const std::size_t operands = 1 + random() % 3;
  for (std::size_t i = 0; i < operands; ++i) {
    sample.operands.push_back({.loops = static_cast<std::uint32_t>(random() % 16),
                               .tile_bytes = static_cast<double>(1 + random() % 1000)});
  }
  sample.always_bytes = static_cast<double>(random() % 1000);
  return sample;
}

std::vector<LoadsFrom> counted(const Sample& sample, const std::vector<double>& capacities) {
  std::vector<LoadsFrom> loads(sample.operands.size());
  count_loads(sample.nest, sample.operands, capacities, sample.always_bytes, loads);
  return loads;
}

double total(const LoadsFrom& loads) {
  return std::accumulate(loads.begin(), loads.end(), 0.0);
}

// The regions of the operands, the most recent one at the end.
class Stack {
 public:
  // Bytes of distinct regions touched since `region` was, including itself; -1 if it never was.
  double touch(std::pair<std::size_t, std::size_t> region, double bytes) {
    const auto at = std::find_if(regions_.begin(), regions_.end(),
                                 [&](const Region& r) { return r.name == region; });
    double distance = -1;
    if (at != regions_.end()) {
      distance = std::accumulate(at, regions_.end(), 0.0,
                                 [](double sum, const Region& r) { return sum + r.bytes; });
      regions_.erase(at);
    }
    regions_.push_back({region, bytes});
    return distance;
  }

 private:
  struct Region {
    std::pair<std::size_t, std::size_t> name;  // operand, tile
    double bytes = 0;
  };
  std::vector<Region> regions_;
};

struct Walked {  // for one operand
  double loads = 0, first = 0;
  std::vector<double> distances;  // of loads that are not the first of their tile
};

std::vector<Walked> walk(const Sample& sample) {
  std::vector<Walked> walked(sample.operands.size());
  std::vector<std::size_t> last(sample.operands.size(), SIZE_MAX);
  std::size_t iterations = 1;
  for (const NestLoop& step : sample.nest) iterations *= static_cast<std::size_t>(step.tiles);
  Stack stack;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t i = 0; i < sample.operands.size(); ++i) {
      const Operand& operand = sample.operands[i];
      std::size_t tile = 0;
      std::size_t rest = iteration;
      for (const NestLoop& step : sample.nest) {
        const auto tiles = static_cast<std::size_t>(step.tiles);
        if ((operand.loops >> step.loop & 1U) != 0) tile = tile * tiles + rest % tiles;
        rest /= tiles;
      }
      const double distance = stack.touch({i, tile}, operand.tile_bytes);
      if (tile == last[i]) continue;
      last[i] = tile;
      walked[i].loads += 1;
      if (distance < 0) {
        walked[i].first += 1;
      } else {
        walked[i].distances.push_back(distance + sample.always_bytes);
      }
    }
  }
  return walked;
}

TEST(Reuse, AnOperandIsLoadedWheneverItsTileChanges) {
  int repeated = 0;
  for (int seed = 0; seed < kNests; ++seed) {
    const Sample sample = random_sample(seed);
    const std::vector<LoadsFrom> loads = counted(sample, {kVast, 5000, 1000});
    const std::vector<Walked> walked = walk(sample);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      ASSERT_NEAR(total(loads[i]), walked[i].loads, kRounding * walked[i].loads)
          << sample.text() << ", operand " << i;
      ASSERT_DOUBLE_EQ(walked[i].first, sample.distinct_tiles(sample.operands[i]));
      repeated += walked[i].loads > walked[i].first ? 1 : 0;
    }
  }
  EXPECT_GT(repeated, kNests / 4);
}

TEST(Reuse, CachesThatHoldEverythingLoadEachTileOnceFromMemory) {
  for (int seed = 0; seed < kNests; ++seed) {
    const Sample sample = random_sample(seed);
    const std::vector<LoadsFrom> loads = counted(sample, {kVast, kVast, kVast});
    const std::vector<Walked> walked = walk(sample);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      ASSERT_DOUBLE_EQ(loads[i][0], walked[i].first) << sample.text();
      ASSERT_DOUBLE_EQ(loads[i][1], 0) << sample.text();
      ASSERT_DOUBLE_EQ(loads[i][2], walked[i].loads - walked[i].first) << sample.text();
    }
  }
}

TEST(Reuse, CachesThatHoldNothingLoadEverythingFromMemory) {
  for (int seed = 0; seed < kNests; ++seed) {
    const Sample sample = random_sample(seed);
    const std::vector<LoadsFrom> loads = counted(sample, {kVast, kNone, kNone});
    const std::vector<Walked> walked = walk(sample);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      ASSERT_DOUBLE_EQ(loads[i][0], walked[i].loads) << sample.text();
    }
  }
}

// A sweep counts the tiles of whole loops. The distance between two touches of a tile is between
// half and twice that: the loop's first and last round are incomplete, and an operand moved by the
// outer loop contributes two tiles instead of one. Outside this range and the band of
// repeated_miss_share the level is certain.
TEST(Reuse, ARepeatComesFromTheCacheThatHoldsItsStackDistance) {
  constexpr double kMean = 2, kBand = 1.0 / 3;
  int clear = 0;
  for (int seed = 0; seed < kNests; ++seed) {
    const Sample sample = random_sample(seed);
    const double capacity = std::exp2(8 + seed % 10);
    const std::vector<LoadsFrom> loads = counted(sample, {kVast, capacity});
    const std::vector<Walked> walked = walk(sample);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      double hits = 0, misses = 0;
      for (const double distance : walked[i].distances) {
        hits += capacity >= kMean * (1 + kBand) * distance ? 1 : 0;
        misses += capacity <= (1 - kBand) * distance / kMean ? 1 : 0;
      }
      clear += hits + misses > 0 ? 1 : 0;
      ASSERT_GE(loads[i][1], hits * (1 - kRounding)) << sample.text() << ", operand " << i;
      ASSERT_GE(loads[i][0], (walked[i].first + misses) * (1 - kRounding))
          << sample.text() << ", operand " << i << " of capacity " << capacity;
    }
  }
  EXPECT_GT(clear, kNests / 4);
}

// Innermost first: `a` moves the weights, `x` and `y` do not. For any number of rounds of `x`, the
// weights were last touched one sweep of `a` before `y` advances.
TEST(Reuse, OnlyTheLoopsInsideTheLastOneThatMovesAnOperandLieBetweenItsTouches) {
  const std::vector<NestLoop> nest{{0, 4}, {1, 1000}, {2, 10}};
  const std::vector<Operand> operands{{.loops = 0b001, .tile_bytes = 100},
                                      {.loops = 0b010, .tile_bytes = 100}};
  std::vector<LoadsFrom> loads(2);
  const std::vector<double> capacities{kVast, 2 * (4 * 100 + 100)};
  count_loads(nest, operands, capacities, 0, loads);
  EXPECT_DOUBLE_EQ(loads[0][0], 4);
  EXPECT_DOUBLE_EQ(loads[0][1], 4 * (1000 * 10 - 1));
  EXPECT_DOUBLE_EQ(loads[1][0], 1000 + 1000 * 9);  // 1000 rounds do not fit
}

TEST(Reuse, ALevelBetweenTakesWhatTheInnermostDoesNotHold) {
  const std::vector<NestLoop> nest{{0, 10}, {1, 3}};
  const std::vector<Operand> operands{{.loops = 0b01, .tile_bytes = 100}};
  std::vector<LoadsFrom> loads(1);
  const std::vector<double> capacities{kVast, 2 * 10 * 100, 10 * 100 / 2};
  count_loads(nest, operands, capacities, 0, loads);
  EXPECT_DOUBLE_EQ(loads[0][0], 10);
  EXPECT_DOUBLE_EQ(loads[0][1], 10 * 2);
  EXPECT_DOUBLE_EQ(loads[0][2], 0);
}

// In the middle of the band, with a sweep as large as the cache: repeats keep their share for any
// number of outer rounds.
TEST(Reuse, RepeatsKeepTheirShareInOuterRounds) {
  const std::vector<NestLoop> nest{{0, 10}, {1, 3}, {2, 7}};
  const std::vector<Operand> operands{{.loops = 0b001, .tile_bytes = 100}};
  std::vector<LoadsFrom> loads(1);
  const std::vector<double> capacities{kVast, 10 * 100};
  count_loads(nest, operands, capacities, 0, loads);
  const double repeats = 10 * (3 * 7 - 1);
  EXPECT_NEAR(loads[0][0], 10 + repeats / 2, kRounding * repeats);
  EXPECT_NEAR(loads[0][1], repeats / 2, kRounding * repeats);
}

}  // namespace

// All balanced tilings of a loop nest, against a brute-force enumeration.

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
    for (const TileConfig& tile : tiles_of_extents(space, candidate_extents(space, 1'000'000))) {
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
