#include "base/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <unordered_map>

#include "base/math.h"
#include "base/random.h"
#include "base/source_text.h"
#include "base/statistics.h"
#include "base/text_hash.h"
#include "base/word_table.h"
#include "tests/support/errors.h"

namespace tilecast::base {
namespace {

using ::testing::HasSubstr;

TEST(Trim, KeepsBlanksInside) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim("a\n"), "a\n");
  EXPECT_EQ(trim("a \r", " \t\r"), "a");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number("-1.5e3"), -1500);
  for (const char* text : {"", " 1", "1 ", "1x", "nan", "inf", "1e999", "+1", "0x1"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(Today, IsADate) {
  EXPECT_THAT(today(), ::testing::MatchesRegex("20[0-9][0-9]-[0-1][0-9]-[0-3][0-9]"));
}

TEST(Printable, KeepsTextAndLineBreaksAndSpellsOutTheRest) {
  EXPECT_EQ(printable("plain \\x01 \xc3\xa9 \xf0\x9f\x98\x80\n"),
            "plain \\x01 \xc3\xa9 \xf0\x9f\x98\x80\n");
  EXPECT_EQ(printable_json("\"\x7f\xc2\x9b\xc2\xa0\xc3\xa9\""),
            "\"\\u007f\\u009b\xc2\xa0\xc3\xa9\"");
  EXPECT_EQ(printable("a\tb"), "a b");
  EXPECT_EQ(printable(std::string_view("\0\x1b\x7f", 3)), "\\x00\\x1b\\x7f");
  EXPECT_EQ(printable("\xff\xc3 \xed\xa0\x80"), "\\xff\\xc3 \\xed\\xa0\\x80")
      << "no UTF-8, a surrogate";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xc2\x85"), "\\xc2\\x85") << "a control character of two bytes";
}

TEST(Printable, LeavesItsOwnAnswerAsItIs) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(1 + random() % 20, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string once = printable(bytes);
    EXPECT_EQ(printable(once), once);
  }
}

}  // namespace
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

TEST(SourceText, CountsLinesAndColumnsFromOne) {
  const SourceText text("a.hlo", "ab\n\ncde");
  const auto at = [&](std::size_t offset) {
    const Position position = text.position(offset);
    return std::pair(position.line, position.column);
  };
  EXPECT_EQ(at(0), std::pair(1, 1));
  EXPECT_EQ(at(1), std::pair(1, 2));
  EXPECT_EQ(at(3), std::pair(2, 1));
  EXPECT_EQ(at(6), std::pair(3, 3));
}

TEST(SourceText, GivesTheEndOfTheTextAPosition) {
  const SourceText text("a.hlo", "ab\ncd");
  EXPECT_EQ(text.position(text.text().size()).line, 2);
  EXPECT_EQ(text.position(text.text().size()).column, 3);
}

TEST(SourceText, ALineEndsBeforeItsEndOfLineCharacters) {
  const SourceText text("a.hlo", "first\r\nsecond\n");
  EXPECT_EQ(text.line_at(2), "first");
  EXPECT_EQ(text.line_at(8), "second");
}

TEST(SourceText, DescribesAPlaceByFileLineColumnAndCaret) {
  const SourceText text("a.hlo", "x = f32[2]\ny = bad\n");
  const std::string message = text.describe(15, "unknown opcode");
  EXPECT_THAT(message, HasSubstr("a.hlo:2:5: error: unknown opcode"));
  EXPECT_THAT(message, HasSubstr("y = bad"));
  EXPECT_EQ(message.find('^') - message.rfind('\n') - 1,
            message.find("bad") - message.rfind('\n', message.find("bad")) - 1)
      << "the caret stands under the word:\n"
      << message;
}

TEST(SourceText, CutsAVeryLongLineAroundThePlace) {
  const std::string word = "here";
  const SourceText text("a.hlo", std::string(100000, 'a') + word + std::string(100000, 'b'));
  const std::string message = text.describe(100000, "wrong");
  EXPECT_LT(message.size(), 600u);
  EXPECT_THAT(message, HasSubstr(word));
  EXPECT_THAT(message, HasSubstr("a.hlo:1:100001"));
}

// The caret and the word are in the same column, counted in characters.
void expect_caret_under(const std::string& message, const std::string& word) {
  const auto column = [&message](std::size_t at) {
    const std::size_t begin = message.rfind('\n', at) + 1;
    return std::count_if(message.begin() + static_cast<std::ptrdiff_t>(begin),
                         message.begin() + static_cast<std::ptrdiff_t>(at),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  };
  EXPECT_EQ(column(message.rfind('^')), column(message.rfind(word))) << message;
}

TEST(SourceText, ShowsBytesThatAreNoTextAsHexadecimal) {
  const std::string line = "\x1b[31m \xff\t\xc3\xa9 bad\r more\n";
  const SourceText text("a\x07.hlo", line);
  const std::string message = text.describe(line.find("bad"), "unexpected '\x01'");
  EXPECT_THAT(message, HasSubstr("a\\x07.hlo:1:12: error: unexpected '\\x01'\n"));
  EXPECT_THAT(message, HasSubstr("\\x1b[31m \\xff \xc3\xa9 bad\\x0d more\n"));
  expect_caret_under(message, "bad");
}

TEST(SourceText, CutsLinesBetweenCharacters) {
  std::string line;
  for (int i = 0; i < 200; ++i) line += "\xe2\x82\xac";
  for (const std::size_t shift : {0U, 1U, 2U}) {
    const std::string shifted = std::string(shift, 'a') + line + "bad" + line;
    const SourceText text("a.hlo", shifted);
    const std::string message = text.describe(shifted.find("bad"), "wrong");
    EXPECT_EQ(message.find("\\x"), std::string::npos) << message;
    expect_caret_under(message, "bad");
  }
}

TEST(SourceText, NamesAFileItCannotRead) {
  EXPECT_THAT(support::error_of([&] { return SourceText::read_file("no/such/file.hlo"); }),
              HasSubstr("no/such/file.hlo"));
}

TEST(SourceText, SuggestsTheNearestWordAndNothingWhenAllAreFar) {
  EXPECT_EQ(nearest("tpu_v33", {"tpu_v2", "tpu_v3", "h100_sxm"}), "tpu_v3");
  EXPECT_EQ(nearest("bandwith", {"capacity", "bandwidth"}), "bandwidth");
  EXPECT_EQ(nearest("xylophone", {"tpu_v2", "tpu_v3"}), "");
}
}  // namespace
}  // namespace tilecast::base
