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

TEST(Today, IsADate) {
  EXPECT_THAT(today(), ::testing::MatchesRegex("20[0-9][0-9]-[0-1][0-9]-[0-3][0-9]"));
}

}  // namespace
}  // namespace tilecast::base
