#include "tests/interpreter/evaluate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <sstream>

#include "base/error.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::interpreter {

using namespace ir;  // NOLINT(google-build-using-namespace): it is all about ops and shapes
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// The kernel of `body`: the lines of a fused computation with parameters p0, p1 ... of the given
// types and the reducers sum, product, top, both and difference.
Kernel kernel_of(const std::vector<std::string>& parameters, const std::string& body) {
  std::string inner, outer, names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string n = std::to_string(i);
    const std::string declared = " = " + parameters[i] + " parameter(" + n + ")\n";
    inner += "  p" + n + declared;
    outer += "  a" + n + declared;
    names += (i > 0 ? ", a" : "a") + n;
  }
  const std::size_t root = body.rfind("ROOT ");
  const std::size_t type = body.find("= ", root) + 2;
  const std::string result = body.substr(type, body.find(' ', type) - type);
  const std::string text = R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
product { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] multiply(a, b) }
top { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
both { a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] and(a, b) }
difference { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] subtract(a, b) }
body {
)" + inner + body + "\n}\nENTRY main {\n" +
                           outer + "  ROOT f = " + result + " fusion(" + names +
                           "), kind=kLoop, calls=body }";
  const Module module = parse_hlo(base::SourceText("test.hlo", text));
  WorkCounter counter(module);
  return make_kernel(module, module.entry, module.entry_computation().root, counter);
}

Elements run(const std::vector<std::string>& parameters, const std::string& body,
             const std::vector<Elements>& inputs) {
  return evaluate(kernel_of(parameters, body), inputs).at(0);
}

