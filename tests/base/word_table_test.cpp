#include "base/word_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tilecast::base {
namespace {

constexpr WordTable kColours(std::to_array<WordEntry<int>>({{"red", 1}, {"green", 2}, {"r", 3}}));
static_assert(*kColours.find("green") == 2);

TEST(WordTable, FindsItsWordsAndNoOther) {
  EXPECT_EQ(*kColours.find("red"), 1);
  EXPECT_EQ(*kColours.find("r"), 3);
  for (const char* other : {"", "re", "redd", "Red", "gree", "greem", "x"}) {
    EXPECT_EQ(kColours.find(other), nullptr) << other;
  }
}

// Many words with equal length and letters, so that slots collide.
TEST(WordTable, IsAMapOfRandomWords) {
  constexpr std::size_t kWords = 200;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto word = [&] {
      std::string made(1 + random() % 4, 'a');
      for (char& letter : made) letter = static_cast<char>('a' + random() % 4);
      return made;
    };
    std::map<std::string, int> expected;
    while (expected.size() < kWords) expected.emplace(word(), static_cast<int>(random()));
    std::array<WordEntry<int>, kWords> entries;
    auto entry = entries.begin();
    for (const auto& [text, value] : expected) *entry++ = {text, value};
    const WordTable table(entries);
    for (const auto& [text, value] : expected) ASSERT_EQ(*table.find(text), value) << text;
    for (int i = 0; i < 1000; ++i) {
      const std::string text = word();
      ASSERT_EQ(table.find(text) != nullptr, expected.contains(text)) << text;
    }
  }
}

}  // namespace
}  // namespace tilecast::base
