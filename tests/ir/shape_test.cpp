#include "ir/shape.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/dtype.h"
#include "ir/literal.h"
#include "ir/op.h"
#include "ir/op_attrs.h"
#include "ir/ops/op_row.h"
#include "ir/shared.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir {
namespace {

Shape tiled(DType dtype, Dims dims, std::vector<Dims> tiles) {
  Shape shape = Shape::array(dtype, std::move(dims));
  shape.layout = default_layout(shape.rank());
  shape.layout.edit().tiles = std::move(tiles);
  return shape;
}

Shape row_major(DType dtype, Dims dims) {
  return tiled(dtype, std::move(dims), {});
}

TEST(Shape, DefaultLayoutIsRowMajor) {
  EXPECT_EQ(default_layout(3).minor_to_major, (Dims{2, 1, 0}));
  EXPECT_TRUE(default_layout(0).minor_to_major.empty());
}

TEST(Shape, CountsTheElementsOfAnArray) {
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {})), 1);
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {2, 3, 5})), 2 * 3 * 5);
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {INT64_MAX, 0, INT64_MAX})), 0);
}

TEST(Shape, RefusesSizesItCannotCount) {
  EXPECT_THROW((void)element_count(Shape::array(DType::kF32, {INT64_MAX, 2})), Error);
  EXPECT_THROW((void)element_count(Shape::array(DType::kF32, {kUnboundedSize, 2})), Error);
  EXPECT_THROW((void)unpadded_bytes(Shape::array(DType::kC128, {std::int64_t{1} << 60})), Error);
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {std::int64_t{1} << 61, 1}, {{8, 128}})),
               Error);
}

TEST(Shape, PadsTheTwoMinorDimensionsToTheTile) {
  const Shape shape = tiled(DType::kF32, {3, 9, 130}, {{8, 128}});
  EXPECT_EQ(padded_physical_dims(shape), (Dims{3, 16, 256}));
  EXPECT_EQ(padded_bytes(shape), 3 * 16 * 256 * 4);
  EXPECT_EQ(unpadded_bytes(shape), 3 * 9 * 130 * 4);
}

TEST(Shape, TheLayoutSaysWhichDimensionsAreMinor) {
  Shape shape = tiled(DType::kF32, {16, 4}, {{4, 128}});
  shape.layout.edit().minor_to_major = {0, 1};
  EXPECT_EQ(padded_bytes(shape), 4 * 128 * 4);
}

TEST(Shape, OnlyTheFirstTileAddsPadding) {
  EXPECT_EQ(padded_bytes(tiled(DType::kBF16, {8, 128}, {{8, 128}, {2, 1}})), 8 * 128 * 2);
}

TEST(Shape, AScalarFillsItsTile) {
  EXPECT_EQ(padded_bytes(tiled(DType::kF32, {}, {{128}})), 128 * 4);
  EXPECT_EQ(padded_bytes(tiled(DType::kF32, {100}, {{8, 128}})), 8 * 128 * 4);
}

TEST(Shape, TailAlignmentRoundsTheElementCountUp) {
  Shape shape = row_major(DType::kS8, {10});
  shape.layout.edit().tail_alignment = 64;
  EXPECT_EQ(padded_bytes(shape), 64);
}

TEST(Shape, ElementBitsPackNarrowTypes) {
  Shape shape = row_major(DType::kS4, {7});
  EXPECT_EQ(padded_bytes(shape), 7);
  shape.layout.edit().element_bits = 4;
  EXPECT_EQ(padded_bytes(shape), (7 * 4 + 7) / 8);
}

TEST(Shape, TuplesSumTheirLeavesAndTokensAreFree) {
  const Shape array = row_major(DType::kF32, {5});
  const Shape tuple = Shape::tuple({array, Shape::token(), Shape::tuple({array})});
  EXPECT_EQ(unpadded_bytes(tuple), 2 * 5 * 4);
  EXPECT_EQ(padded_bytes(Shape::token()), 0);
}

TEST(Shape, CombinedTileDimensionsAreMergedFirst) {
  // T(2,*,128): dimensions 1 and 2 are combined into one of 3 * 50.
  const Shape shape = tiled(DType::kF32, {3, 3, 50}, {{2, kCombineTileDim, 128}});
  EXPECT_EQ(padded_physical_dims(shape), (Dims{4, 256}));
}

