// Features are scaled to [0, 1] on the training set, and the scaler survives saving.
#include "learned/feature_scaler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "learned/feature_schema.h"
#include "learned/parameter_table.h"
#include "learned/ubjson.h"
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

// --- A schema's hash distinguishes everything that a model must not mix up.

FeatureSchema two_columns() {
  return {.name = "test.table",
          .version = 1,
          .columns = {{"a.x", "B", "Bytes.", FeatureGroup::kStatic},
                      {"a.y", "s", "Seconds.", FeatureGroup::kTile}}};
}

TEST(FeatureSchema, GroupsReadBackAsTheirNames) {
  for (int i = 0; i <= static_cast<int>(FeatureGroup::kNode); ++i) {
    const auto group = static_cast<FeatureGroup>(i);
    EXPECT_EQ(parse_feature_group(name(group)), group) << name(group);
  }
  EXPECT_EQ(parse_feature_group("statics"), std::nullopt);
  EXPECT_EQ(parse_feature_group(""), std::nullopt);
}

TEST(FeatureSchema, EqualSchemasHaveEqualHashes) {
  EXPECT_EQ(two_columns().hash(), two_columns().hash());
  EXPECT_EQ(two_columns().hash().size(), 16U);
}

TEST(FeatureSchema, TheHashChangesWithNameVersionAndEveryColumn) {
  const std::string hash = two_columns().hash();
  FeatureSchema schema = two_columns();
  schema.name = "other.table";
  EXPECT_NE(schema.hash(), hash);
  schema = two_columns();
  schema.version = 2;
  EXPECT_NE(schema.hash(), hash);
  for (std::size_t i = 0; i < 2; ++i) {
    schema = two_columns();
    schema.columns[i].name += "z";
    EXPECT_NE(schema.hash(), hash) << i;
    schema = two_columns();
    schema.columns[i].unit = "1";
    EXPECT_NE(schema.hash(), hash) << i;
  }
  schema = two_columns();
  std::swap(schema.columns[0], schema.columns[1]);
  EXPECT_NE(schema.hash(), hash);
  schema = two_columns();
  schema.columns.pop_back();
  EXPECT_NE(schema.hash(), hash);
}

TEST(FeatureSchema, TextThatMovesFromOneFieldToTheNextChangesTheHash) {
  FeatureSchema schema = two_columns();
  schema.columns[0].name = "a.xB";
  schema.columns[0].unit = "";
  EXPECT_NE(schema.hash(), two_columns().hash());
}

TEST(FeatureSchema, WordsAboutAColumnMayBeImprovedWithoutANewHash) {
  FeatureSchema schema = two_columns();
  schema.columns[0].doc = "Bytes, in other words.";
  EXPECT_EQ(schema.hash(), two_columns().hash());
}

// --- Settings are read as declared: ranges, choices, and names that are nearly right.

enum class Shape { kRound, kSquare, kFlat };
constexpr std::string_view kShapes[] = {"round", "square", "flat"};

struct Spec {
  int count = 3;
  double rate = 0.1;
  Shape shape = Shape::kSquare;
  bool fast = false;
};

ParameterTable<Spec> spec_table() {
  ParameterTable<Spec> table;
  table.number("count", &Spec::count, 1, 1'000'000, "how many");
  table.number("rate", &Spec::rate, 1e-6, 1, "how much");
  table.choice("shape", &Spec::shape, kShapes, "of what form");
  table.flag("fast", &Spec::fast, "or slow");
  return table;
}

std::string refusal(std::string_view name, std::string_view value) {
  Spec spec;
  return support::error_of([&] { spec_table().set(spec, name, value); }, "accepted");
}

TEST(ParameterTable, SetsEveryKindFromText) {
  Spec spec;
  const ParameterTable<Spec> table = spec_table();
  table.set(spec, "count", "1000000");
  table.set(spec, "rate", "1e-6");
  table.set(spec, "shape", "flat");
  table.set(spec, "fast", "yes");
  EXPECT_EQ(spec.count, 1'000'000);
  EXPECT_EQ(spec.rate, 1e-6);
  EXPECT_EQ(spec.shape, Shape::kFlat);
  EXPECT_TRUE(spec.fast);
  table.set(spec, "fast", "false");
  EXPECT_FALSE(spec.fast);
}

