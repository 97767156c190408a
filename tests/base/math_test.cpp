#include "base/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

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

TEST(CeilAndFloor, AreThoseOfTheStandardForEveryDouble) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const auto any = std::bit_cast<double>(random());
    const double near = static_cast<double>(static_cast<int>(random() % 2000) - 1000) / 8;
    for (const double value : {any, near, std::nextafter(near, 1e9), std::ldexp(near, 52)}) {
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(ceil(value)) && std::isnan(floor(value)));
      } else {
        EXPECT_EQ(ceil(value), std::ceil(value)) << value;
        EXPECT_EQ(floor(value), std::floor(value)) << value;
      }
    }
  }
}

}  // namespace
}  // namespace tilecast::base
