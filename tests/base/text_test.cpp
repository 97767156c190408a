#include "base/text.h"

#include <gmock/gmock.h>

#include <random>

namespace tilecast::base {
namespace {

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
}  // namespace tilecast::base
