#include "base/text_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

namespace tilecast::base {
namespace {

TEST(TextHash, IsOfTheTextAlone) {
  const std::string text = "a name of twenty-six bytes";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string copy = text.substr(0, length), padded = "?" + copy + "?";
    EXPECT_EQ(hash_text(std::string_view(padded).substr(1, length)), hash_text(copy)) << length;
    for (std::size_t i = 0; i < length; ++i) {
      std::string other = copy;
      other[i] = '?';
      EXPECT_NE(hash_text(other), hash_text(copy)) << length << ' ' << i;
    }
  }
}

// Names in a program often differ in a few digits, at any position.
TEST(TextHash, SpreadsNamesOverATable) {
  constexpr std::size_t kNames = 1 << 15;
  for (const std::string before : {"", "add.", "fused_computation.", "a_name_of_some_length."}) {
    for (const std::string after : {"", ".clone", ".remat.clone.1"}) {
      std::unordered_map<std::uint64_t, int> slots;  // in a table four times as large
      int shared = 0;
      for (std::size_t i = 0; i < kNames; ++i) {
        const std::uint64_t hash = hash_text(before + std::to_string(i) + after);
        shared += slots[hash % (4 * kNames)]++ > 0 ? 1 : 0;
      }
      // Independent draws: n - m (1 - (1 - 1/m)^n) = 0.115 n for m = 4 n.
      EXPECT_LT(shared, 0.14 * kNames) << before << after;
    }
  }
}

}  // namespace
}  // namespace tilecast::base
