// The reader rejects YAML features that a description must not use, with their place.
#include "hwdesc/config_reader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "hwdesc/units.h"
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

// Quantities survive the conversion from text to SI and back, and invalid ones are explained.

namespace {

std::string message_of(std::string_view text, UnitKind kind) {
  return support::error_of([&] { return parse_quantity(text, kind); }, "parsed");
}

TEST(ParseQuantity, GivesSiBaseUnits) {
  const struct {
    std::string_view text;
    UnitKind kind;
    double value;
  } rows[] = {{"900 GB/s", UnitKind::kBandwidth, 900e9},
              {"1.2TB/s", UnitKind::kBandwidth, 1.2e12},
              {"  7   MB/s ", UnitKind::kBandwidth, 7e6},
              {"16 MiB", UnitKind::kCapacity, 16.0 * 1024 * 1024},
              {"0 B", UnitKind::kCapacity, 0},
              {"940 MHz", UnitKind::kFrequency, 940e6},
              {"86 ns", UnitKind::kTime, 86e-9},
              {"0.6 us", UnitKind::kTime, 0.6e-6},
              {"5 µs", UnitKind::kTime, 5e-6},
              {"61.6 TFLOP/s", UnitKind::kFlopRate, 61.6e12},
              {"393 TOP/s", UnitKind::kFlopRate, 393e12},
              {"85 %", UnitKind::kRatio, 0.85},
              {"0.85", UnitKind::kRatio, 0.85},
              {"128 cycles", UnitKind::kCycles, 128},
              {"1e3", UnitKind::kCount, 1000},
              {"-1", UnitKind::kCount, -1}};
  for (const auto& [text, kind, value] : rows) EXPECT_EQ(parse_quantity(text, kind), value) << text;
}

TEST(ParseQuantity, RefusalsSayGotExpectedAndHint) {
  const struct {
    std::string_view text;
    UnitKind kind;
    std::string_view message;
  } rows[] = {
      {"900", UnitKind::kBandwidth,
       "got '900', expected a bandwidth such as 900 GB/s; the unit is missing"},
      {"16 MB", UnitKind::kCapacity,
       "got '16 MB', expected a capacity such as 16 MiB; is a MB 1000 or 1024 based? write "
       "MiB"},
      {"900 GiB/s", UnitKind::kBandwidth,
       "got '900 GiB/s', expected a bandwidth such as 900 GB/s; rates are decimal here: 1 "
       "GB/s is 1e9 bytes per second"},
      {"656 Gb/s", UnitKind::kBandwidth,
       "got '656 Gb/s', expected a bandwidth such as 900 GB/s; bits or bytes? divide bits by "
       "8 and write GB/s"},
      {"940 Mhz", UnitKind::kFrequency,
       "got '940 Mhz', expected a frequency such as 940 MHz; did you mean 'MHz'?"},
      {"4 units", UnitKind::kCount,
       "got '4 units', expected a plain number such as 4; this key has no unit"},
      {"", UnitKind::kTime,
       "got '', expected a time such as 0.6 us; it does not start with a decimal number"},
      {"fast", UnitKind::kTime,
       "got 'fast', expected a time such as 0.6 us; it does not start with a decimal number"},
      {"nan", UnitKind::kRatio,
       "got 'nan', expected a ratio such as 0.85 or 85 %; it does not start with a decimal "
       "number"},
      {"inf s", UnitKind::kTime,
       "got 'inf s', expected a time such as 0.6 us; it does not start with a decimal number"},
      {"010", UnitKind::kCount,
       "got '010', expected a plain number such as 4; it does not start with a decimal "
       "number"},
      {"1e400 s", UnitKind::kTime,
       "got '1e400 s', expected a time such as 0.6 us; the number is out of range"},
      {"1e308 TB/s", UnitKind::kBandwidth,
       "got '1e308 TB/s', expected a bandwidth such as 900 GB/s; the number is out of range"},
      {"0x10 B", UnitKind::kCapacity,
       "got '0x10 B', expected a capacity such as 16 MiB; known units: B, KiB, MiB, GiB, "
       "TiB"}};
  for (const auto& [text, kind, message] : rows) EXPECT_EQ(message_of(text, kind), message);
}

TEST(FormatQuantity, PicksTheHumanPrefix) {
  EXPECT_EQ(format_quantity(900e9, UnitKind::kBandwidth), "900 GB/s");
  EXPECT_EQ(format_quantity(1638e9, UnitKind::kBandwidth), "1.638 TB/s");
  EXPECT_EQ(format_quantity(16.0 * 1024 * 1024, UnitKind::kCapacity), "16 MiB");
  EXPECT_EQ(format_quantity(940e6, UnitKind::kFrequency), "940 MHz");
  EXPECT_EQ(format_quantity(0.6e-6, UnitKind::kTime), "600 ns");
  EXPECT_EQ(format_quantity(0, UnitKind::kTime), "0 s");
  EXPECT_EQ(format_quantity(0.85, UnitKind::kRatio), "0.85");
}

TEST(FormatQuantity, IsExactForAThousandRandomValuesOfEveryKind) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-15, 18);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    for (const UnitKind kind :
         {UnitKind::kTime, UnitKind::kCapacity, UnitKind::kBandwidth, UnitKind::kFrequency,
          UnitKind::kFlopRate, UnitKind::kRatio, UnitKind::kCount, UnitKind::kCycles}) {
      const std::string text = format_quantity(value, kind);
      EXPECT_EQ(parse_quantity(text, kind), value) << text;
    }
  }
}

TEST(Quantities, DivideBytesByRateToSeconds) {
  EXPECT_DOUBLE_EQ((Bytes{1e6} / BytesPerSecond{1e9}).value, 1e-3);
  EXPECT_DOUBLE_EQ((Cycles{940} / Hertz{940e6}).value, 1e-6);
}

}  // namespace
}  // namespace tilecast::hwdesc
