#include "ir/text/hlo_lexer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/support/errors.h"

namespace tilecast::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Token> tokens(const base::SourceText& source) {
  Lexer lexer(source);
  std::vector<Token> all;
  for (Token token = lexer.next(); !token.is(Tok::kEof); token = lexer.next()) all.push_back(token);
  return all;
}

std::vector<Tok> kinds(const std::string& text) {
  const base::SourceText source("t.hlo", text);
  std::vector<Tok> out;
  for (const Token& token : tokens(source)) out.push_back(token.kind);
  return out;
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { return kinds(text); });
}

TEST(HloLexer, WordBeforeColonOrEqualIsANameOrAnAttributeName) {
  EXPECT_THAT(kinds("p: p= p ="),
              ElementsAre(Tok::kName, Tok::kAttributeName, Tok::kIdentifier, Tok::kEqual));
}

TEST(HloLexer, PercentMakesANameEvenOfAKeywordOrAType) {
  EXPECT_THAT(kinds("%ROOT %f32 ROOT f32"),
              ElementsAre(Tok::kName, Tok::kName, Tok::kKeyword, Tok::kType));
  EXPECT_THAT(error_of("% x"), HasSubstr("expects a name after '%'"));
}

TEST(HloLexer, TupleAndBufferAreNotTypeTokens) {
  EXPECT_THAT(kinds("tuple buffer pred token"),
              ElementsAre(Tok::kIdentifier, Tok::kIdentifier, Tok::kType, Tok::kType));
}

TEST(HloLexer, NumberPatternsAreTriedFromTheMostSpecific) {
  EXPECT_THAT(kinds("1.5 2e-3 -.5 -7 3x3 0_1x-2_3 0_1_2 01bf_01io->01bf"),
              ElementsAre(Tok::kDecimal, Tok::kDecimal, Tok::kDecimal, Tok::kInteger, Tok::kSizes,
                          Tok::kPadding, Tok::kPadding, Tok::kDimLabels));
}

TEST(HloLexer, DimLabelsMayStartWithALetterOrAQuestionMark) {
  EXPECT_THAT(kinds("bf01_01io->bf01 ?bf_0io->?bf bf_io->bf"),
              ElementsAre(Tok::kDimLabels, Tok::kDimLabels, Tok::kDimLabels));
  EXPECT_THAT(kinds("?,784"), ElementsAre(Tok::kQuestion, Tok::kComma, Tok::kInteger));
}

TEST(HloLexer, UnsignedIntegersAboveInt64KeepTheirBits) {
  const base::SourceText source("t.hlo", "18446744073709551615 9223372036854775808");
  const std::vector<Token> all = tokens(source);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(static_cast<std::uint64_t>(all[0].integer), UINT64_MAX);
  EXPECT_EQ(all[1].integer, INT64_MIN);
  EXPECT_THAT(error_of("18446744073709551616"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(error_of("-9223372036854775809"), HasSubstr("does not fit in 64 bits"));
}

TEST(HloLexer, NonFiniteNumbersCarrySignAndPayload) {
  const base::SourceText source("t.hlo", "inf -inf -nan nan(0x7f)");
  const std::vector<Token> all = tokens(source);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_GT(all[0].number, 0);
  EXPECT_LT(all[1].number, 0);
  EXPECT_TRUE(std::isnan(all[2].number) && std::signbit(all[2].number));
  EXPECT_EQ(all[2].integer, -1);
  EXPECT_EQ(all[3].integer, 0x7f);
}

TEST(HloLexer, CommentsAreSpaceAndEndAtEitherLineEnd) {
  EXPECT_THAT(kinds("a/* , */b // , \rc // ,\r\nd"),
              ElementsAre(Tok::kIdentifier, Tok::kIdentifier, Tok::kIdentifier, Tok::kIdentifier));
  EXPECT_THAT(error_of("a /* b"), HasSubstr("t.hlo:1:3: was parsing 1:3: error: unterminated"));
}

TEST(HloLexer, DictionaryIsTakenRawUpToItsOwnBrace) {
  const base::SourceText source("t.hlo", R"({#sdy<["x"=2]> {"\"}"}} , x)");
  Lexer lexer(source);
  const Token open = lexer.next();
  EXPECT_EQ(lexer.take_json_dict(open.begin), R"({#sdy<["x"=2]> {"\"}"}})");
  EXPECT_TRUE(lexer.next().is(Tok::kComma));
  EXPECT_EQ(json_dict_end("{{}", 0), std::string_view::npos);
}

TEST(HloLexer, EscapesGoThereAndBack) {
  EXPECT_EQ(unescape(R"(a\"b\n\x41\101\\)"), "a\"b\nAA\\");
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(unescape(escape(text)), text) << c;
  }
}

