#include "ir/text/hlo_parser.h"

#include <gmock/gmock.h>

#include <random>

#include "base/error.h"
#include "ir/text/hlo_printer.h"
#include "tests/support/errors.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Module parse(const std::string& text, ParseOptions options = {}) {
  return parse_hlo(base::SourceText("m.hlo", text), options);
}

std::string error_of(const std::string& text, ParseOptions options = {}) {
  return support::error_of([&] { return parse(text, options); });
}

// The body of an entry computation with two f32[4] parameters, x and y.
std::string entry(const std::string& lines) {
  return "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] add(a, b)\n}\n\nENTRY e {\n  x = f32[4] parameter(0)\n"
         "  y = f32[4] parameter(1)\n" +
         lines + "}\n";
}

TEST(HloParser, ReadsComputationsInOrderAndMarksTheEntry) {
  const Module module = parse(entry("  ROOT z = f32[4] add(x, y)\n"));
  ASSERT_EQ(module.computations.size(), 2U);
  EXPECT_EQ(module.name, "m");
  EXPECT_EQ(module.entry_computation().name, "e");
  EXPECT_EQ(module.entry_computation().root_instruction().name, "z");
  EXPECT_EQ(module.entry_computation().parameters.size(), 2U);
  EXPECT_THAT(module.warnings, IsEmpty());
}

TEST(HloParser, WithoutEntryAndRootTheLastOnesCount) {
  const Module module =
      parse("f { a = f32[] parameter(0) }\ng { p = s32[] parameter(0)\n q = s32[] negate(p) }");
  EXPECT_EQ(module.entry_computation().name, "g");
  EXPECT_EQ(module.entry_computation().root_instruction().name, "q");
}

TEST(HloParser, LeftOutShapesAreInferredAndGetRowMajorLayouts) {
  const Module module = parse(entry("  ROOT z = add(x, y)\n"));
  const Shape& shape = module.entry_computation().root_instruction().shape;
  EXPECT_EQ(to_string(shape), "f32[4]{0}");
}

// Array shapes are cached by their text; spaces, comments and braces after them must not matter.
TEST(HloParser, ShapesThatWereReadBeforeComeOutAsReadAlone) {
  const std::vector<std::string> spellings = {
      "f32[2,3]",        "f32[2,3]{0,1}",          "f32[2,3] {0,1}",
      "f32[2,3]{1,0}",   "f32[2,3] {1,0}",         "f32[2,3]{ 0,1}",
      "f32[ 2,3]{0,1}",  "f32[2,/*]*/3]{0,1}",     "bf16[2,3]",
      "f32[]",           "f32[2,3]{0,1:T(8,128)}", "f32[2,3]{1,0:T(8,128)}",
      "f32[<=2,3]{0,1}", "(f32[2,3], s32[])",      "f32[2,3]{0,1:T(8,128)S(1)}",
      "token[]"};
  const auto parameter = [](const std::string& shape, std::size_t number) {
    return "  p" + std::to_string(number) + " = " + shape + " parameter(" + std::to_string(number) +
           ")\n";
  };
  const auto alone = [&](const std::string& shape) {
    return parse("ENTRY e {\n" + parameter(shape, 0) + "}")
        .entry_computation()
        .at(InstrId(0))
        .shape;
  };
  std::mt19937 random(19);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> chosen(12);
    std::string body;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      chosen[i] = spellings[random() % spellings.size()];
      body += parameter(chosen[i], i);
    }
    const Module module = parse("ENTRY e {\n" + body + "}");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_EQ(module.entry_computation().at(InstrId(i)).shape, alone(chosen[i])) << body;
    }
  }
}

TEST(HloParser, BracesAfterASpaceBelongToTheLiteral) {
  const Module module = parse(
      "ENTRY e {\n  a = s32[2]{0} constant({1,2})\n  b = s32[2] constant({3,4})\n"
      "  ROOT c = s32[2] constant(s32[2] {5,6})\n}");
  const Literal& literal =
      module.entry_computation().root_instruction().as<ConstantAttrs>().literal;
  EXPECT_THAT(literal.integers, ElementsAre(5, 6));
}

