// Counts loads per level and compares them with a walk of the nest with a stack of recent regions.
#include "analytical/reuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace tilecast::analytical {
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
}  // namespace tilecast::analytical
