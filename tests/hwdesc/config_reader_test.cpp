// The reader rejects YAML features that a description must not use, with their place.
#include "hwdesc/config_reader.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "hwdesc/yaml_text.h"
#include "tests/support/errors.h"

namespace tilecast::hwdesc {
namespace {

std::string message_of(const std::string& text) {
  return support::error_of([&] { return read_config(text, "chip.yaml"); }, "read");
}

TEST(ReadConfig, KeepsOrderTextAndPositions) {
  const ConfigNode root = read_config("b: 1\na: {x: \"two\"}\n", "chip.yaml");
  ASSERT_EQ(root.children.size(), 2u);
  EXPECT_EQ(root.children[0].key, "b");
  EXPECT_EQ(root.children[0].scalar, "1");
  const ConfigNode* x = root.find("a")->find("x");
  EXPECT_EQ(x->scalar, "two");
  EXPECT_EQ(x->at.describe(), "chip.yaml:2:5");
}

TEST(ReadConfig, ReadsAnEmptyTextAsNothing) {
  EXPECT_EQ(read_config("", "chip.yaml").kind, ConfigNode::Kind::kNull);
  EXPECT_EQ(read_config("# only a comment\n", "chip.yaml").kind, ConfigNode::Kind::kNull);
}

TEST(ReadConfig, ReadsUtf8) {
  EXPECT_EQ(read_config("a: 5 µs – ok\n", "chip.yaml").find("a")->scalar, "5 µs – ok");
}

TEST(ReadConfig, DoesNotReadNumbersAsOctal) {
  EXPECT_EQ(read_config("a: 010", "chip.yaml").find("a")->scalar, "010");
}

TEST(ReadConfig, RefusalsSayWhereAndWhy) {
  const std::pair<std::string, std::string> rows[] = {
      {"a: 1\nb: 2\na: 3\n",
       "chip.yaml:3:1: duplicate key 'a'; it was first given at chip.yaml:1:1"},
      {"top:\n  a: 1\n  a: 2\n",
       "chip.yaml:3:3: duplicate key 'a'; it was first given at chip.yaml:2:3"},
      {"a: &x 1\n",
       "chip.yaml:1:4: got an anchor (&name), expected a value; use 'extends:' to share "
       "values"},
      {"a: !!float 1\n",
       "chip.yaml:1:4: got the tag 'tag:yaml.org,2002:float', expected a plain value"},
      {"{a: 1}: 2\n", "chip.yaml:1:1: got a mapping or list as a key, expected a word"},
      {"~: 2\n", "chip.yaml:1:1: got an empty key, expected a word"},
      {"a: 1\n---\nb: 1\n", "chip.yaml:2:1: got a second document, expected one"},
      {std::string("a: \0b", 5), "chip.yaml: got the byte 0x00 at offset 3, expected UTF-8 text"},
      {"a: \xff", "chip.yaml: got the byte 0xff at offset 3, expected UTF-8 text"},
      {"a: \xed\xa0\x80", "chip.yaml: got the byte 0xed at offset 3, expected UTF-8 text"},
      {"a: \"\\0\"", "chip.yaml:1:4: got the byte 0x00 at offset 0, expected UTF-8 text"},
      {"a: [1, 2\n", "chip.yaml:2:1: not valid YAML: end of sequence flow not found"}};
  for (const auto& [text, message] : rows) EXPECT_EQ(message_of(text), message);
}

TEST(ReadConfig, RefusesAliasesWhereverTheyPoint) {
  EXPECT_THAT(message_of("a: *x\n"), testing::HasSubstr("chip.yaml:1:4: "));
}

TEST(ReadConfig, RefusesDeepNestingWithoutRecursingIntoIt) {
  EXPECT_THAT(message_of("a: " + std::string(50'000, '[') + std::string(50'000, ']')),
              testing::HasSubstr("nested deeper than the limit of 16 levels"));
  EXPECT_NE(message_of(std::string(100'000, '[')), "read");
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(message_of(deep), testing::HasSubstr("nested deeper than the limit of 16 levels"));
}

TEST(ReadConfig, RefusesTextsAboveTheSizeLimit) {
  EXPECT_THAT(message_of(std::string(kMaxConfigBytes + 1, '#')),
              testing::HasSubstr("expected a description of at most 1048576"));
}

TEST(YamlText, IsReadBackAsTheSameText) {
  for (const std::string text :
       {"", "plain", "a \"b\" \\n", "two\nlines\r\n\tand: # more", "- [1, {2}]", "null", " a ",
        "\x7f", "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\xf0\x9f\x98\x80"}) {
    const std::string written = "a: " + yaml_text(text, "here") + "\n";
    EXPECT_EQ(std::ranges::count(written, '\n'), 1) << written;
    const ConfigNode root = read_config(written, "chip.yaml");
    EXPECT_EQ(root.find("a")->kind, ConfigNode::Kind::kScalar) << written;
    EXPECT_EQ(root.find("a")->scalar, text) << written;
  }
}

TEST(YamlText, RefusesWhatTheReaderWouldRefuse) {
  for (const std::string text : {"a\x01", "a\x1b[0m", "a\xff"}) {
    EXPECT_THROW((void)yaml_text(text, "here"), Error);
  }
}

}  // namespace
}  // namespace tilecast::hwdesc