Elements counting(std::size_t count, double first = 0) {
  Elements values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// "1 -0x1p31 nan" as numbers.
Elements numbers(const std::string& text) {
  Elements values;
  std::istringstream words(text);
  for (std::string word; words >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

// One op, the type of its operands (and of its result, if it is another), its operands' elements
// and those of its result.
struct ScalarCase {
  std::string op, type, operands, expected;  // op: opcode and attributes
};

const ScalarCase kIntegerOps[] = {
    {"add", "s8", "127 -128 5 | 1 -1 6", "-128 127 11"},
    {"add", "u64", "0x1p63 1 | 0x1p63 2", "0 3"},
    {"subtract", "u8", "3 0 | 5 1", "254 255"},
    {"multiply", "s32", "65536 46341 | 65536 46341", "0 -2147479015"},
    {"divide", "s32", "7 -7 7 | 2 2 -2", "3 -3 -3"},
    {"divide", "s32", "7 0 | 0 0", "-1 -1"},
    {"divide", "u16", "7 | 0", "65535"},
    {"divide", "s32", "-0x1p31 | -1", "-0x1p31"},
    {"remainder", "s32", "7 -7 7 | 3 3 -3", "1 -1 1"},  // the sign of the dividend
    {"remainder", "s32", "7 -7 | 0 0", "7 -7"},
    {"remainder", "s32", "-0x1p31 | -1", "0"},
    {"shift-left", "s8", "1 64 -1 1 1 | 3 1 7 8 -1", "8 -128 -128 0 0"},
    {"shift-right-logical", "s8", "-1 -1 -1 | 1 7 8", "127 1 0"},
    {"shift-right-arithmetic", "s8", "-128 -128 64 -1 | 1 100 100 -1", "-64 -1 0 -1"},
    {"and", "u8", "12 | 10", "8"},
    {"or", "u8", "12 | 10", "14"},
    {"xor", "s8", "12 -1 | 10 1", "6 -2"},
    {"not", "s8", "0 5", "-1 -6"},
    {"not", "pred", "0 1", "1 0"},
    {"popcnt", "s8", "-1 5 0", "8 2 0"},
    {"count-leading-zeros", "s16", "0 1 -1", "16 15 0"},
    {"abs", "s8", "-128 -3", "-128 3"},
    {"negate", "s8", "-128 3", "-128 -3"},
    {"sign", "s32", "-9 0 4", "-1 0 1"},
    {"power", "s32", "3 2 -1 2 5 | 4 31 -3 -1 0", "81 -0x1p31 -1 0 1"},
};

const ScalarCase kFloatOps[] = {
    {"add", "f32", "1 1 | 0x1p-24 0x1p-23", "1 0x1.000002p0"},  // rounds to even
    {"add", "bf16", "1 1 | 0x1p-8 0x1p-7", "1 0x1.02p0"},
    {"multiply", "f16", "256 255 | 256 256", "inf 65280"},
    {"maximum", "f32", "nan 1 1 inf | 1 nan 2 3", "nan nan 2 inf"},
    {"minimum", "f32", "nan 1 1 | 1 nan 2", "nan nan 1"},
    {"remainder", "f32", "5.5 -5.5 | 2 2", "1.5 -1.5"},
    {"sign", "f32", "-2.5 -0.0 0 7 nan", "-1 -0.0 0 1 nan"},
    {"floor", "f32", "-1.5 1.5", "-2 1"},
    {"ceil", "f32", "-1.5 1.5", "-1 2"},
    {"round-nearest-even", "f32", "0.5 1.5 2.5 -2.5", "0 2 2 -2"},
    {"round-nearest-afz", "f32", "0.5 1.5 2.5 -2.5", "1 2 3 -3"},
    {"is-finite", "f32 -> pred", "1 inf nan", "1 0 0"},
    {"atan2", "f64", "1 -2 | 3 -4", "0.3217505543966422 -2.677945044588987"},
    {"power", "f64", "2 9 | 0.5 -0.5", "1.4142135623730951 0.3333333333333333"},
    {"clamp", "f32", "0 0 0 0 | -1 0.5 3 nan | 1 1 1 1", "0 0.5 1 nan"},
};

const ScalarCase kConversions[] = {
    {"convert", "f32 -> s32", "1.9 -1.9", "1 -1"},
    {"convert", "f32 -> s32", "1e20 -inf nan", "0x7fffffff -0x1p31 0"},
    {"convert", "f32 -> u8", "-3 300 7.5", "0 255 7"},
    {"convert", "f32 -> pred", "0 -0.0 0.25 nan", "0 0 1 1"},
    {"convert", "f32 -> bf16", "0x1.008p0 0x1.03p0", "1 0x1.04p0"},
    {"convert", "s32 -> u8", "-1 256 511", "255 0 255"},
    {"bitcast-convert", "f32 -> s32", "1 -0.0", "0x3f800000 -0x1p31"},
    {"bitcast-convert", "s32 -> f32", "0x3f800000 -0x1p31", "1 -0.0"},
    {"bitcast-convert", "bf16 -> u16", "1", "0x3f80"},
};

const ScalarCase kComparisons[] = {
    {"compare, direction=EQ", "f32 -> pred", "1 1 nan | 1 2 nan", "1 0 0"},
    {"compare, direction=NE", "f32 -> pred", "1 1 nan | 1 2 nan", "0 1 1"},
    {"compare, direction=LT", "s32 -> pred", "-1 2 3 | 1 2 1", "1 0 0"},
    {"compare, direction=LE", "s32 -> pred", "-1 2 3 | 1 2 1", "1 1 0"},
    {"compare, direction=GT", "u32 -> pred", "4294967295 2 | 1 2", "1 0"},
    {"compare, direction=GE", "u32 -> pred", "0 2 | 1 2", "0 1"},
    {"compare, direction=LT, type=TOTALORDER", "f32 -> pred", "-0.0 inf nan 0 | 0 nan inf -0.0",
     "1 1 0 0"},
};

void expect_results(std::span<const ScalarCase> cases) {
  for (const ScalarCase& test : cases) {
    SCOPED_TRACE(test.op + " of " + test.type + ": " + test.operands);
    const Elements expected = numbers(test.expected);
    const std::string size = "[" + std::to_string(expected.size()) + "]";
    std::vector<Elements> inputs;
    std::string names;
    std::istringstream operands(test.operands);
    for (std::string operand; std::getline(operands, operand, '|');) {
      names += (inputs.empty() ? "p" : ", p") + std::to_string(inputs.size());
      inputs.push_back(numbers(operand));
    }
    const std::string type = test.type.substr(0, test.type.find(' '));
    const std::string result = test.type.substr(test.type.rfind(' ') + 1);
    const std::size_t name_end = std::min(test.op.find(','), test.op.size());
    const std::string call =
        test.op.substr(0, name_end) + "(" + names + ")" + test.op.substr(name_end);
    const Elements got = run(std::vector<std::string>(inputs.size(), type + size),
                             "ROOT r = " + result + size + " " + call, inputs);
    EXPECT_THAT(got, Pointwise(NanSensitiveDoubleEq(), expected));
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << "element " << i;
    }
  }
}

TEST(ScalarOps, FollowXlasSemantics) {
  expect_results(kIntegerOps);
  expect_results(kFloatOps);
  expect_results(kConversions);
  expect_results(kComparisons);
}

TEST(Transcendental, IsTheFunctionOfItsName) {
  const std::pair<std::string, double (*)(double)> functions[] = {
      {"exponential", std::exp},
      {"log", std::log},
      {"exponential-minus-one", std::expm1},
      {"log-plus-one", std::log1p},
      {"sqrt", std::sqrt},
      {"cbrt", std::cbrt},
      {"tanh", std::tanh},
      {"sine", std::sin},
      {"cosine", std::cos},
      {"tan", std::tan},
      {"erf", std::erf},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"asinh", std::asinh},
      {"atanh", std::atanh},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }}};
  const Elements x = {0.25, 0.5, 0.75};
  for (const auto& [opcode, function] : functions) {
    Elements expected;
    for (const double value : x) expected.push_back(function(value));
    EXPECT_THAT(run({"f64[3]"}, "ROOT r = f64[3] " + opcode + "(p0)", {x}),
                Pointwise(DoubleEq(), expected))
        << opcode;
  }
}

