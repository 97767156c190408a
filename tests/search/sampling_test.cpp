#include "search/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "search/pareto.h"

namespace tilecast::search {
namespace {

TEST(LatinHypercube, HasOnePointInEveryStratumOfEveryDimension) {
  for (const std::size_t count : {1, 2, 10, 1000}) {
    const Points points = latin_hypercube(count, 3, 7);
    for (std::size_t d = 0; d < 3; ++d) {
      std::set<double> strata;
      for (const auto& point : points) {
        EXPECT_GE(point[d], 0);
        EXPECT_LT(point[d], 1);
        strata.insert(std::floor(point[d] * static_cast<double>(count)));
      }
      EXPECT_EQ(strata.size(), count) << "dimension " << d;
    }
  }
  EXPECT_EQ(latin_hypercube(50, 4, 1), latin_hypercube(50, 4, 1));
  EXPECT_NE(latin_hypercube(50, 4, 1), latin_hypercube(50, 4, 2));
}

// The first 2^k - 1 points and the origin fill every dyadic interval of length 2^-k once.
TEST(Sobol, FillsDyadicIntervalsOnce) {
  constexpr std::size_t kCount = 255;
  const Points points = sobol(kCount, 5);
  for (std::size_t d = 0; d < 5; ++d) {
    std::set<double> cells = {0};
    for (const auto& point : points) cells.insert(std::floor(point[d] * (kCount + 1)));
    EXPECT_EQ(cells.size(), kCount + 1) << "dimension " << d;
  }
  EXPECT_EQ(points[0], std::vector<double>(5, 0.5));
}

bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  bool less = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    less = less || a[i] < b[i];
  }
  return less;
}

TEST(ParetoFront, IsWhatComparingAllPairsLeaves) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::size_t objectives = 1 + random() % 4;
    std::vector<std::vector<double>> points(random() % 30);
    for (auto& point : points) {
      for (std::size_t i = 0; i < objectives; ++i) {
        point.push_back(random() % 20 == 0 ? std::nan("") : static_cast<double>(random() % 6));
      }
    }
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool kept = true;
      for (const double value : points[i]) kept = kept && !std::isnan(value);
      for (const auto& other : points) {
        bool whole = true;
        for (const double value : other) whole = whole && !std::isnan(value);
        kept = kept && !(whole && beats(other, points[i]));
      }
      if (kept) expected.push_back(i);
    }
    EXPECT_EQ(pareto_front(points), expected) << "trial " << trial;
  }
}

}  // namespace
}  // namespace tilecast::search
