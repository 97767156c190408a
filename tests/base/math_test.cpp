#include "base/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace tilecast::base {
namespace {

TEST(CeilDiv, IsTheCeilingOfTheQuotientOnBothSidesOfZero) {
  for (int a = -20; a <= 20; ++a)
    for (int b = 1; b <= 7; ++b) EXPECT_EQ(ceil_div(a, b), std::ceil(1.0 * a / b)) << a << " " << b;
}

TEST(CeilDiv, DoesNotOverflow) {
  EXPECT_EQ(ceil_div(INT64_MAX, std::int64_t{2}), INT64_MAX / 2 + 1);
  EXPECT_EQ(round_up(std::uint64_t{17}, std::uint64_t{8}), 24U);
}

}  // namespace
}  // namespace tilecast::base