TEST(Evaluate, SelectPicksByElementOrByAScalar) {
  const std::vector<Elements> values = {{1, 0, 1}, {1, 2, 3}, {10, 20, 30}};
  EXPECT_THAT(run({"pred[3]", "f32[3]", "f32[3]"}, "ROOT r = f32[3] select(p0, p1, p2)", values),
              ElementsAre(1, 20, 3));
  EXPECT_THAT(run({"pred[]", "f32[3]", "f32[3]"}, "ROOT r = f32[3] select(p0, p1, p2)",
                  {{0}, values[1], values[2]}),
              ElementsAre(10, 20, 30));
}

TEST(Evaluate, ClampTakesScalarBounds) {
  const Shape scalar = Shape::array(DType::kF32, {}), row = Shape::array(DType::kF32, {3});
  KernelBuilder builder("clamp", Opcode::kClamp);
  const OpId low = builder.parameter(scalar), x = builder.parameter(row);
  const OpId high = builder.parameter(scalar);
  const Kernel kernel = builder.build(
      {builder.add({.opcode = Opcode::kClamp, .shape = row, .operands = {low, x, high}})});
  EXPECT_THAT(evaluate(kernel, std::vector<Elements>{{0}, {-1, 0.5, 2}, {1}}).at(0),
              ElementsAre(0, 0.5, 1));
}

TEST(Evaluate, EveryResultIsRoundedToItsType) {
  // 1 + 2^-9 is rounded to 1 in bf16, so the difference is 0; in f32 it is not.
  for (const auto& [type, expected] : {std::pair{"bf16", 0.0}, std::pair{"f32", 0x1p-9}}) {
    const std::string array = std::string(type) + "[1]";
    EXPECT_THAT(run({array, array},
                    "s = " + array + " add(p0, p1)\n ROOT r = " + array + " subtract(s, p0)",
                    {{1}, {0x1p-9}}),
                ElementsAre(expected));
  }
}

TEST(Evaluate, ConstantsOfEveryForm) {
  EXPECT_THAT(run({}, "ROOT r = f32[2,2] constant({ { 1.5, -inf }, { nan, 0 } })", {}),
              Pointwise(NanSensitiveDoubleEq(), Elements{1.5, -kInf, kNan, 0}));
  EXPECT_THAT(run({}, "ROOT r = pred[3] constant({true, false, 1})", {}), ElementsAre(1, 0, 1));
  EXPECT_THAT(run({}, "ROOT r = s8[2] constant({-128, 127})", {}), ElementsAre(-128, 127));
  EXPECT_THAT(run({}, "ROOT r = u64[1] constant({7})", {}), ElementsAre(7));
  EXPECT_THAT(run({}, "ROOT r = f32[1,2,1,2] constant({ { { {1,2} }, { {3,4} } } })", {}),
              ElementsAre(1, 2, 3, 4));
}