TEST(HloParser, OperationsInPlaceOfOperandsBecomeAnonymousInstructions) {
  const Module module =
      parse("ENTRY e {\n  ROOT r = add(f32[2] parameter(0), negate(f32[2] parameter(1)))\n}");
  std::vector<std::string> names;
  for (const Instruction& i : module.entry_computation().instructions) names.push_back(i.name);
  EXPECT_THAT(names, ElementsAre("parameter.anon", "parameter.anon.1", "negate.anon", "r"));
}

TEST(HloParser, SingleInstructionTurnsItsOperandsIntoParameters) {
  const Module module = parse(
      "f32[2,3] dot(f32[2,4] x, f32[4,3] y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  const Computation& computation = module.entry_computation();
  ASSERT_EQ(computation.parameters.size(), 2U);
  EXPECT_EQ(computation.at(computation.parameters[1]).name, "y");
  EXPECT_THAT(computation.root_instruction().as<DotAttrs>().dims.lhs_contracting, ElementsAre(1));
}

TEST(HloParser, SingleInstructionOperandsNeedNoNames) {
  const Module module = parse("f32[2] maximum(f32[2], f32[2])");
  EXPECT_EQ(module.entry_computation().parameters.size(), 2U);
}

TEST(HloParser, InlineComputationStandsBeforeItsCaller) {
  const Module module = parse(
      "ENTRY e {\n  x = f32[4] parameter(0)\n  i = f32[] constant(0)\n"
      "  ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply={\n    a = f32[] parameter(0)\n"
      "    b = f32[] parameter(1)\n    ROOT s = f32[] add(a, b)\n  }\n}\n");
  ASSERT_EQ(module.computations.size(), 2U);
  EXPECT_EQ(module.entry.index(), 1U);
  EXPECT_EQ(module.entry_computation().root_instruction().called.at(0).index(), 0U);
}

TEST(HloParser, AsyncShortSpellingMakesTheWrappedComputation) {
  const Module module = parse(
      "ENTRY e {\n  x = f32[4] parameter(0)\n"
      "  s = ((f32[4]), f32[4], u32[]) negate-start(x), async_execution_thread=\"t\"\n"
      "  u = ((f32[4]), f32[4], u32[]) negate-update(s)\n  ROOT d = f32[4] negate-done(u)\n}");
  ASSERT_EQ(module.computations.size(), 2U);
  EXPECT_EQ(module.computations[0].execution_thread, "t");
  EXPECT_EQ(module.computations[0].root_instruction().opcode, Opcode::kNegate);
  EXPECT_EQ(module.entry_computation().at(InstrId(1)).opcode, Opcode::kAsyncStart);
}

TEST(HloParser, WindowItemsDefaultToOneAndZero) {
  const Module module = parse(
      "f32[1,4,4,8] convolution(f32[1,8,8,3] x, f32[2,2,3,8] w), "
      "window={size=2x2 stride=2x2}, dim_labels=b01f_01io->b01f");
  const ConvAttrs& conv = module.entry_computation().root_instruction().as<ConvAttrs>();
  WindowDim expected;
  expected.size = 2;
  expected.stride = 2;
  EXPECT_EQ(conv.window, Window(2, expected));
  EXPECT_THAT(conv.dims.input_spatial, ElementsAre(1, 2));
  EXPECT_EQ(conv.dims.kernel_output_feature, 3);
}

TEST(HloParser, IotaReplicaGroupsAreReshapedTransposedNumbers) {
  const ReplicaGroups groups = support::parse_replica_groups("[2,3]<=[3,2]T(1,0)");
  EXPECT_EQ(groups.text, "[2,3]<=[3,2]T(1,0)");
  for (std::int64_t g = 0; g < 2; ++g) {
    for (std::int64_t i = 0; i < 3; ++i) {
      // Entry (g, i) of the transposed 2x3 array is entry (i, g) of the 3x2 one.
      EXPECT_EQ(groups.groups[static_cast<std::size_t>(g)][static_cast<std::size_t>(i)], i * 2 + g);
    }
  }
  EXPECT_THROW((void)support::parse_replica_groups("[4096,8192]<=[33554432]"), Error);
}

// Device d of a mesh of 2 x 3 x 4 is at (d / 12, d / 4 % 3, d % 4).
TEST(HloParser, AxesOfAMeshAreReplicaGroups) {
  using Groups = std::vector<std::vector<std::int64_t>>;
  const auto groups_of = [](const std::string& text) {
    const ReplicaGroups groups = support::parse_replica_groups(text);
    EXPECT_EQ(groups.text, text);
    return groups.groups;
  };
  const Groups middle = groups_of("mesh['a'=2,'b'=3,'c'=4] {'b'}");
  ASSERT_EQ(middle.size(), 2U * 4U);
  for (std::int64_t a = 0; a < 2; ++a) {
    for (std::int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(middle[static_cast<std::size_t>(4 * a + c)],
                (std::vector<std::int64_t>{12 * a + c, 12 * a + 4 + c, 12 * a + 8 + c}));
    }
  }
  // In the order of the names, not of the mesh.
  EXPECT_EQ(groups_of("mesh['a'=2,'b'=2] {'b','a'}"), (Groups{{0, 2, 1, 3}}));
  EXPECT_EQ(groups_of("mesh[a=2,b=2] {}"), (Groups{{0}, {1}, {2}, {3}}));
  // The middle factor of 8 = 2 x 2 x 2.
  EXPECT_EQ(groups_of("mesh['a'=8] {'a':(2)2}"), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of("mesh['a'=2,'b'=2], device_ids=(0,3,1,2) {'b'}"), (Groups{{0, 3}, {1, 2}}));
  EXPECT_EQ(groups_of("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}"),
            (Groups{{0, 2}, {1, 3}}));
  for (const char* wrong : {"mesh['a'=2] {'b'}", "mesh['a'=6] {'a':(2)2}", "mesh['a'=0] {'a'}",
                            "mesh[] {}", "mesh['a'=2,'b'=2], device_ids=(0,1) {'a'}",
                            "mesh['a'=4194304,'b'=4194304] {'a'}", "mesh['a'=2] {'a','a'}"}) {
    EXPECT_THROW((void)support::parse_replica_groups(wrong), Error) << wrong;
  }
}

TEST(HloParser, AnnotationsAreKeptAsWritten) {
  const std::string annotations =
      "sharding={devices=[2,2,2]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}, "
      "frontend_attributes={b=\"2\",a={x = #m<[\"k\"=2]>}}, origin={({\"a\"}, {\"b\" {1}})}, "
      "metadata={source_line=3, op_name=\"a}b\" op_type=\"\"}";
  const Module module = parse(entry("  ROOT z = f32[4] add(x, y), " + annotations + "\n"));
  const Instruction& root = module.entry_computation().root_instruction();
  EXPECT_EQ(root.op_name(), "a}b");
  EXPECT_THAT(print_hlo(module), HasSubstr(annotations));
  EXPECT_THAT(error_of(entry("  ROOT z = f32[4] add(x, y), sharding={devices=[4]<=[2,3]T(1,0)}\n")),
              HasSubstr("hold 6 devices, expected 4"));
  for (const char* open :
       {"sharding={devices=[2,2", "metadata={op_name=\"a}", "origin={({\"a\"}"}) {
    EXPECT_THROW(parse(entry(std::string("  ROOT z = f32[4] add(x, y), ") + open)), Error) << open;
  }
}

TEST(HloParser, LiteralsKeepSmallIntegersAndTheirText) {
  const Module module = parse("ENTRY e { ROOT c = s32[2,2] constant({{1,-2},{3,4}}) }");
  const Literal& literal =
      module.entry_computation().root_instruction().as<ConstantAttrs>().literal;
  EXPECT_TRUE(literal.is_integer);
  EXPECT_THAT(literal.integers, ElementsAre(1, -2, 3, 4));
  EXPECT_EQ(literal.text, "{ { 1, -2 }, { 3, 4 } }");
}

TEST(HloParser, ElidedLiteralsAreUnknown) {
  const Module module = parse("ENTRY e { ROOT c = s32[100,3] constant({...}) }");
  const Literal& literal =
      module.entry_computation().root_instruction().as<ConstantAttrs>().literal;
  EXPECT_TRUE(literal.elided);
  EXPECT_FALSE(literal.is_integer);
}

TEST(HloParser, UnknownAttributesAreKeptWithAWarningAndRefusedWhenStrict) {
  const std::string text = entry("  ROOT z = f32[4] add(x, y), colour={blue}\n");
  const Module module = parse(text);
  ASSERT_NE(module.entry_computation().root_instruction().find_raw("colour"), nullptr);
  EXPECT_EQ(*module.entry_computation().root_instruction().find_raw("colour"), "{blue}");
  EXPECT_THAT(module.warnings, ElementsAre("m.hlo:12:30: unknown attribute \"colour\" kept"));
  EXPECT_THAT(error_of(text, {.strict = true}), HasSubstr("unexpected attribute \"colour\""));
}

TEST(HloParser, ErrorsShowThePlaceTheLineAndACaret) {
  EXPECT_EQ(error_of("HloModule m\nENTRY e {\n  ROOT r = f32[] negate(q)\n}\n"),
            "m.hlo:3:25: was parsing 3:25: error: instruction does not exist: q\n"
            "  ROOT r = f32[] negate(q)\n                        ^");
}

TEST(HloParser, ATextThatEndsEarlySaysInsideWhat) {
  const std::string whole =
      "HloModule m\nmain {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n";
  for (const std::size_t cut : {whole.size(), whole.find("  ROOT"), whole.find("negate")}) {
    EXPECT_THAT(error_of(whole.substr(0, cut)), HasSubstr("the text ends inside computation main"));
  }
  EXPECT_THAT(error_of("HloModule m\nmain { x = f32[] parameter(0) }\nother"),
              testing::Not(HasSubstr("inside")));
}

struct BadText {
  const char* line;
  const char* message;
};

TEST(HloParser, EachMistakeHasItsMessage) {
  const BadText cases[] = {
      {"ROOT z = f32[4] plus(x, y)", "expects opcode but sees: plus"},
      {"ROOT z = f32[4] add(x)", "expects 2 operands, but has 1 operands"},
      {"ROOT z = f32[4] add(x, f32[5] y)",
       "The declared operand shape f32[5]{0} is not compatible"},
      {"ROOT z = f32[1] slice(x)", "attribute slice is expected but not seen"},
      {"ROOT z = f32[4] reverse(x), dimensions={0}, dimensions={0}",
       "attribute dimensions already exists"},
      {"ROOT z = f32[] reduce(x, x), dimensions={0}, to_apply=f", "computation does not exist: f"},
      {"ROOT z = f32[4] negate(x), control-predecessors={w}", "instruction 'w' is not defined"},
      {"x = f32[4] negate(x)", "instruction already exists: x"},
      {"ROOT z = f32[4]{1,0} negate(x)", "Dimensions size is 1, but minor to major size is 2."},
      {"ROOT z = u8[] constant(256)", "value 256 is out of range for literal's primitive type U8"},
      {"ROOT z = f32[2] constant({1})", "expects 2 elements in the []th element, but sees 1"},
      {"ROOT z = f32[2] constant({1, 2, 3})", "expects 2 elements on the minor-most dimension"},
      {"ROOT z = s32[] constant(1.5)", "expects integer for primitive type: S32"},
      {"ROOT z = f16[] constant(1e9)", "is out of range for literal's primitive type F16"},
      {"ROOT z = bf16[] constant(nan(0x100))", "tries to set NaN payload 0x100"},
      {"ROOT z = f32[3] reduce-window(x, y), window={size=2 stride=1x1}, to_apply=add",
       "expects 'stride=' has the same size as 'size='"},
      {"ROOT z = f32[99999999999,99999999999,99999999999] iota(), iota_dimension=0",
       "more than 2^62 elements"},
      {"p = f32[4] parameter(5)", "parameters of e must be numbered 0 to 2, each once; got 5"},
  };
  for (const BadText& bad : cases) {
    EXPECT_THAT(error_of(entry(std::string("  ") + bad.line + "\n")), HasSubstr(bad.message))
        << bad.line;
  }
}

// A dot of two arrays of 20 dimensions: more than Shape::dynamic_mask has bits for.
TEST(HloParser, MoreDimensionsThanAShapeMayHaveAreRefusedAlsoWhereTheyAreInferred) {
  const auto sizes = [](int rank) {
    std::string text = "1";
    for (int i = 1; i < rank; ++i) text += ",1";
    return text;
  };
  EXPECT_THAT(error_of("ENTRY e { ROOT x = f32[" + sizes(Shape::kMaxRank + 1) + "] parameter(0) }"),
              HasSubstr("a shape has at most 32 dimensions"));
  EXPECT_THAT(error_of("ENTRY e {\n  x = f32[" + sizes(20) +
                       "] parameter(0)\n  d = dot(x, x)\n  ROOT n = negate(d)\n}"),
              HasSubstr("m.hlo:3:7: was parsing 3:7: error: the result of dot would have 40 "
                        "dimensions, more than 32"));
}

TEST(HloParser, TwoEntriesOrTwoRootsAreErrors) {
  EXPECT_THAT(error_of("ENTRY a { x = f32[] parameter(0) }\nENTRY b { x = f32[] parameter(0) }"),
              HasSubstr("expects only one ENTRY"));
  EXPECT_THAT(error_of(entry("  ROOT p = f32[4] add(x, y)\n  ROOT q = f32[4] add(x, y)\n")),
              HasSubstr("one computation should have only one ROOT"));
}

TEST(HloParser, SignatureMustFitTheRoot) {
  EXPECT_THAT(error_of("ENTRY e (x: f32[4]) -> f32[5] {\n  ROOT x = f32[4] parameter(0)\n}"),
              HasSubstr("Shape of computation e, f32[5], is not compatible with that of its root "
                        "instruction x, f32[4]"));
}

TEST(HloParser, HeaderTablesAreSkipped) {
  const Module module = parse(
      "HloModule m, is_scheduled=true, num_partitions=4\n\nFileNames\n1 \"a.py\"\n\nStackFrames\n"
      "1 {file_location_id=1 parent_frame_id=1}\n\nENTRY e { ROOT x = f32[] parameter(0) }");
  EXPECT_TRUE(module.is_scheduled);
  EXPECT_EQ(module.num_partitions, 4);
}

TEST(HloParser, AliasesOfTheHeaderAreTyped) {
  const Module module = parse(
      "HloModule m, input_output_alias={ {0}: (1, {}, must-alias), {1}: (0, {}) }\n"
      "ENTRY e { x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT t = (f32[], f32[]) tuple(y, x) }");
  ASSERT_EQ(module.input_output_alias.size(), 2U);
  EXPECT_EQ(module.input_output_alias[0].operand, 1);
  EXPECT_TRUE(module.input_output_alias[0].must_alias);
  EXPECT_FALSE(module.input_output_alias[1].must_alias);
}

TEST(HloParser, LayoutBracesAreToldFromABody) {
  EXPECT_EQ(to_string(support::parse_shape("f32[2,3]{0,1:T(2,128)S(1)}")),
            "f32[2,3]{0,1:T(2,128)S(1)}");
  EXPECT_EQ(parse("ENTRY e (x: f32[3]) -> f32[3] { ROOT x = f32[3] parameter(0) }").entry.index(),
            0U);
}

}  // namespace
}  // namespace tilecast::ir
