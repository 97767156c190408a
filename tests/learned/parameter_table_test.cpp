// Settings are read as declared: ranges, choices, and names that are nearly right.
#include "learned/parameter_table.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace tilecast::learned