TEST(Evaluate, BroadcastRepeatsAlongNewDimensions) {
  const Elements x = {1, 2, 3};
  EXPECT_THAT(run({"f32[3]"}, "ROOT r = f32[3,2] broadcast(p0), dimensions={0}", {x}),
              ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(run({"f32[3]"}, "ROOT r = f32[2,3] broadcast(p0), dimensions={1}", {x}),
              ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(run({"f32[]"}, "ROOT r = f32[2,2] broadcast(p0), dimensions={}", {{7}}), Each(7));
}

TEST(Evaluate, IotaCountsAlongItsDimension) {
  EXPECT_THAT(run({}, "ROOT r = s32[2,3] iota(), iota_dimension=0", {}),
              ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(run({}, "ROOT r = f32[2,3] iota(), iota_dimension=1", {}),
              ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Evaluate, ReshapeAndCopyKeepTheOrderOfElements) {
  const Elements x = counting(12);
  EXPECT_EQ(run({"f32[3,4]"}, "ROOT r = f32[2,6] reshape(p0)", {x}), x);
  EXPECT_EQ(run({"f32[3,4]{1,0}"}, "ROOT r = f32[3,4]{0,1} copy(p0)", {x}), x);
}

TEST(Evaluate, BitcastKeepsTheBuffer) {
  // The buffer of f32[2,3]{0,1} contains columns in sequence: the rows of f32[3,2]{1,0}.
  EXPECT_EQ(run({"f32[2,3]{0,1}"}, "ROOT r = f32[3,2]{1,0} bitcast(p0)", {{1, 2, 3, 4, 5, 6}}),
            (Elements{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run({"f32[2,3]{1,0}"}, "ROOT r = f32[6]{0} bitcast(p0)", {{1, 2, 3, 4, 5, 6}}),
            counting(6, 1));
}

TEST(Evaluate, TransposePermutesDimensions) {
  const Elements x = counting(2 * 3 * 4);
  const Elements moved =
      run({"f32[2,3,4]"}, "ROOT r = f32[4,2,3] transpose(p0), dimensions={2,0,1}", {x});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(moved[(k * 2 + i) * 3 + j], x[(i * 3 + j) * 4 + k]);
      }
    }
  }
  const std::string twice =
      "t = f32[4,2,3] transpose(p0), dimensions={2,0,1}\n"
      " ROOT r = f32[2,3,4] transpose(t), dimensions={1,2,0}";
  EXPECT_EQ(run({"f32[2,3,4]"}, twice, {x}), x);
}

TEST(Evaluate, SliceTakesEveryStride) {
  const Elements x = counting(5 * 7);
  const Elements part =
      run({"f32[5,7]"}, "ROOT r = f32[2,3] slice(p0), slice={[1:5:3], [2:7:2]}", {x});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(part[i * 3 + j], x[(1 + 3 * i) * 7 + 2 + 2 * j]);
  }
}

TEST(Evaluate, ReverseTwiceIsTheIdentity) {
  const Elements x = counting(6);
  EXPECT_THAT(run({"f32[2,3]"}, "ROOT r = f32[2,3] reverse(p0), dimensions={1}", {x}),
              ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_EQ(run({"f32[2,3]"},
                "a = f32[2,3] reverse(p0), dimensions={0,1}\n"
                " ROOT r = f32[2,3] reverse(a), dimensions={1,0}",
                {x}),
            x);
}

TEST(Evaluate, PadPutsElementsApartAndCutsThemOff) {
  const Elements x = {1, 2, 3};
  const auto padded = [&](const std::string& size, const std::string& padding) {
    return run({"f32[3]", "f32[]"}, "ROOT r = f32[" + size + "] pad(p0, p1), padding=" + padding,
               {x, {9}});
  };
  EXPECT_THAT(padded("6", "1_2"), ElementsAre(9, 1, 2, 3, 9, 9));
  EXPECT_THAT(padded("8", "1_0_2"), ElementsAre(9, 1, 9, 9, 2, 9, 9, 3));
  EXPECT_THAT(padded("1", "-1_-1"), ElementsAre(2));
  EXPECT_THAT(padded("3", "-1_1"), ElementsAre(2, 3, 9));
  // 1 9 2 9 3 without its first and last element
  EXPECT_THAT(padded("3", "-1_-1_1"), ElementsAre(9, 2, 9));
  EXPECT_THAT(padded("2", "-4_3"), ElementsAre(9, 9));
}

TEST(Evaluate, SlicingWhatWasPaddedGivesItBack) {
  const Elements x = counting(12, 1);
  EXPECT_EQ(run({"f32[3,4]", "f32[]"},
                "a = f32[8,9] pad(p0, p1), padding=1_2_1x2_3\n"
                " ROOT r = f32[3,4] slice(a), slice={[1:6:2], [2:6]}",
                {x, {-5}}),
            x);
}

TEST(Evaluate, ConcatenateJoinsAlongItsDimension) {
  const Elements x = {1, 2, 3, 4}, y = {5, 6};
  EXPECT_THAT(run({"f32[2,2]", "f32[2,1]"}, "ROOT r = f32[2,3] concatenate(p0, p1), dimensions={1}",
                  {x, y}),
              ElementsAre(1, 2, 5, 3, 4, 6));
  EXPECT_THAT(run({"f32[2,2]", "f32[1,2]"}, "ROOT r = f32[3,2] concatenate(p0, p1), dimensions={0}",
                  {x, y}),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Evaluate, DynamicSliceMovesItsStartInside) {
  const Elements x = counting(10);
  const std::string body = "ROOT r = f32[4] dynamic-slice(p0, p1), dynamic_slice_sizes={4}";
  for (const auto& [wanted, start] : {std::pair{2, 2}, std::pair{-3, 0}, std::pair{9, 10 - 4}}) {
    EXPECT_EQ(run({"f32[10]", "s32[]"}, body, {x, {static_cast<double>(wanted)}}),
              counting(4, start));
  }
}

TEST(Evaluate, DynamicUpdateSliceReplacesABlock) {
  const std::string body = "ROOT r = f32[3,3] dynamic-update-slice(p0, p1, p2, p3)";
  EXPECT_THAT(run({"f32[3,3]", "f32[2,2]", "s32[]", "s32[]"}, body,
                  {Elements(9, 0), {1, 2, 3, 4}, {0}, {7}}),
              ElementsAre(0, 1, 2, 0, 3, 4, 0, 0, 0));
}

TEST(Evaluate, GatherTakesRowsByIndexMovedInside) {
  const Elements table = counting(5 * 3);
  const Elements indices = {4, 0, 99, -7};
  const Elements rows = run({"f32[5,3]", "s32[4]"},
                            "ROOT r = f32[4,3] gather(p0, p1), offset_dims={1}, "
                            "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                            "slice_sizes={1,3}",
                            {table, indices});
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto row = static_cast<std::size_t>(std::clamp(indices[i], 0.0, 4.0));
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(rows[i * 3 + j], table[row * 3 + j]);
  }
}

TEST(Evaluate, GatherTakesWindowsAtIndexVectors) {
  // windows of 2x2 at (row, column), the index vector in dimension 0, offsets around the batch
  const Elements image = counting(4 * 5);
  const Elements rows = {0, 2, 3}, columns = {1, 3, 4};
  Elements indices = rows;
  indices.insert(indices.end(), columns.begin(), columns.end());
  const Elements got = run({"f32[4,5]", "s32[2,3]"},
                           "ROOT r = f32[2,3,2] gather(p0, p1), offset_dims={0,2}, "
                           "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=0, "
                           "slice_sizes={2,2}",
                           {image, indices});
  for (std::size_t i = 0; i < 3; ++i) {
    const auto row = static_cast<std::size_t>(std::min(rows[i], 4.0 - 2));
    const auto column = static_cast<std::size_t>(std::min(columns[i], 5.0 - 2));
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 2; ++x) {
        EXPECT_EQ(got[(y * 3 + i) * 2 + x], image[(row + y) * 5 + column + x]);
      }
    }
  }
}

TEST(Evaluate, GatherWithBatchingDimensionsStaysInItsBatch) {
  const Elements x = counting(2 * 4);
  EXPECT_THAT(run({"f32[2,4]", "s32[2,3,1]"},
                  "ROOT r = f32[2,3] gather(p0, p1), offset_dims={}, collapsed_slice_dims={1}, "
                  "start_index_map={1}, operand_batching_dims={0}, "
                  "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}",
                  {x, {3, 1, 0, 2, 2, 9}}),
              ElementsAre(3, 1, 0, 4 + 2, 4 + 2, 4 + 3));
}

TEST(Evaluate, ReduceCombinesTheDimensionsGivenAndTheInitialValueOnce) {
  const Elements x = counting(2 * 3 * 4, 1);
  Elements sums(3, 100);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / 4 % 3] += x[i];
  EXPECT_EQ(run({"f32[2,3,4]", "f32[]"},
                "ROOT r = f32[3] reduce(p0, p1), dimensions={0,2}, to_apply=sum", {x, {100}}),
            sums);
  EXPECT_THAT(run({"f32[2,3,4]", "f32[]"},
                  "ROOT r = f32[] reduce(p0, p1), dimensions={0,1,2}, to_apply=top", {x, {-kInf}}),
              ElementsAre(24));
  EXPECT_THAT(
      run({"s32[4]", "s32[]"}, "ROOT r = s32[] reduce(p0, p1), dimensions={0}, to_apply=product",
          {{1 << 20, 1 << 12, 3, 5}, {1}}),
      ElementsAre(0));  // 15 * 2^32
  EXPECT_THAT(
      run({"pred[2,2]", "pred[]"}, "ROOT r = pred[2] reduce(p0, p1), dimensions={1}, to_apply=both",
          {{1, 1, 1, 0}, {1}}),
      ElementsAre(1, 0));
}

