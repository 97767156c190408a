#include "base/random.h"

#include <gmock/gmock.h>

namespace tilecast::base {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(Draw, IsTheEnginesRemainderForASmallBound) {
  std::mt19937_64 random(7), engine(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draw(random, 10), engine() % 10);
}

TEST(Draw, RejectsTheValuesThatWouldFavourSmallNumbers) {
  // For a bound just above half the range, nearly every second value is drawn again.
  constexpr std::uint64_t kBound = (std::uint64_t{1} << 63) + 1;
  std::mt19937_64 random(1), engine(1);
  for (int i = 0; i < 100; ++i) {
    std::uint64_t value = engine();
    while (value >= kBound) value = engine();
    EXPECT_EQ(draw(random, kBound), value);
  }
}

TEST(Shuffle, IsTheSameOnEveryPlatform) {
  std::vector<int> values{1, 2, 3, 4, 5, 6};
  std::mt19937_64 random(1);
  shuffle(values, random);
  EXPECT_THAT(values, UnorderedElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values, ElementsAre(2, 4, 1, 5, 6, 3));
}

}  // namespace
}  // namespace tilecast::base