TEST(HloLexer, BytesOutsideTheAlphabetAreErrorsAtTheirPlace) {
  EXPECT_THAT(error_of("a\n  $"),
              HasSubstr("t.hlo:2:3: was parsing 2:3: error: unexpected character '$'"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), HasSubstr("unexpected byte 0x00"));
  EXPECT_THAT(error_of("\"abc"), HasSubstr("unterminated string"));
  EXPECT_THAT(error_of("\"abc\\"), HasSubstr("unterminated string"));
}

// --- HLO text that XLA prints or accepts beyond its documentation: it is parsed, and printed such
// that it parses to the same module.

Module parse(const std::string& text) {
  return parse_hlo(base::SourceText("wild.hlo", text));
}
std::string reprint(const std::string& text) {
  const std::string printed = print_hlo(parse(text));
  EXPECT_EQ(print_hlo(parse(printed)), printed);
  return printed;
}
std::string with_root(const std::string& root) {
  return "HloModule m\nENTRY e {\n  ROOT r = " + root + "\n}\n";
}
const Literal& literal_of(const Module& module) {
  return module.entry_computation().root_instruction().as<ConstantAttrs>().literal;
}

TEST(HloOfTheWild, AScalarStandsForEveryElementOfAnArray) {
  const Module module = parse(with_root("s8[3]{0} constant(-7)"));
  EXPECT_EQ(literal_of(module).text, "{-7, -7, -7}");
  EXPECT_TRUE(literal_of(module).is_integer);
  EXPECT_EQ(literal_of(module).integers, (std::vector<std::int64_t>{-7, -7, -7}));
  EXPECT_EQ(literal_of(parse(with_root("f32[2,1]{1,0} constant(1.5)"))).text, "{ {1.5}, {1.5} }");
  EXPECT_EQ(literal_of(parse(with_root("pred[2]{0} constant(true)"))).text, "{1, 1}");
  EXPECT_EQ(literal_of(parse(with_root("s32[0]{0} constant(4)"))).text, "{}");
  EXPECT_THROW(parse(with_root("u8[3]{0} constant(256)")), Error);
}

TEST(HloOfTheWild, ALargeArrayOfOneNumberIsLeftOutWithAWarning) {
  const Module module = parse(with_root("s8[4096,4096]{1,0} constant(0)"));
  EXPECT_TRUE(literal_of(module).elided);
  ASSERT_EQ(module.warnings.size(), 1U);
  EXPECT_THAT(module.warnings[0], HasSubstr("more than a million elements"));
  EXPECT_THROW(parse(with_root("s8[1099511627776,0]{1,0} constant({1})")), Error);
}

TEST(HloOfTheWild, TupleLiteralsNestWithAndWithoutTypes) {
  const std::string nested = "(s32[], (s32[2]{0}, (), f32[])) constant((1, ({2,3}, (), 4.5)))";
  EXPECT_THAT(reprint(with_root(nested)), HasSubstr("constant(( 1, ( {2, 3}, (), 4.5 ) ))"));
  const std::string typed = "(s32[], f32[2]{0}) constant((s32[] 1, f32[2] {2, 3}))";
  EXPECT_THAT(reprint(with_root(typed)), HasSubstr("constant(( 1, {2, 3} ))"));
}

TEST(HloOfTheWild, AsyncStartsAliasTheirOperands) {
  constexpr const char* kStart = R"(HloModule m
%w (q: f32[4]) -> f32[4] {
  %q = f32[4]{0} parameter(0)
  ROOT %z = f32[4]{0} negate(f32[4]{0} %q)
}
ENTRY %e (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %s = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(f32[4]{0} %p), calls=%w, output_to_operand_aliasing={{1}: (0, {})}
  ROOT %d = f32[4]{0} async-done(((f32[4]{0}), f32[4]{0}, u32[]) %s)
})";
  const Module module = parse(kStart);
  EXPECT_TRUE(module.warnings.empty());
  const Instruction& start = module.entry_computation().instructions[1];
  ASSERT_EQ(start.aliasing->size(), 1U);
  EXPECT_EQ(start.aliasing->at(0).output_index, Dims{1});
  // Printed in the short form, which parses to the same module.
  EXPECT_THAT(reprint(kStart), HasSubstr("negate-start(f32[4]{0} %p), "
                                         "output_to_operand_aliasing={{1}: (0, {})}"));
}