TEST(Evaluate, SumsAreNotRoundedInBetween) {
  // Summed one by one in f32, 2^24 + 1 + 1 stays 2^24.
  EXPECT_THAT(
      run({"f32[3]", "f32[]"}, "ROOT r = f32[] reduce(p0, p1), dimensions={0}, to_apply=sum",
          {{0x1p24, 1, 1}, {0}}),
      ElementsAre(0x1p24 + 2));
}

TEST(Evaluate, ReduceWindowIsAReductionOfEveryWindow) {
  const Elements x = counting(6, 1);
  const auto windows = [&](const std::string& size, const std::string& window) {
    return run(
        {"f32[6]", "f32[]"},
        "ROOT r = f32[" + size + "] reduce-window(p0, p1), window={" + window + "}, to_apply=sum",
        {x, {0}});
  };
  EXPECT_THAT(windows("3", "size=2 stride=2"), ElementsAre(1 + 2, 3 + 4, 5 + 6));
  EXPECT_THAT(windows("6", "size=3 pad=1_1"),
              ElementsAre(1 + 2, 1 + 2 + 3, 2 + 3 + 4, 3 + 4 + 5, 4 + 5 + 6, 5 + 6));
  EXPECT_THAT(windows("4", "size=2 rhs_dilate=2"), ElementsAre(1 + 3, 2 + 4, 3 + 5, 4 + 6));
  EXPECT_THAT(windows("11", "size=1 lhs_dilate=2"), ElementsAre(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6));
  EXPECT_THAT(windows("1", "size=6"), ElementsAre(1 + 2 + 3 + 4 + 5 + 6));
}

