#include "ir/text/hlo_printer.h"

#include <gmock/gmock.h>

#include <string>

#include "ir/text/module_parser.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

using ::testing::HasSubstr;

Module parse(const std::string& text) {
  return parse_unverified(base::SourceText("test.hlo", text));
}

std::string printed_short(const std::string& text) {
  return print_hlo(parse(text), {.short_form = true});
}

// The root's line of a module with this entry computation.
std::string root_line(const std::string& body, const PrintOptions& options = {}) {
  return support::root_text(parse("HloModule m\n\nENTRY e {\n" + body + "\n}\n"), options);
}

// Expects `first` before `second` in the text.
void expect_before(const std::string& text, std::string_view first, std::string_view second) {
  ASSERT_NE(text.find(first), std::string::npos) << text;
  ASSERT_NE(text.find(second), std::string::npos) << text;
  EXPECT_LT(text.find(first), text.find(second)) << text;
}

TEST(HloPrinter, LongFormShowsSignatureShapesAndMetadata) {
  const std::string text =
      "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n"
      "\n"
      "ENTRY %e (p: f32[4]) -> f32[4] {\n"
      "  %p = f32[4]{0} parameter(0)\n"
      "  ROOT %n = f32[4]{0} negate(f32[4]{0} %p), metadata={op_name=\"a\"}, "
      "backend_config={\"k\":1}\n"
      "}\n\n";
  EXPECT_EQ(print_hlo(parse(text)), text);
}

TEST(HloPrinter, ShortFormLeavesThemOut) {
  EXPECT_EQ(printed_short("HloModule m\n"
                          "ENTRY %e (p: f32[4]) -> f32[4] {\n"
                          "  %p = f32[4]{0} parameter(0)\n"
                          "  ROOT %n = f32[4]{0} negate(f32[4]{0} %p), metadata={op_name=\"a\"}\n"
                          "}\n"),
            "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n"
            "\n"
            "ENTRY e {\n"
            "  p = f32[4]{0} parameter(0)\n"
            "  ROOT n = f32[4]{0} negate(p)\n"
            "}\n\n");
}

TEST(HloPrinter, UnscheduledInstructionsComeInPostOrder) {
  const std::string text = printed_short(
      "ENTRY e {\n"
      "  b = f32[] constant(2)\n"
      "  a = f32[] constant(1)\n"
      "  dead = f32[] negate(b)\n"
      "  ROOT s = f32[] subtract(a, b)\n"
      "}\n");
  expect_before(text, "dead =", "  a =");
  expect_before(text, "  b =", "dead =");
  expect_before(text, "  a =", "ROOT s");
}

TEST(HloPrinter, ScheduledInstructionsKeepTheirOrderExceptInFusions) {
  const std::string text = printed_short(
      "HloModule m, is_scheduled=true\n"
      "f {\n"
      "  y = f32[] parameter(1)\n"
      "  x = f32[] parameter(0)\n"
      "  ROOT s = f32[] subtract(x, y)\n"
      "}\n"
      "ENTRY e {\n"
      "  b = f32[] constant(2)\n"
      "  a = f32[] constant(1)\n"
      "  ROOT r = f32[] fusion(a, b), kind=kLoop, calls=f\n"
      "}\n");
  EXPECT_THAT(text, HasSubstr("HloModule m, is_scheduled=true,"));
  expect_before(text, "  b =", "  a =");
  expect_before(text, "  x =", "  y =");
}

TEST(HloPrinter, CalleesComeBeforeCallersAndBodiesBeforeConditions) {
  const std::string text = printed_short(
      "condition {\n"
      "  c = s32[] parameter(0)\n"
      "  one = s32[] constant(1)\n"
      "  ROOT lt = pred[] compare(c, one), direction=LT\n"
      "}\n"
      "body {\n"
      "  ROOT b = s32[] parameter(0)\n"
      "}\n"
      "ENTRY e {\n"
      "  i = s32[] constant(0)\n"
      "  ROOT w = s32[] while(i), body=body, condition=condition\n"
      "}\n");
  expect_before(text, "body {", "condition {");
  expect_before(text, "condition {", "ENTRY e");
  EXPECT_THAT(text, HasSubstr("while(i), condition=condition, body=body"));
}

TEST(HloPrinter, EveryFifthOperandIsCounted) {
  const std::string body =
      "  a = s32[] constant(1)\n  ROOT t = (s32[], s32[], s32[], s32[], s32[], s32[]) "
      "tuple(a, a, a, a, a, a)";
  EXPECT_THAT(root_line(body), HasSubstr("s32[] %a, /*index=5*/s32[] %a)"));
  EXPECT_THAT(root_line(body, {.short_form = true}), HasSubstr("tuple(a, a, a, a, a, a)"));
}

