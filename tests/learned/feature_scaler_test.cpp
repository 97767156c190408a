// Features are scaled to [0, 1] on the training set, and the scaler survives saving.
#include "learned/feature_scaler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

FeatureSchema schema_of(std::size_t width) {
  FeatureSchema schema{.name = "test.table", .version = 1, .columns = {}};
  for (std::size_t i = 0; i < width; ++i) {
    schema.columns.push_back({"c." + std::to_string(i), "1", "A column.", FeatureGroup::kStatic});
  }
  return schema;
}

std::vector<float> applied(const FeatureScaler& scaler, std::vector<float> rows) {
  scaler.apply(rows);
  return rows;
}

TEST(FeatureScaler, TheLeastBecomesZeroAndTheGreatestOne) {
  const FeatureScaler scaler(std::vector<float>{2, -8, 6, 8, 3, 0}, 2, false);
  EXPECT_THAT(applied(scaler, {2, -8, 6, 8, 3, 0}), ElementsAre(0, 0, 1, 1, 0.25, 0.5));
}

TEST(FeatureScaler, OnTheLogarithmicScaleSignsAreKept) {
  const FeatureScaler scaler(std::vector<float>{-1, 7}, 1, true);
  const auto share = [](double x) {
    return static_cast<float>((x + std::log(2.0)) / (std::log(8.0) + std::log(2.0)));
  };
  EXPECT_THAT(applied(scaler, {-1, 7, 0, 3, -0.5F}),
              ElementsAre(0, 1, FloatEq(share(0)), FloatEq(share(std::log(4.0))),
                          FloatEq(share(-std::log(1.5)))));
}

TEST(FeatureScaler, ConstantColumnsAndMissingValuesBecomeZero) {
  const FeatureScaler scaler(std::vector<float>{5, kNaN, 1, 5, kNaN, 3, 5, kNaN, kNaN}, 3, false);
  EXPECT_THAT(applied(scaler, {5, kNaN, kNaN, 6, 7, 2}), ElementsAre(0, 0, 0, 0, 0, 0.5));
}

TEST(FeatureScaler, ValuesOutsideTheTrainingRangeGoAQuarterOfItBeyond) {
  const FeatureScaler scaler(std::vector<float>{0, 4}, 1, false);
  EXPECT_THAT(applied(scaler, {-0.5F, -1, -100, 4.5F, 5, 1e30F, kInfinity, -kInfinity}),
              ElementsAre(-0.125F, -0.25F, -0.25F, 1.125F, 1.25F, 1.25F, 1.25F, -0.25F));
}

TEST(FeatureScaler, TheWholeRangeOfFloatsScalesWithoutInfinities) {
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const bool logarithmic : {false, true}) {
    const FeatureScaler scaler(std::vector<float>{-kMost, kInfinity}, 1, logarithmic);
    EXPECT_THAT(applied(scaler, {-kMost, kMost, 0}), ElementsAre(0, 1, FloatEq(0.5F)));
  }
}

TEST(FeatureScaler, NoRowsScaleEverythingToZero) {
  const FeatureScaler scaler({}, 3, true);
  EXPECT_EQ(scaler.width(), 3U);
  EXPECT_THAT(applied(scaler, {1, 2, 3}), Each(0));
}

TEST(FeatureScaler, WithoutColumnsThereIsNothingToDo) {
  const FeatureScaler scaler({}, 0, false);
  EXPECT_TRUE(applied(scaler, {}).empty());
  const FeatureSchema none = schema_of(0);
  EXPECT_EQ(FeatureScaler::from_csv(scaler.to_csv(none), "scaler.csv", none).width(), 0U);
}

TEST(FeatureScaler, ItsFileHoldsEveryNumberExactly) {
  std::mt19937_64 random(5);
  for (const bool logarithmic : {false, true}) {
    std::vector<float> rows(40 * 50);
    for (float& value : rows) {  // random finite bits
      do {
        const auto bits = static_cast<std::uint32_t>(random());
        value = std::bit_cast<float>(bits);
      } while (!std::isfinite(value));
    }
    const FeatureScaler scaler(rows, 50, logarithmic);
    const FeatureSchema schema = schema_of(50);
    const std::string text = scaler.to_csv(schema);
    const FeatureScaler back = FeatureScaler::from_csv(text, "scaler.csv", schema);
    EXPECT_EQ(back.to_csv(schema), text);
    EXPECT_EQ(applied(back, rows), applied(scaler, rows));
  }
}

// The message of from_csv for a text and a schema of two columns.
std::string message(const std::string& text) {
  return support::error_of(
      [&] { return FeatureScaler::from_csv(text, "scaler.csv", schema_of(2)); }, "read");
}

TEST(FeatureScaler, AFileThatDoesNotFitIsRefusedWithFileLineAndReason) {
  const std::string head = "column,low,high,scale\n";
  const std::string first = "c.0,0,1,linear\n";
  EXPECT_EQ(message(head + first + "c.1,-1e-3,2.5,linear\n"), "read");
  EXPECT_THAT(message(""), HasSubstr("scaler.csv"));
  EXPECT_THAT(message("column,low,high\nc.0,0,1\nc.1,0,1\n"),
              HasSubstr("scaler.csv:1: got columns 'column,low,high'"));
  EXPECT_THAT(message(head + first), HasSubstr("got 1 rows, expected 2"));
  EXPECT_THAT(message(head + first + "c.1,0,1,linear\nc.2,0,1,linear\n"),
              HasSubstr("got 3 rows, expected 2"));
  EXPECT_THAT(message(head + first + "c.9,0,1,linear\n"),
              HasSubstr("scaler.csv:3: column 'column': got 'c.9', expected 'c.1'"));
  EXPECT_THAT(message(head + first + "c.1,0,1,log 2\n"), HasSubstr("expected linear or log"));
  EXPECT_THAT(message(head + first + "c.1,0,1,cubic\n"), HasSubstr("expected linear or log"));
  EXPECT_THAT(message(head + first + "c.1,2,1,linear\n"), HasSubstr("got 1 below low, 2"));
  EXPECT_THAT(message(head + first + "c.1,0\n"), HasSubstr("scaler.csv:3"));
  for (const std::string bad : {"nan", "inf", "-inf", "1e99", "", "0x1p3", "1 2", "1;"}) {
    EXPECT_THAT(message(head + first + "c.1," + bad + ",1,linear\n"),
                HasSubstr("scaler.csv:3: column 'low': got '" + bad + "', expected a finite"));
  }
}

TEST(FeatureScaler, NoCutOrChangedByteOfAFileBreaksTheReader) {
  const std::string text =
      FeatureScaler(std::vector<float>{1, 2, 3, 4.5F}, 2, true).to_csv(schema_of(2));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(message(text.substr(0, i)).empty()) << i;
    for (const char c : {'\0', '"', ',', '\n', '9', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      EXPECT_FALSE(message(changed).empty()) << i;
    }
  }
}

}  // namespace
}  // namespace tilecast::learned