TEST(Evaluate, ReduceWindowOfSeveralDimensions) {
  EXPECT_THAT(run({"f32[3,3]", "f32[]"},
                  "ROOT r = f32[2,2] reduce-window(p0, p1), window={size=2x2}, to_apply=top",
                  {{1, 9, 2, 3, 4, 8, 7, 5, 6}, {-kInf}}),
              ElementsAre(9, 9, 7, 8));
}

TEST(Evaluate, DotIsTheSumOverTheContractedDimension) {
  const Elements a = counting(2 * 3, 1), b = counting(3 * 4, -5);
  Elements expected(2 * 4, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t k = 0; k < 3; ++k) expected[i * 4 + j] += a[i * 3 + k] * b[k * 4 + j];
    }
  }
  EXPECT_EQ(run({"f32[2,3]", "f32[3,4]"},
                "ROOT r = f32[2,4] dot(p0, p1), lhs_contracting_dims={1}, "
                "rhs_contracting_dims={0}",
                {a, b}),
            expected);
  EXPECT_EQ(run({"f32[2,3]", "f32[3,4]"},
                "t = f32[3,2] transpose(p0), dimensions={1,0}\n"
                " u = f32[4,3] transpose(p1), dimensions={1,0}\n"
                " ROOT r = f32[2,4] dot(t, u), lhs_contracting_dims={0}, "
                "rhs_contracting_dims={1}",
                {a, b}),
            expected);
}