TEST(HloPrinter, AttributesComeInXlasOrder) {
  EXPECT_THAT(root_line("  a = f32[4,8] parameter(0)\n  b = f32[8,2] parameter(1)\n"
                        "  ROOT d = f32[4,2] dot(a, b), operand_precision={high,default}, "
                        "rhs_contracting_dims={0}, lhs_contracting_dims={1}, "
                        "sharding={replicated}"),
              HasSubstr("), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                        "operand_precision={high,default}, sharding={replicated}"));
}

TEST(HloPrinter, DefaultsAreLeftOut) {
  EXPECT_EQ(root_line("  a = f32[9,9] parameter(0)\n  ROOT s = f32[4,9] slice(a), "
                      "slice={[2:6:1], [0:9:1]}",
                      {.short_form = true}),
            "s = f32[4,9]{1,0} slice(a), slice={[2:6], [0:9]}");
  EXPECT_EQ(root_line("  a = s32[] parameter(0)\n  ROOT c = pred[] compare(a, a), direction=LT, "
                      "type=SIGNED",
                      {.short_form = true}),
            "c = pred[] compare(a, a), direction=LT");
}

TEST(HloPrinter, WindowsShowOnlyItemsThatDifferFromTheDefault) {
  EXPECT_EQ(to_string(Window{}), "{}");
  Window window(2);
  window[0].size = window[1].size = 3;
  EXPECT_EQ(to_string(window), "{size=3x3}");
  window[1].pad_low = 1;
  window[0].stride = 2;
  window[0].reversal = true;
  EXPECT_EQ(to_string(window), "{size=3x3 stride=2x1 pad=0_0x1_0 rhs_reversal=1x0}");
}

TEST(HloPrinter, PaddingShowsInteriorForAllOrNone) {
  EXPECT_EQ(to_string(std::vector<PadDim>{{0, 1, 0}, {-2, 3, 0}}), "0_1x-2_3");
  EXPECT_EQ(to_string(std::vector<PadDim>{{0, 1, 0}, {2, 3, 4}}), "0_1_0x2_3_4");
}

TEST(HloPrinter, ReplicaGroupsKeepTheirForm) {
  EXPECT_EQ(to_string(support::parse_replica_groups("{}")), "{}");
  EXPECT_EQ(to_string(support::parse_replica_groups("{{0,2}, {1,3}}")), "{{0,2},{1,3}}");
  EXPECT_EQ(to_string(support::parse_replica_groups("[2,2]<=[2,2]T(1,0)")), "[2,2]<=[2,2]T(1,0)");
}

TEST(HloPrinter, AWrappedOperationIsPrintedInsteadOfItsComputation) {
  const std::string text = printed_short(
      "ENTRY e {\n"
      "  p = f32[4] parameter(0)\n"
      "  s = ((f32[4]), f32[4], s32[]) custom-call-start(p), custom_call_target=\"x\"\n"
      "  u = ((f32[4]), f32[4], s32[]) custom-call-update(s)\n"
      "  ROOT d = f32[4] custom-call-done(u)\n"
      "}\n");
  EXPECT_THAT(text, HasSubstr("custom-call-start(p), custom_call_target=\"x\"\n"));
  EXPECT_THAT(text, HasSubstr("custom-call-update(s)\n"));
  EXPECT_THAT(text, HasSubstr("custom-call-done(u)\n"));
  EXPECT_EQ(parse(text).computations.size(), 2U);
}

TEST(HloPrinter, ALongerWrappedComputationIsPrinted) {
  const std::string text = printed_short(
      "wrapped {\n"
      "  p = f32[4] parameter(0)\n"
      "  c = f32[4] copy(p)\n"
      "  ROOT n = f32[4] negate(c)\n"
      "}\n"
      "ENTRY e {\n"
      "  p = f32[4] parameter(0)\n"
      "  s = ((f32[4]), f32[4], s32[]) async-start(p), calls=wrapped\n"
      "  ROOT d = f32[4] async-done(s)\n"
      "}\n");
  EXPECT_THAT(text, HasSubstr("async-start(p), calls=wrapped"));
  EXPECT_THAT(text, HasSubstr("async-done(s)\n"));
}

TEST(HloPrinter, AliasesSayTheirKindInTheHeader) {
  EXPECT_THAT(printed_short("HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\n"
                            "ENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n"),
              HasSubstr("input_output_alias={ {}: (0, {}, must-alias) }"));
}

TEST(HloPrinter, CountsOfOneAreNotPrinted) {
  const std::string text = printed_short(
      "HloModule m, replica_count=1, num_partitions=4\n"
      "ENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n");
  EXPECT_EQ(text.find("replica_count"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("num_partitions=4"));
}

TEST(HloPrinter, UnknownAttributesAreKept) {
  EXPECT_THAT(root_line("  p = f32[4] parameter(0)\n  ROOT n = f32[4] negate(p), novel={1,2}"),
              HasSubstr(", novel={1,2}"));
}

}  // namespace
}  // namespace tilecast::ir