TEST(Shape, RefusesTilesThatCannotBe) {
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {4}, {{0}})), Error);
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {4}, {{kCombineTileDim}})), Error);
}

TEST(Shape, CompatibilityIgnoresLayouts) {
  const Shape plain = Shape::array(DType::kF32, {2, 3});
  EXPECT_TRUE(compatible(plain, tiled(DType::kF32, {2, 3}, {{8, 128}})));
  EXPECT_FALSE(compatible(plain, Shape::array(DType::kF32, {3, 2})));
  EXPECT_FALSE(compatible(plain, Shape::array(DType::kBF16, {2, 3})));
  EXPECT_FALSE(compatible(Shape::tuple({plain}), Shape::tuple({plain, plain})));
}

TEST(Shape, UnboundedDimensionsAreFoundAtAnyDepth) {
  const Shape unbounded = Shape::array(DType::kF32, {kUnboundedSize, 4});
  EXPECT_TRUE(Shape::tuple({Shape::tuple({unbounded})}).is_unbounded());
  EXPECT_FALSE(Shape::tuple({Shape::array(DType::kF32, {4})}).is_unbounded());
}

TEST(ShapeText, LayoutItemsComeInXlasOrder) {
  Shape shape = tiled(DType::kF32, {32, 26}, {{8, 128}, {2, 1}});
  shape.layout.edit().memory_space = 1;
  EXPECT_EQ(to_string(shape), "f32[32,26]{1,0:T(8,128)(2,1)S(1)}");
  EXPECT_EQ(to_string(shape, /*with_layout=*/false), "f32[32,26]");
  shape.layout.edit().tail_alignment = 4;
  shape.layout.edit().element_bits = 16;
  shape.layout.edit().dynamic_prefix_bytes = 8;
  shape.layout.edit().split_config = "(0:5)";
  EXPECT_EQ(to_string(shape), "f32[32,26]{1,0:T(8,128)(2,1)L(4)E(16)S(1)SC(0:5)M(8)}");
}

TEST(ShapeText, ScalarsShowALayoutOnlyWhenItSaysSomething) {
  EXPECT_EQ(to_string(row_major(DType::kF32, {})), "f32[]");
  EXPECT_EQ(to_string(tiled(DType::kF32, {}, {{128}})), "f32[]{:T(128)}");
}

TEST(ShapeText, DynamicDimensionsShowTheirBound) {
  Shape shape = Shape::array(DType::kF32, {4, kUnboundedSize});
  shape.set_dynamic(0);
  EXPECT_EQ(to_string(shape), "f32[<=4,?]");
}

// Messages may contain shapes with too many dimensions.
TEST(Shape, NoDimensionBeyondTheMostIsDynamic) {
  Shape shape = Shape::array(DType::kF32, Dims(Shape::kMaxRank + 1, 2));
  shape.set_dynamic(Shape::kMaxRank);
  EXPECT_EQ(shape.dynamic_mask, 0U);
  shape.set_dynamic(Shape::kMaxRank - 1);
  EXPECT_TRUE(shape.is_dynamic(Shape::kMaxRank - 1));
  EXPECT_FALSE(shape.is_dynamic(Shape::kMaxRank));
  EXPECT_THAT(to_string(shape, /*with_layout=*/false), ::testing::EndsWith("2,<=2,2]"));
}

TEST(ShapeText, TuplesCountEveryFifthElement) {
  const Shape scalar = Shape::array(DType::kS32, {});
  EXPECT_EQ(to_string(Shape::tuple({})), "()");
  EXPECT_EQ(to_string(Shape::tuple(std::vector<Shape>(6, scalar))),
            "(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[])");
}

TEST(ShapeText, BuffersWrapTheirShape) {
  Shape buffer;
  buffer.dtype = DType::kBuffer;
  buffer.elements = {row_major(DType::kF32, {2})};
  EXPECT_EQ(to_string(buffer), "b(f32[2]{0})");
  EXPECT_EQ(to_string(Shape::token()), "token[]");
}

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 1; i <= static_cast<int>(DType::kBuffer); ++i)
    types.push_back(static_cast<DType>(i));
  return types;
}

