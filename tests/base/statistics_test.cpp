#include "base/statistics.h"

#include <gtest/gtest.h>

namespace tilecast::base {
namespace {

TEST(Quantile, OfElevenNumbersFallsOnThemAtEveryTenth) {
  const std::vector<double> numbers{9, 3, 7, 1, 10, 0, 5, 8, 2, 6, 4};
  for (int tenth = 0; tenth <= 10; ++tenth)
    EXPECT_NEAR(quantile(numbers, tenth / 10.0), tenth, 1e-12);
  EXPECT_NEAR(quantile(numbers, 0.025), 0.25, 1e-12);
}

TEST(Median, OfAnEvenNumberLiesHalfWay) {
  EXPECT_DOUBLE_EQ(median({8, 1, 2, 4}), (2.0 + 4.0) / 2);
  EXPECT_DOUBLE_EQ(upper_median({8, 1, 2, 4}), 4);
  EXPECT_DOUBLE_EQ(upper_median({8, 1, 2}), median({8, 1, 2}));
}

}  // namespace
}  // namespace tilecast::base
