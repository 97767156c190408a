#include "ir/memory_assignment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

constexpr int kSpace = 1;
constexpr std::int64_t kKilobyte = 1024, kArray = 4 * kKilobyte;  // f32[8,128]

// The module with TPU layouts, and on-chip space for `capacity` bytes of results.
Module assigned(std::string_view text, std::int64_t capacity) {
  Module module = assign_layouts(parse_hlo(base::SourceText("m.hlo", std::string(text))), {});
  (void)keep_on_chip(module, {kSpace, capacity});
  return module;
}

// Names of the results kept on chip, in the order of the text.
std::string kept(const Computation& computation) {
  std::string names;
  for (const Instruction& op : computation.instructions) {
    if (op.shape.memory_space() == kSpace) names += op.name + " ";
  }
  return names;
}

std::string kept_of(std::string_view instructions, std::int64_t capacity) {
  const std::string text =
      fmt::format("HloModule m\n\nENTRY e {{\n  p = f32[8,128] parameter(0)\n{}}}\n", instructions);
  return kept(assigned(text, capacity).entry_computation());
}

TEST(KeepOnChip, ResultsThatOnlyKernelsReadStay) {
  EXPECT_EQ(kept_of("  a = f32[8,128] negate(p)\n"
                    "  b = f32[8,128] exponential(a)\n"
                    "  ROOT c = f32[8,128] add(a, b)\n",
                    2 * kArray),
            "a b ");
}

TEST(KeepOnChip, ParametersAndWhatTheComputationReturnsLieInMainMemory) {
  EXPECT_EQ(kept_of("  a = f32[8,128] negate(p)\n"
                    "  b = f32[8,128] exponential(a)\n"
                    "  ROOT t = (f32[8,128], f32[8,128]) tuple(a, b)\n",
                    8 * kArray),
            "");
}

TEST(KeepOnChip, ABitcastNamesTheSameArray) {
  EXPECT_EQ(kept_of("  a = f32[8,128] negate(p)\n"
                    "  v = f32[1024] bitcast(a)\n"
                    "  ROOT c = f32[1024] exponential(v)\n",
                    kArray),
            "a v ");
}

// While d is computed, a is needed at the end and b and c are read: four arrays. If fewer fit, the
// one with the furthest last use is evicted; among equals, the latest one.
TEST(KeepOnChip, WhereNotAllFitTheLastUsedGoesToMainMemory) {
  const std::string_view text =
      "  a = f32[8,128] negate(p)\n"
      "  b = f32[8,128] exponential(p)\n"
      "  c = f32[8,128] cosine(b)\n"
      "  d = f32[8,128] add(b, c)\n"
      "  ROOT f = f32[8,128] add(a, d)\n";
  EXPECT_EQ(kept_of(text, 4 * kArray), "a b c d ");
  EXPECT_EQ(kept_of(text, 3 * kArray), "a b c ");
  EXPECT_EQ(kept_of(text, 2 * kArray), "b c ");
  EXPECT_EQ(kept_of(text, kArray), "b ");
  EXPECT_EQ(kept_of(text, kArray - 1), "");
  EXPECT_EQ(kept_of(text, 0), "");
}

TEST(KeepOnChip, AnUpdateInPlaceStaysWhereItsTargetIs) {
  EXPECT_EQ(kept_of("  i = s32[] constant(0)\n"
                    "  a = f32[1,128] slice(p), slice={[0:1], [0:128]}\n"
                    "  u = f32[8,128] dynamic-update-slice(p, a, i, i)\n"
                    "  ROOT c = f32[8,128] negate(u)\n",
                    8 * kArray),
            "a ");
}

TEST(KeepOnChip, EachResultOfAFusionHasItsOwnPlace) {
  const Module module = assigned(
      "HloModule m\n\n"
      "f {\n"
      "  q = f32[8,128] parameter(0)\n"
      "  n = f32[8,128] negate(q)\n"
      "  x = f32[8,128] exponential(q)\n"
      "  ROOT t = (f32[8,128], f32[8,128]) tuple(n, x)\n"
      "}\n\n"
      "ENTRY e {\n"
      "  p = f32[8,128] parameter(0)\n"
      "  f1 = (f32[8,128], f32[8,128]) fusion(p), kind=kLoop, calls=f\n"
      "  g0 = f32[8,128] get-tuple-element(f1), index=0\n"
      "  g1 = f32[8,128] get-tuple-element(f1), index=1\n"
      "  c = f32[8,128] cosine(g0)\n"
      "  ROOT t = (f32[8,128], f32[8,128]) tuple(g1, c)\n"
      "}\n",
      8 * kArray);
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(kept(entry), "g0 ");
  EXPECT_EQ(entry.instructions[1].shape.elements[0].memory_space(), kSpace);
  EXPECT_EQ(entry.instructions[1].shape.elements[1].memory_space(), 0);
}

TEST(KeepOnChip, LoopsKeepWhatTheirBodiesMakeAndRead) {
  const Module module = assigned(
      "HloModule m\n\n"
      "condition {\n"
      "  s = (s32[], f32[8,128]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(7)\n"
      "  ROOT less = pred[] compare(i, n), direction=LT\n"
      "}\n\n"
      "body {\n"
      "  s = (s32[], f32[8,128]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[8,128] get-tuple-element(s), index=1\n"
      "  one = s32[] constant(1)\n"
      "  next = s32[] add(i, one)\n"
      "  a = f32[8,128] negate(x)\n"
      "  b = f32[8,128] exponential(a)\n"
      "  ROOT t = (s32[], f32[8,128]) tuple(next, b)\n"
      "}\n\n"
      "ENTRY e {\n"
      "  p = f32[8,128] parameter(0)\n"
      "  z = s32[] constant(0)\n"
      "  q = f32[8,128] negate(p)\n"
      "  s0 = (s32[], f32[8,128]) tuple(z, q)\n"
      "  ROOT w = (s32[], f32[8,128]) while(s0), condition=condition, body=body\n"
      "}\n",
      8 * kArray);
  EXPECT_EQ(kept(module.entry_computation()), "");
  const auto body = std::ranges::find(module.computations, "body", &Computation::name);
  ASSERT_NE(body, module.computations.end());
  EXPECT_EQ(kept(*body), "a ");
}

}  // namespace
}  // namespace tilecast::ir
