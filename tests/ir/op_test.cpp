#include "ir/op.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tilecast::ir {
namespace {

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

}  // namespace
}  // namespace tilecast::ir