TEST(HloOfTheWild, NumberedOperandsAreElementsOfTuples) {
  const Module module = parse(R"(HloModule m
ENTRY e {
  t = (f32[4], (s32[], f32[2,2])) parameter(0)
  a = f32[4] add(t#0, t#0)
  b = f32[4] add(f32[4] t#0, a)
  ROOT c = f32[2,2] negate(t#1#1)
})");
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(std::ranges::count(entry.instructions, Opcode::kGetTupleElement, &Instruction::opcode),
            3);  // t#0 once, t#1, t#1#1
  EXPECT_EQ(entry.instructions[2].operands, (std::vector{InstrId(1), InstrId(1)}));
  reprint(print_hlo(module));
  EXPECT_THROW(parse(with_root("f32[] negate(r#0)")), Error);
  EXPECT_THROW(parse("HloModule m\nENTRY e {\n  t = (f32[4]) parameter(0)\n"
                     "  ROOT c = f32[4] negate(t#1)\n}"),
               Error);
}

TEST(HloOfTheWild, NamesMayBeThoseOfTypes) {
  const Module module = parse(
      "HloModule f16\ns2 {\n  s4 = f32[4] parameter(0)\n  ROOT bf16 = f32[4] negate(s4)\n}\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] call(x), to_apply=s2\n}");
  EXPECT_EQ(module.name, "f16");
  EXPECT_EQ(module.computations[0].name, "s2");
  EXPECT_EQ(module.computations[0].root_instruction().name, "bf16");
}

TEST(HloOfTheWild, ACalledComputationMayStandInBraces) {
  const Module module = parse(
      "HloModule m\n%c {\n  %p = f32[4] parameter(0)\n  ROOT %n = f32[4] negate(%p)\n}\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] call(x), to_apply={%c}\n}");
  EXPECT_EQ(module.entry_computation().root_instruction().called, std::vector{ComputationId(0)});
}

// As in optimised TPU modules: the fused broadcast of a narrower number.
TEST(HloOfTheWild, ABroadcastMayChangeTheWidthOfAFloat) {
  const std::string before = "HloModule m\nENTRY e {\n  x = ";
  EXPECT_NO_THROW(
      parse(before + "bf16[4] parameter(0)\n  ROOT y = f32[4,2] broadcast(x), dimensions={0}\n}"));
  EXPECT_THROW(
      parse(before + "s32[4] parameter(0)\n  ROOT y = f32[4,2] broadcast(x), dimensions={0}\n}"),
      Error);
}

TEST(HloOfTheWild, AnUpdateMayWaitForMore) {
  constexpr const char* kText = R"(HloModule m
w {
  q = f32[4]{0} parameter(0)
  ROOT z = f32[4]{0} negate(q)
}
ENTRY e {
  p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(p), calls=w
  other = f32[4]{0} exponential(p)
  u = ((f32[4]{0}), f32[4]{0}, u32[]) async-update(s, other)
  ROOT d = f32[4]{0} async-done(u)
})";
  EXPECT_EQ(parse(kText).entry_computation().instructions[3].operands.size(), 2U);
}

TEST(HloOfTheWild, TablesOfStackFramesAreKept) {
  constexpr const char* kTables = R"(HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

FileNames
1 "a \"b\".py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY %e (p: f32[4]) -> f32[4] {
  ROOT %p = f32[4]{0} parameter(0), metadata={op_name="p" stack_frame_id=1}
}

)";
  EXPECT_EQ(reprint(kTables), kTables);
  EXPECT_THAT(print_hlo(parse(kTables), {.short_form = true}),
              testing::Not(HasSubstr("FileNames")));
}

TEST(HloOfTheWild, AnUpdateThatBringsTheOperandsIsTheStart) {
  const Module module = parse(R"(HloModule m, is_scheduled=true

%work (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  ROOT %c = f32[8]{0} custom-call(%a, %b), custom_call_target="offloaded"
}, execution_thread="sparsecore"

ENTRY %e (p: f32[8], q: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %start = ((), (), (s32[4]{0}, s32[2]{0})) async-start(), async_execution_thread="sparsecore", calls=%work
  %n = f32[8]{0} negate(%p)
  %update = ((f32[8]{0}, f32[8]{0}), f32[8]{0}, (s32[4]{0})) async-update(%start, %n, %q), output_to_operand_aliasing={{2,0}: (0, {2,0})}
  ROOT %done = f32[8]{0} async-done(%update)
}
)");
  const Computation& entry = module.entry_computation();
  const Instruction& start = entry.at(entry.root_instruction().operands[0]);
  EXPECT_EQ(start.name, "update");
  EXPECT_EQ(start.opcode, Opcode::kAsyncStart);
  EXPECT_EQ(start.operands.size(), 2U);
  EXPECT_EQ(module.at(start.called.at(0)).name, "work");
  EXPECT_THAT(module.warnings, testing::IsEmpty());
}

TEST(HloOfTheWild, SparseAndTiledLayoutsAreKept) {
  for (const char* layout :
       {"1,0:D(D,C+~)#(u32)*(u32)P((s32[3]{0}, f32[5]{0}))", "1,0:T(8,128)(2,1)L(1024)E(16)S(1)",
        "0,1:T(2,*,128)SC(1:50,200)M(8)"}) {
    const std::string shape = "bf16[10,200]{" + std::string(layout) + "}";
    EXPECT_THAT(reprint(with_root(shape + " parameter(0)")), HasSubstr(shape)) << layout;
  }
  EXPECT_THROW(parse(with_root("f32[2,2]{1,0:D(D,D)P(f32[4]{0})} parameter(0)")), Error);
}
}  // namespace
}  // namespace tilecast::ir