TEST(Evaluate, DotWithBatchAndSeveralContractedDimensions) {
  const std::size_t rows = 2, batches = 3, p = 2, q = 2, columns = 2;
  const Elements a = counting(rows * batches * p * q, 1), b = counting(q * batches * columns * p);
  Elements expected;
  for (std::size_t n = 0; n < batches; ++n) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < p; ++k) {
          for (std::size_t l = 0; l < q; ++l) {
            sum += a[((i * batches + n) * p + k) * q + l] *
                   b[((l * batches + n) * columns + j) * p + k];
          }
        }
        expected.push_back(sum);
      }
    }
  }
  EXPECT_EQ(run({"f32[2,3,2,2]", "f32[2,3,2,2]"},
                "ROOT r = f32[3,2,2] dot(p0, p1), lhs_batch_dims={1}, rhs_batch_dims={1}, "
                "lhs_contracting_dims={2,3}, rhs_contracting_dims={3,0}",
                {a, b}),
            expected);
}

TEST(Evaluate, IntegerDotsWrapAtTheResultsType) {
  EXPECT_THAT(run({"s8[2]", "s8[2]"},
                  "ROOT r = s32[] dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                  {{127, -128}, {127, -128}}),
              ElementsAre(127 * 127 + 128 * 128));
  EXPECT_THAT(run({"s32[2]", "s32[2]"},
                  "ROOT r = s32[] dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                  {{1 << 30, 1}, {8, 5}}),
              ElementsAre(5));  // 2^33 + 5
}

TEST(Evaluate, ConvolutionWithAWindowOfOneIsADot) {
  const Elements x = counting(2 * 3 * 4, 1), w = counting(4 * 5, -3);
  const Elements dot = run({"f32[6,4]", "f32[4,5]"},
                           "ROOT r = f32[6,5] dot(p0, p1), lhs_contracting_dims={1}, "
                           "rhs_contracting_dims={0}",
                           {x, w});
  EXPECT_EQ(run({"f32[2,3,4]", "f32[1,4,5]"},
                "ROOT r = f32[2,3,5] convolution(p0, p1), window={size=1}, "
                "dim_labels=b0f_0io->b0f",
                {x, w}),
            dot);
}

// One row of one feature, so that only the window matters.
Elements row_convolution(const std::string& size, const std::string& window, const Elements& x,
                         const Elements& w) {
  return run(
      {"f32[1," + std::to_string(x.size()) + ",1]", "f32[" + std::to_string(w.size()) + ",1,1]"},
      "ROOT r = f32[1," + size + ",1] convolution(p0, p1), window={size=" +
          std::to_string(w.size()) + window + "}, dim_labels=b0f_0io->b0f",
      {x, w});
}

TEST(Evaluate, ConvolutionReadsWhereItsWindowSays) {
  const Elements x = {1, 2, 3, 4, 5}, w = {100, 10, 1};
  EXPECT_THAT(row_convolution("3", "", x, w), ElementsAre(123, 234, 345));
  EXPECT_THAT(row_convolution("2", " stride=2", x, w), ElementsAre(123, 345));
  EXPECT_THAT(row_convolution("5", " pad=1_1", x, w), ElementsAre(12, 123, 234, 345, 450));
  EXPECT_THAT(row_convolution("2", " pad=-1_0", x, w), ElementsAre(234, 345));
  EXPECT_THAT(row_convolution("1", " rhs_dilate=2", x, w), ElementsAre(135));
  EXPECT_THAT(row_convolution("7", " lhs_dilate=2", x, w),
              ElementsAre(102, 20, 203, 30, 304, 40, 405));
  EXPECT_THAT(row_convolution("3", " rhs_reversal=1", x, w), ElementsAre(321, 432, 543));
}

TEST(Evaluate, FeatureGroupsKeepFeaturesApart) {
  // features 0 and 1 give output features 0 and 1, features 2 and 3 the others
  const Elements x = {1, 2, 3, 4};
  const Elements w = {1, 10, 100, 1000, 5, 6, 7, 8};  // [input feature 2][output feature 4]
  Elements expected(4, 0);
  for (std::size_t o = 0; o < 4; ++o) {
    for (std::size_t i = 0; i < 2; ++i) expected[o] += x[o / 2 * 2 + i] * w[i * 4 + o];
  }
  EXPECT_EQ(run({"f32[1,1,4]", "f32[1,2,4]"},
                "ROOT r = f32[1,1,4] convolution(p0, p1), window={size=1}, "
                "dim_labels=b0f_0io->b0f, feature_group_count=2",
                {x, w}),
            expected);
}

TEST(Evaluate, BatchGroupsSendEachBatchToItsFeatures) {
  // 4 batches in 2 groups: output features of group g see batches g * 2 and g * 2 + 1
  const Elements x = {1, 2, 3, 4};
  const Elements w = {10, 20};  // [output feature 2]
  EXPECT_EQ(run({"f32[4,1,1]", "f32[1,1,2]"},
                "ROOT r = f32[2,1,2] convolution(p0, p1), window={size=1}, "
                "dim_labels=b0f_0io->b0f, batch_group_count=2",
                {x, w}),
            (Elements{1 * 10, 3 * 20, 2 * 10, 4 * 20}));
}

TEST(Evaluate, ConvolutionFollowsItsLabels) {
  // spatial dimensions of different sizes, features first
  const Elements x = counting(2 * 3 * 4, 1), w = counting(2 * 2 * 3, 1);
  Elements expected;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t f = 0; f < 2; ++f) {
        for (std::size_t y = 0; y < 2; ++y) {
          for (std::size_t z = 0; z < 3; ++z) {
            sum += x[(f * 3 + i + y) * 4 + j + z] * w[(y * 3 + z) * 2 + f];
          }
        }
      }
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(run({"f32[2,1,3,4]", "f32[1,2,3,2]"},
                "ROOT r = f32[2,2,1,1] convolution(p0, p1), window={size=2x3}, "
                "dim_labels=fb01_o01i->01bf",
                {x, w}),
            expected);
}

TEST(Evaluate, GivesEveryOutputInOrder) {
  const Module module = parse_hlo(base::SourceText("test.hlo", R"(HloModule m
body { p = f32[2] parameter(0)
  n = f32[2] negate(p)
  d = f32[2] add(p, p)
  ROOT t = (f32[2], f32[2], f32[2]) tuple(d, p, n) }
ENTRY main { x = f32[2] parameter(0)
  ROOT f = (f32[2], f32[2], f32[2]) fusion(x), kind=kLoop, calls=body })"));
  WorkCounter counter(module);
  const Kernel kernel = make_kernel(module, module.entry, module.entry_computation().root, counter);
  EXPECT_THAT(evaluate(kernel, std::vector<Elements>{{1, 2}}),
              ElementsAre(Elements{2, 4}, Elements{1, 2}, Elements{-1, -2}));
}

TEST(CannotEvaluate, NamesWhatIsMissing) {
  const auto expect_refused = [](const std::vector<std::string>& parameters,
                                 const std::string& body, const std::string& reason) {
    const Kernel kernel = kernel_of(parameters, body);
    EXPECT_THAT(cannot_evaluate(kernel), HasSubstr(reason)) << body;
    EXPECT_THROW((void)evaluate(kernel, std::vector<Elements>(kernel.parameters().size())), Error);
  };
  expect_refused({"f32[2,2]"}, "ROOT r = f32[2,2] cholesky(p0)", "cholesky");
  expect_refused({"c64[2]"}, "ROOT r = c64[2] negate(p0)", "c64");
  expect_refused({}, "ROOT r = f32[2000] constant({...})", "constant");
  expect_refused({"f32[4]", "f32[]"},
                 "ROOT r = f32[] reduce(p0, p1), dimensions={0}, to_apply=difference", "reduce");
  expect_refused({"f64[2]"}, "ROOT r = s64[2] bitcast-convert(p0)", "f64 to s64");
}

TEST(Evaluate, RefusesInputsOfTheWrongSize) {
  const Kernel kernel = kernel_of({"f32[3]"}, "ROOT r = f32[3] negate(p0)");
  EXPECT_THAT(cannot_evaluate(kernel), IsEmpty());
  EXPECT_THROW((void)evaluate(kernel, std::vector<Elements>{{1, 2}}), Error);
  EXPECT_THROW((void)evaluate(kernel, std::vector<Elements>{}), Error);
}

}  // namespace
}  // namespace tilecast::interpreter
