#include "search/command_hardware.h"

#include <gtest/gtest.h>

#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

// The text of {value} in a command, in any place.
TEST(CommandHardware, ValuesStayOneTextForTheShell) {
  constexpr double kRight = 3;
  const std::string test = "sh -c 'test \"$1\" = \"$EXPECTED\" && echo 3' sh ";
  for (const std::string value : {"plain", "with blank", "a; echo 1", "$(echo 1)", "`echo 1`",
                                  "it's \"quoted\"", "*", "back\\", "$HOME", "'", "\\\"$`"}) {
    ASSERT_EQ(::setenv("EXPECTED", value.c_str(), /*overwrite=*/1), 0);
    for (const std::string place : {"{value}", "\"{value}\"", "'{value}'"}) {
      const HardwareTime time = time_by({test + place, Seconds{10}}, {{"{value}", value}});
      EXPECT_EQ(time.seconds, kRight) << place << " is " << value << ": " << time.failure;
    }
  }
  ::unsetenv("EXPECTED");
}

TEST(CommandHardware, ValuesAreNotReadAsPlaces) {
  const HardwareTime time =
      time_by({"test {a} = '{b}' && test '\\'{b} = '\\4' && echo 5", Seconds{10}},
              {{"{a}", "4"}, {"{b}", "4"}});
  EXPECT_EQ(time.seconds, 5) << time.failure;
  EXPECT_EQ(time_by({"test {a} = \"{\"b} && echo 6", Seconds{10}}, {{"{a}", "{b}"}, {"{b}", "4"}})
                .seconds,
            6);
}

}  // namespace
}  // namespace tilecast::search
