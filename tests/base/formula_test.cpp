#include "base/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tilecast::base {
namespace {

double value_of(const std::string& text) {
  return Formula::parse(text).value([](std::string_view name) {
    return name == "hbm.bandwidth" ? 9e11 : static_cast<double>(name.size());
  });
}

// Offset of the error, or npos if there is none.
std::size_t fault_at(const std::string& text) {
  try {
    (void)Formula::parse(text);
  } catch (const FormulaError& error) {
    return error.offset;
  }
  return std::string::npos;
}

TEST(Formula, BindsAsMathematicsDoes) {
  EXPECT_EQ(value_of("2 + 3 * 4"), 14);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(value_of("-2^2"), -4);
  EXPECT_EQ(value_of("2^-1"), 0.5);
  EXPECT_EQ(value_of("2^3^2"), 512);
  EXPECT_EQ(value_of("10 - 4 - 3"), 3);
  EXPECT_EQ(value_of("24 / 4 / 3"), 2);
  EXPECT_EQ(value_of("1 + 1 <= 2 and not 3 < 2 or 0"), 1);
}

TEST(Formula, KnowsItsFunctionsAndNames) {
  EXPECT_EQ(value_of("min(3, 1, 2) + max(1, 5)"), 6);
  EXPECT_EQ(value_of("if(1 < 2, sqrt(16), log(0))"), 4);
  EXPECT_EQ(value_of("hbm.bandwidth / 1e9"), 900);
  EXPECT_EQ(value_of("log2(8) + floor(1.5) + ceil(1.5) + round(2.4) + abs(-1)"), 9);
  EXPECT_EQ(Formula::parse("a + b * a").names(), (std::vector<std::string>{"a", "b"}));
}

TEST(Formula, SaysWhereItIsWrong) {
  EXPECT_EQ(fault_at("1 + "), 4U);
  EXPECT_EQ(fault_at("1 + * 2"), 4U);
  EXPECT_EQ(fault_at("(1 + 2"), 6U);
  EXPECT_EQ(fault_at("1 2"), 2U);
  EXPECT_EQ(fault_at("2 * sqrtt(4)"), 4U);
  EXPECT_EQ(fault_at("min(1)"), 0U);
  EXPECT_EQ(fault_at("1 < 2 < 3"), 6U);
  EXPECT_NE(fault_at(std::string(1000, '(')), std::string::npos);
  EXPECT_NE(fault_at(std::string(100000, '-') + "x" + std::string(5000, '^')), std::string::npos);
}

// A random sum of products and its value.
TEST(Formula, AgreesWithTheSameArithmeticInCpp) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string text = "0";
    double sum = 0;
    for (int terms = 1 + static_cast<int>(random() % 5); terms > 0; --terms) {
      const double a = static_cast<double>(random() % 1000) / 8;
      const double b = static_cast<double>(1 + random() % 1000) / 4;
      const bool plus = random() % 2 == 0, times = random() % 2 == 0;
      const double product = times ? a * b : a / b;
      sum = plus ? sum + product : sum - product;
      text += (plus ? "+" : "-") + std::to_string(a) + (times ? "*" : "/") + std::to_string(b);
    }
    EXPECT_EQ(value_of(text), sum) << text;
  }
}

TEST(Formula, SlackIsNegativeExactlyWhereTheConditionDoesNotHold) {
  const auto slack_of = [](const std::string& text) {
    return Formula::parse(text).slack([](std::string_view) { return 300.0; });
  };
  EXPECT_EQ(slack_of("area <= 400"), (400.0 - 300) / 400);
  EXPECT_EQ(slack_of("area < 200 and 1 < 2"), (200.0 - 300) / 300);
  EXPECT_EQ(slack_of("area < 200 or area >= 150"), (300.0 - 150) / 300);
  EXPECT_EQ(slack_of("not area < 200"), (300.0 - 200) / 300);
  EXPECT_EQ(slack_of("area == 300"), 0);
  EXPECT_EQ(slack_of("area"), 1);
  std::mt19937_64 random(3);
  const auto comparison = [&] {
    constexpr std::string_view kSymbols[] = {" < ", " <= ", " > ", " >= "};
    return std::to_string(random() % 1000) + ".5" + std::string(kSymbols[random() % 4]) +
           std::to_string(random() % 1000);
  };
  for (int i = 0; i < 1000; ++i) {
    std::string text = comparison();
    for (std::size_t more = random() % 4; more > 0; --more) {
      text = (random() % 4 == 0 ? "not (" : "(") + text + ")" +
             (random() % 2 == 0 ? " and " : " or ") + comparison();
    }
    EXPECT_EQ(slack_of(text) > 0, value_of(text) != 0) << text;
  }
}

TEST(Formula, SurvivesRandomText) {
  std::mt19937_64 random(2);
  constexpr std::string_view kLetters = "0123456789.eab+-*/^()<=>!, minxand";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::size_t size = random() % 20; size > 0; --size) {
      text += kLetters[random() % kLetters.size()];
    }
    try {
      const Formula formula = Formula::parse(text);
      (void)formula.value([](std::string_view) { return 1.0; });
    } catch (const FormulaError& error) {
      EXPECT_LE(error.offset, text.size());
    }
  }
}

}  // namespace
}  // namespace tilecast::base
