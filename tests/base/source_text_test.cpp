#include "base/source_text.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/errors.h"

namespace tilecast::base {
namespace {

using ::testing::HasSubstr;

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