TEST(DType, NamesReadBackAsTheSameType) {
  for (const DType dtype : all_types()) EXPECT_EQ(parse_dtype(name(dtype)), dtype) << name(dtype);
}

TEST(DType, UnknownAndInvalidNamesAreNoType) {
  for (const char* text : {"", "f33", "F32", "invalid", "f8", "bf"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

TEST(DType, OpaqueHasAnOldSpelling) {
  EXPECT_EQ(parse_dtype("opaque_type"), DType::kOpaque);
}

TEST(DType, WidthIsInTheName) {
  EXPECT_EQ(bits(DType::kU4), 4);
  EXPECT_EQ(bits(DType::kBF16), 16);
  EXPECT_EQ(bits(DType::kC128), 128);
  EXPECT_EQ(bits(DType::kF8E4M3B11FNUZ), 8);
  EXPECT_EQ(bits(DType::kPred), 8);
}

TEST(DType, NarrowTypesTakeAWholeByte) {
  for (const DType dtype : {DType::kS1, DType::kU2, DType::kS4, DType::kF4E2M1FN}) {
    EXPECT_EQ(storage_bytes(dtype), 1) << name(dtype);
  }
  for (const DType dtype : all_types()) {
    if (bits(dtype) >= 8) {
      EXPECT_EQ(storage_bytes(dtype) * 8, bits(dtype)) << name(dtype);
    }
  }
}

TEST(DType, EveryElementTypeHasExactlyOneFamily) {
  for (const DType dtype : all_types()) {
    const int families = int{is_floating(dtype)} + int{is_signed_integer(dtype)} +
                         int{is_unsigned_integer(dtype)} + int{is_complex(dtype)} +
                         int{dtype == DType::kPred};
    EXPECT_EQ(families, is_array_element(dtype) ? 1 : 0) << name(dtype);
  }
}

constexpr Opcode kLast = Opcode::kXor;

template <class Check>
void for_each_opcode(Check&& check) {
  for (int i = 0; i <= static_cast<int>(kLast); ++i) check(static_cast<Opcode>(i));
}

TEST(Op, NamesReadBackAsTheSameOpcode) {
  for_each_opcode([](Opcode opcode) { EXPECT_EQ(parse_opcode(name(opcode)), opcode); });
}

TEST(Op, NamesAreUnique) {
  std::set<std::string_view> names;
  for_each_opcode([&](Opcode opcode) { EXPECT_TRUE(names.insert(name(opcode)).second); });
}

TEST(Op, RowsStandAtTheirOpcode) {
  for_each_opcode([](Opcode opcode) { EXPECT_EQ(info(opcode).opcode, opcode); });
}

TEST(Op, OldSpellingsMeanTodaysOpcodes) {
  EXPECT_EQ(parse_opcode("cross-replica-sum"), Opcode::kAllReduce);
  EXPECT_EQ(parse_opcode("tuple-select"), Opcode::kSelect);
}

TEST(Op, UnknownNamesAreNoOpcode) {
  for (const char* text : {"", "a", "zzz", "Add", "add ", "adds", "xo", "custom-call-start"}) {
    EXPECT_EQ(parse_opcode(text), std::nullopt) << text;
  }
}

TEST(Op, EveryClassHasAName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(OpClass::kHost); ++i) {
    names.insert(name(static_cast<OpClass>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(OpClass::kHost) + 1);
  EXPECT_EQ(names.count("unknown"), 0U);
}

TEST(Op, ElementwiseOpsMapElementsOneToOne) {
  for (const Opcode opcode : {Opcode::kAdd, Opcode::kExp, Opcode::kConvert, Opcode::kSelect,
                              Opcode::kClamp, Opcode::kCompare}) {
    EXPECT_TRUE(is_elementwise(opcode)) << name(opcode);
  }
  for (const Opcode opcode : {Opcode::kReduce, Opcode::kCopy, Opcode::kBroadcast, Opcode::kDot}) {
    EXPECT_FALSE(is_elementwise(opcode)) << name(opcode);
  }
}

TEST(Op, FusionMayDuplicateArithmeticButNoMatrixProduct) {
  for (const Opcode opcode :
       {Opcode::kAdd, Opcode::kMultiply, Opcode::kBroadcast, Opcode::kTranspose, Opcode::kPad}) {
    EXPECT_FALSE(is_expensive(opcode)) << name(opcode);
  }
  for (const Opcode opcode :
       {Opcode::kDot, Opcode::kConvolution, Opcode::kReduce, Opcode::kExp, Opcode::kDivide,
        Opcode::kSort, Opcode::kGather, Opcode::kAllReduce, Opcode::kCustomCall, Opcode::kRng}) {
    EXPECT_TRUE(is_expensive(opcode)) << name(opcode);
  }
}

// The row is all there is of such an op: it is read, inferred, printed in both languages, read back
// and counted.
void follow(Opcode opcode, const Module& module) {
  const Instruction& op = module.entry_computation().root_instruction();
  EXPECT_EQ(op.opcode, opcode);
  const std::string text = print_hlo(module);
  EXPECT_EQ(print_hlo(parse_hlo(base::SourceText("printed", text), {.strict = true})), text);
  const PrintedOp printed = printed_op(module.entry_computation(), op);
  if (!printed.name.starts_with("mhlo.")) {
    const std::string mlir = print_stablehlo(module);
    EXPECT_NE(mlir.find(printed.name), std::string::npos) << mlir;
    const Module back = parse_stablehlo(base::SourceText("printed", mlir));
    EXPECT_EQ(back.entry_computation().root_instruction().opcode, opcode) << mlir;
  }
  WorkCounter counter(module);
  const WorkCounts counts = counter.of(module.entry, module.entry_computation().root);
  const bool transcendental = op_class(opcode) == OpClass::kTranscendental;
  EXPECT_EQ(counts.flops, op_class(opcode) == OpClass::kElementwise ? 4 : 0);
  EXPECT_EQ(counts.transcendentals, transcendental ? 4 : 0);
  EXPECT_GT(counts.bytes_accessed, 0);
}

TEST(Op, ARowIsAnOp) {
  int followed = 0;
  for_each_opcode([&](Opcode opcode) {
    const OpRow& row = op_row(opcode);
    const auto required = [](const AttributeRow& attribute) { return attribute.required; };
    if (!is_elementwise(opcode) || std::ranges::any_of(row.attributes.rows, required)) return;
    if (row.info.arity < 1 || row.info.arity > 2) return;
    SCOPED_TRACE(name(opcode));
    for (const std::string type : {"f32", "s32", "c64"}) {
      const std::string operands = row.info.arity == 1 ? "p" : "p, p";
      const std::string text = "ENTRY e {\n  p = " + type +
                               "[4] parameter(0)\n  ROOT r = " + std::string(name(opcode)) + "(" +
                               operands + ")\n}\n";
      try {
        follow(opcode, parse_hlo(base::SourceText("row", text)));
      } catch (const Error&) {
        continue;  // not for this type
      }
      ++followed;
      return;
    }
    EXPECT_EQ(opcode, Opcode::kStochasticConvert) << "has no type";
  });
  EXPECT_GT(followed, 45);
}

TEST(Op, ARowSaysWhichAttributesAnOpNeeds) {
  const auto text = [](const std::string& attributes) {
    return base::SourceText("row",
                            "ENTRY e {\n  p = f32[2,2] parameter(0)\n"
                            "  ROOT r = reverse(p)" +
                                attributes + "\n}\n");
  };
  follow(Opcode::kReverse, parse_hlo(text(", dimensions={1}")));
  try {
    static_cast<void>(parse_hlo(text("")));
    ADD_FAILURE() << "read without its dimensions";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("attribute dimensions is expected"),
              std::string::npos);
  }
}

TEST(Shared, CopiesAreOneValueUntilOneIsEdited) {
  Shared<Layout> a = default_layout(2), b = a;
  EXPECT_EQ(&*a, &*b);
  b.edit().memory_space = 1;
  EXPECT_EQ(a->memory_space, 0);
  EXPECT_EQ(b->memory_space, 1);
  EXPECT_FALSE(a == b);
  const Layout* const own = &*b;
  b.edit().memory_space = 0;
  EXPECT_EQ(&*b, own);  // not shared: edited in place
  EXPECT_TRUE(a == b);  // equal values, separate objects
}

TEST(Shared, HasNoValueUntilItIsGivenOne) {
  Shared<Layout> none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == Shared<Layout>(std::nullopt));
  EXPECT_FALSE(none == Shared<Layout>(Layout{}));
  none = Layout{};
  EXPECT_TRUE(none.has_value());
  none.reset();
  EXPECT_FALSE(none);
}

TEST(Shared, IsEditedInOneThreadWhileOthersRead) {
  const Shared<std::vector<int>> first = std::vector<int>(64, 1);
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 500; ++round) {
        Shared<std::vector<int>> own = first;
        own.edit()[0] = static_cast<int>(t);
        sums[t] = (*own)[0] + (*first)[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < sums.size(); ++t) EXPECT_EQ(sums[t], static_cast<int>(t) + 1);
}

TEST(SharedOrEmpty, ReadsAsEmptyUntilItIsGivenSomething) {
  SharedOrEmpty<std::vector<int>> a;
  EXPECT_TRUE(a->empty());
  EXPECT_TRUE(a == SharedOrEmpty<std::vector<int>>(std::vector<int>{}));
  a.edit().push_back(7);
  SharedOrEmpty<std::vector<int>> b = a;
  EXPECT_EQ(&*a, &*b);
  b.edit().push_back(8);
  EXPECT_EQ(*a, (std::vector{7}));
  EXPECT_EQ(*b, (std::vector{7, 8}));
  EXPECT_FALSE(a == b);
  b.reset();
  EXPECT_TRUE(b->empty());
}

TEST(OpAttrs, AreOfOneKindOrNone) {
  OpAttrs attrs;
  EXPECT_EQ(attrs.get<DotAttrs>(), nullptr);
  attrs = IndexAttrs{3};
  EXPECT_EQ(attrs.as<IndexAttrs>().index, 3);
  EXPECT_EQ(attrs.get<DotAttrs>(), nullptr);
  EXPECT_EQ(attrs.edit_if<DotAttrs>(), nullptr);
  EXPECT_THROW((void)attrs.as<DotAttrs>(), std::bad_variant_access);
  EXPECT_THROW((void)attrs.edit<DotAttrs>(), std::bad_variant_access);
}

TEST(OpAttrs, OfACopyAreEditedApart) {
  OpAttrs a = SliceAttrs{.dims = {{0, 8, 1}}}, b = a;
  EXPECT_EQ(a.get<SliceAttrs>(), b.get<SliceAttrs>());
  b.edit<SliceAttrs>().dims[0].limit = 4;
  EXPECT_EQ(a.as<SliceAttrs>().dims[0].limit, 8);
  EXPECT_EQ(b.as<SliceAttrs>().dims[0].limit, 4);
}

struct IndexOrLess {
  int operator()(const std::monostate&) const { return 0; }
  int operator()(const IndexAttrs& attrs) const { return static_cast<int>(attrs.index); }
  template <class Other>
  int operator()(const Other&) const {
    return -1;
  }
};

TEST(OpAttrs, AreVisitedAsWhatTheyAre) {
  EXPECT_EQ(OpAttrs().visit(IndexOrLess{}), 0);
  EXPECT_EQ(OpAttrs(IndexAttrs{7}).visit(IndexOrLess{}), 7);
  EXPECT_EQ(OpAttrs(PadAttrs{}).visit(IndexOrLess{}), -1);
}

std::string counted(const Dims& dims) {
  std::string out;
  int next = 0;
  append_array_literal(out, dims, [&](std::string& text) { text += std::to_string(next++); });
  return out;
}

TEST(Literal, VectorsAreTightAndMatrixRowsAreSpaced) {
  EXPECT_EQ(counted({}), "0");
  EXPECT_EQ(counted({3}), "{0, 1, 2}");
  EXPECT_EQ(counted({2, 2}), "{ { 0, 1 }, { 2, 3 } }");
}

TEST(Literal, RowsOfOneElementAreTight) {
  EXPECT_EQ(counted({2, 1}), "{ {0}, {1} }");
}

TEST(Literal, EmptyArraysKeepTheirBraces) {
  EXPECT_EQ(counted({0}), "{}");
  EXPECT_EQ(counted({2, 0}), "{ {}, {} }");
}

TEST(Literal, FourDimensionsSayWhereTheyAre) {
  EXPECT_EQ(counted({1, 2, 1, 1}), "{ { /*i0=0*/ { /*i1=0*/ {0} }, { /*i1=1*/ {1} } } }");
}

TEST(Literal, FloatsPrintTheShorterFormThatReadsBack) {
  EXPECT_EQ(canonical_float(0.5, DType::kF32), "0.5");
  EXPECT_EQ(canonical_float(0.1, DType::kF32), "0.1");
  EXPECT_EQ(canonical_float(1.0 / 3, DType::kF32), "0.333333343");
  EXPECT_EQ(canonical_float(1.0 / 3, DType::kF64), "0.33333333333333331");
  EXPECT_EQ(canonical_float(1e30, DType::kF32), "1e+30");
  EXPECT_EQ(canonical_float(-0.0, DType::kF32), "-0");
}

TEST(Literal, NarrowFloatsPrintTheRoundedValue) {
  EXPECT_EQ(canonical_float(0.1, DType::kBF16), "0.1001");
  EXPECT_EQ(canonical_float(0.1, DType::kF16), "0.099976");
  EXPECT_EQ(canonical_float(0.3, DType::kF8E5M2), "0.31");
}

TEST(Literal, NonFiniteValuesHaveNames) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(canonical_float(kInf, DType::kF32), "inf");
  EXPECT_EQ(canonical_float(-kInf, DType::kBF16), "-inf");
  EXPECT_EQ(canonical_float(std::nan(""), DType::kF32), "nan");
}

TEST(Literal, RoundingGoesToTheNearestAndTiesToEven) {
  // bf16 has 7 mantissa bits: its step at 1 is 2^-7.
  constexpr double kStep = 1.0 / 128;
  EXPECT_EQ(round_to(1 + 0.25 * kStep, DType::kBF16), 1);
  EXPECT_EQ(round_to(1 + 0.5 * kStep, DType::kBF16), 1);
  EXPECT_EQ(round_to(1 + 1.5 * kStep, DType::kBF16), 1 + 2 * kStep);
}

TEST(Literal, SmallNumbersRoundToSubnormals) {
  constexpr double kSmallestF16 = 0x1p-24;
  EXPECT_EQ(round_to(0.4 * kSmallestF16, DType::kF16), 0);
  EXPECT_EQ(round_to(0.6 * kSmallestF16, DType::kF16), kSmallestF16);
}

TEST(Literal, RoundingAgreesWithTheHardwareForF32) {
  for (const double value : {0.1, 1e-40, 3.4e38, 16777217.0, -1e-45}) {
    EXPECT_EQ(round_to(value, DType::kF32), static_cast<double>(static_cast<float>(value)));
  }
}

TEST(Literal, LargestNumbersAreRepresentableAndTheNextAreNot) {
  const std::pair<DType, double> largest[] = {{DType::kF16, 65504},        {DType::kF8E4M3FN, 448},
                                              {DType::kF8E4M3, 240},       {DType::kF8E5M2, 57344},
                                              {DType::kF8E4M3B11FNUZ, 30}, {DType::kF8E3M4, 15.5}};
  for (const auto& [dtype, value] : largest) {
    EXPECT_TRUE(representable(value, dtype)) << name(dtype);
    EXPECT_FALSE(representable(value * 1.25, dtype)) << name(dtype);
  }
}

TEST(Literal, NanPayloadsPrintUnlessTheyAreTheDefault) {
  EXPECT_EQ(canonical_nan(false, std::nullopt, DType::kBF16), "nan");
  EXPECT_EQ(canonical_nan(true, 0x40, DType::kBF16), "-nan");  // the quiet bit alone
  EXPECT_EQ(canonical_nan(true, 0x7f, DType::kBF16), "-nan(0x7f)");
  EXPECT_EQ(canonical_nan(false, 1, DType::kF8E4M3FN), "nan");  // one NaN per sign
  EXPECT_EQ(nan_payload_bits(DType::kF32), 23);
}
}  // namespace
}  // namespace tilecast::ir
