#include "ir/op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/ops/op_row.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"

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

}  // namespace
}  // namespace tilecast::ir
