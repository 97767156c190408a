#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "base/error.h"
#include "ir/counts/work_counts.h"

namespace tilecast::ir {
namespace {

// The definition: tests every pair.
std::int64_t count_by_looking(std::int64_t input, std::int64_t output, const WindowDim& w) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < w.size; ++k) {
    for (std::int64_t o = 0; o < output; ++o) {
      const std::int64_t u = o * w.stride - w.pad_low + k * w.window_dilation;
      if (u % w.base_dilation == 0 && u >= 0 && u / w.base_dilation < input) ++count;
    }
  }
  return count;
}

TEST(ValidPositions, EqualTheDefinitionOnRandomWindows) {
  std::mt19937 random(20261120);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int nonzero = 0;
  for (int i = 0; i < 5000; ++i) {
    WindowDim w;
    const std::int64_t input = pick(0, 24);
    const std::int64_t output = pick(0, 24);
    w.size = pick(0, 12);
    w.stride = pick(1, 12);
    w.base_dilation = pick(1, 12);
    w.window_dilation = pick(1, 12);
    w.pad_low = pick(-20, 30);
    const std::int64_t expected = count_by_looking(input, output, w);
    nonzero += expected != 0;
    ASSERT_EQ(valid_positions(input, output, w), expected)
        << "input " << input << " output " << output << " size " << w.size << " stride " << w.stride
        << " pad " << w.pad_low << " lhs_dilate " << w.base_dilation << " rhs_dilate "
        << w.window_dilation;
  }
  EXPECT_GT(nonzero, 2000);
}

TEST(ValidPositions, OfAPlainWindowAreAllPairs) {
  WindowDim w;
  w.size = 5;
  EXPECT_EQ(valid_positions(100, 96, w), 5 * 96);
}

TEST(ValidPositions, OfHugeWindowsComeAtOnce) {
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  WindowDim w;
  w.size = kBig;
  w.stride = kBig - 1;
  w.base_dilation = kBig;
  // u = o*(b-1) + k is a multiple of b only if k = o: one pair per output.
  EXPECT_EQ(valid_positions(kBig, kBig, w), kBig);
  w.stride = w.base_dilation = 1;
  w.pad_low = kBig / 2;
  EXPECT_EQ(valid_positions(kBig, kBig, w), std::numeric_limits<std::int64_t>::max());
}

TEST(ValidPositions, RefuseWindowsThatNoMachineHolds) {
  WindowDim w;
  w.size = (std::int64_t{1} << 40) + 1;
  EXPECT_THROW((void)valid_positions(8, 8, w), Error);
  w.size = 1;
  w.stride = 0;
  EXPECT_THROW((void)valid_positions(8, 8, w), Error);
}

}  // namespace
}  // namespace tilecast::ir
