#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tilecast::base