TEST(ParameterTable, TextReadsBackEqual) {
  const ParameterTable<Spec> table = spec_table();
  const Spec spec{.count = 123'456, .rate = 1.0 / 3, .shape = Shape::kRound, .fast = true};
  Spec again;
  for (const Parameter<Spec>& parameter : table.parameters()) {
    parameter.set(again, parameter.get(spec));
  }
  EXPECT_EQ(again.count, spec.count);
  EXPECT_EQ(again.rate, spec.rate);
  EXPECT_EQ(again.shape, spec.shape);
  EXPECT_EQ(again.fast, spec.fast);
  EXPECT_EQ(parameter_text(0.1), "0.1");
  EXPECT_EQ(parameter_text(600), "600");
}

TEST(ParameterTable, RefusesValuesOutsideTheRange) {
  for (const char* value :
       {"0", "1000001", "-1", "2.5", "x", "", "3 ", " 3", "0x10", "nan", "inf", "1e999", "+3"}) {
    EXPECT_EQ(refusal("count", value),
              std::string("got '") + value + "', expected whole number from 1 to 1000000");
  }
  for (const char* value : {"0", "1.001", "-0.5", "nan", "inf", "a", "0.1s"}) {
    EXPECT_EQ(refusal("rate", value),
              std::string("got '") + value + "', expected number from 1e-06 to 1");
  }
  EXPECT_EQ(refusal("shape", "oval"), "got 'oval', expected round, square or flat");
  EXPECT_EQ(refusal("shape", "sqare"),
            "got 'sqare', expected round, square or flat; did you mean 'square'?");
  EXPECT_EQ(refusal("shape", "true"), "got 'true', expected round, square or flat");
  EXPECT_EQ(refusal("fast", "maybe"), "got 'maybe', expected yes or no");
}

TEST(ParameterTable, NamesTheNearestParameter) {
  EXPECT_EQ(refusal("cuont", "3"), "unknown parameter 'cuont'; did you mean 'count'?");
  EXPECT_EQ(refusal("temperature", "3"),
            "unknown parameter 'temperature'; known: count, rate, shape, fast");
}

TEST(ParameterTable, FindsParametersByName) {
  const ParameterTable<Spec> table = spec_table();
  ASSERT_NE(table.find("rate"), nullptr);
  EXPECT_EQ(table.find("rate")->doc, "how much");
  EXPECT_EQ(table.find("Rate"), nullptr);
}

// --- Universal Binary JSON is read as by the usual library.

using Json = nlohmann::json;

Json json_of(const UbjValue& value) {
  if (value.type == 'S') return value.bytes;
  if (value.type == '[' && value.packed != 0) return value.numbers();
  if (value.type != '[' && value.type != '{') return value.number();
  Json result = value.type == '[' ? Json::array() : Json::object();
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    Json item = json_of(value.items[i]);
    if (value.type == '[') {
      result.push_back(std::move(item));
    } else {
      result[value.keys[i]] = std::move(item);
    }
  }
  return result;
}

Json random_document(std::mt19937_64& random, int depth) {
  const auto number = [&]() -> Json {
    const auto any = static_cast<std::int64_t>(random());
    switch (random() % 3) {
      case 0:
        return any >> (random() % 63);  // of any width
      case 1:
        return static_cast<double>(static_cast<float>(any) / 7);
      default:
        return static_cast<double>(any) / 7;
    }
  };
  const std::uint64_t size = random() % 5;
  Json value;
  switch (depth == 0 ? random() % 2 : random() % 5) {
    case 0:
      return number();
    case 1:
      return std::string(size * 60, 'N');
    case 2:
      value = Json::array();
      for (std::uint64_t i = 0; i < size; ++i) value.push_back(number());
      return value;
    case 3:
      value = Json::array();
      for (std::uint64_t i = 0; i < size; ++i) value.push_back(random_document(random, depth - 1));
      return value;
    default:
      value = Json::object();
      for (std::uint64_t i = 0; i < size; ++i) {
        value["key " + std::to_string(i)] = random_document(random, depth - 1);
      }
      return value;
  }
}

std::string written(const Json& document, bool sizes, bool types) {
  std::string bytes;
  Json::to_ubjson(document, bytes, sizes, types);
  return bytes;
}

TEST(Ubjson, ReadsWhatTheLibraryWrites) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    const Json document = random_document(random, 4);
    for (const auto& [sizes, types] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
      EXPECT_EQ(json_of(parse_ubjson(written(document, sizes, types))), document) << document;
    }
  }
}

// The types that the library only writes for values that need them, at their limits.
TEST(Ubjson, ReadsNumbersOfEveryType) {
  using namespace std::string_literals;
  const auto numbers = [](const std::string& bytes) { return parse_ubjson(bytes).numbers(); };
  EXPECT_THAT(numbers("[$i#i\x02\x80\x7f"), ElementsAre(-128, 127));
  EXPECT_THAT(numbers("[$U#U\x02\x00\xff"s), ElementsAre(0, 255));
  EXPECT_THAT(numbers("[$I#I\x00\x02\x80\x00\x7f\xff"s), ElementsAre(-32768, 32767));
  EXPECT_THAT(numbers("[$l#l\x00\x00\x00\x01\x80\x00\x00\x00"s), ElementsAre(-2147483648.0));
  EXPECT_THAT(numbers("[$d#i\x01\x3f\xc0\x00\x00"s), ElementsAre(1.5));
  EXPECT_THAT(numbers("[$L#i\x01\xff\xff\xff\xff\xff\xff\xff\xfe"s), ElementsAre(-2));
  EXPECT_THAT(numbers("[$D#i\x01\xbf\xf8\x00\x00\x00\x00\x00\x00"s), ElementsAre(-1.5));
  EXPECT_THAT(numbers("[Ni\x01NU\x02N]"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("[]"), ElementsAre());
}

TEST(Ubjson, RefusesWhatIsNoModelsValue) {
  const auto refusal = [](const std::string& bytes) -> std::string {
    return support::error_of([&] { return parse_ubjson(bytes); }, "accepted");
  };
  EXPECT_THAT(refusal(""), HasSubstr("parse error at byte 0: got 0 bytes, expected 1"));
  EXPECT_THAT(refusal("T"), HasSubstr("got 0x54, expected a number"));
  EXPECT_THAT(refusal("[Z]"), HasSubstr("parse error at byte 1: got 0x5a"));
  EXPECT_THAT(refusal("[$N#i\x7f"), HasSubstr("elements that take bytes"));
  EXPECT_THAT(refusal("[$d]"), HasSubstr("expected a count"));
  EXPECT_THAT(refusal("Si\xff"), HasSubstr("got the size -1"));
  EXPECT_THAT(refusal("Si\x02x"), HasSubstr("at most the 1 bytes left"));
  EXPECT_THAT(refusal("[$D#i\x02" + std::string(15, 'x')), HasSubstr("got 15 bytes, expected 16"));
  EXPECT_THAT(refusal("Sd"), HasSubstr("whole number for a size"));
  EXPECT_THAT(refusal("i\x01i"), HasSubstr("expected end of input"));
}
}  // namespace
}  // namespace tilecast::learned
