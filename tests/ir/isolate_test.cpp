// A kernel isolated from its module is the same kernel, in memory and as text.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/canonical_hash.h"
#include "ir/kernels/kernel_module.h"
#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "program_kernels.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

Module parse(const std::string& text) {
  return parse_hlo(base::SourceText("test.hlo", text));
}

InstrId find(const Computation& computation, const std::string& name) {
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    if (computation.instructions[i].name == name) return InstrId(i);
  }
  throw Error("no " + name);
}

Kernel only_kernel(const Module& module) {
  const std::vector<KernelPlace> places = kernel_places(module);
  if (places.size() != 1)
    throw Error(std::to_string(places.size()) + " kernels:\n" + print_hlo(module));
  WorkCounter counter(module);
  return make_kernel(module, places[0].computation, places[0].instruction, counter);
}

// Isolates one kernel, prints it and reads it back.
void expect_same_kernel(const Module& module, const KernelPlace& place, WorkCounter& counter) {
  const Kernel kernel = make_kernel(module, place.computation, place.instruction, counter);
  const Module alone = isolate(module, place.computation, place.instruction, "kernel");
  const std::string text = print_hlo(alone);
  const Kernel kept = only_kernel(alone);
  ASSERT_EQ(canonical_hash(kept), canonical_hash(kernel)) << text;
  ASSERT_EQ(kept.parameters().size(), kernel.parameters().size()) << text;
  ASSERT_EQ(kept.work().flops, kernel.work().flops) << text;
  ASSERT_EQ(kept.work().bytes_accessed, kernel.work().bytes_accessed) << text;
  const Module read = parse(text);
  ASSERT_EQ(print_hlo(read), text);
  ASSERT_EQ(canonical_hash(only_kernel(read)), canonical_hash(kernel)) << text;
}

std::size_t expect_same_kernels(const Module& module) {
  WorkCounter counter(module);
  const std::vector<KernelPlace> places = kernel_places(module);
  for (const KernelPlace& place : places) {
    SCOPED_TRACE(module.name + " " + module.at(place.computation).at(place.instruction).name);
    expect_same_kernel(module, place, counter);
    if (::testing::Test::HasFatalFailure()) break;
  }
  return places.size();
}

TEST(Isolate, GivesAParameterPerArrayRead) {
  const Module module = parse(R"(HloModule m
fused { a = f32[8] parameter(0)
 b = (f32[8], f32[4]) parameter(1)
 c = f32[8] get-tuple-element(b), index=0
 ROOT s = f32[8] add(a, c) }
ENTRY main { x = f32[8] parameter(0)
 y = f32[4] parameter(1)
 e = f32[8] exponential(x)
 t = (f32[8], f32[4]) tuple(e, y)
 ROOT fusion.1 = f32[8] fusion(x, t), kind=kLoop, calls=fused })");
  const Module alone =
      isolate(module, module.entry, find(module.entry_computation(), "fusion.1"), "kernel");
  EXPECT_EQ(alone.name, "kernel");
  const Computation& entry = alone.entry_computation();
  ASSERT_EQ(entry.parameters.size(), 3u);
  EXPECT_EQ(entry.at(entry.parameters[0]).name, "x");
  EXPECT_EQ(entry.at(entry.parameters[1]).name, "t.0");
  EXPECT_EQ(entry.at(entry.parameters[2]).name, "t.1");
  EXPECT_EQ(entry.root_instruction().name, "fusion.1");
  EXPECT_EQ(alone.computations.size(), 2u);
  EXPECT_EQ(only_kernel(alone).parameters().size(), 2u) << "y is read by nothing";
  expect_same_kernels(module);
}

TEST(Isolate, KeepsScalarConstantsAndOperandsUsedTwice) {
  const Module module = parse(R"(HloModule m
sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[8,4] parameter(0)
 e = f32[8,4] exponential(x)
 zero = f32[] constant(0)
 r = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
 ROOT m = f32[8] multiply(r, r) })");
  const Computation& entry = module.entry_computation();
  const Module reduce = isolate(module, module.entry, find(entry, "r"), "kernel");
  EXPECT_EQ(reduce.entry_computation().parameters.size(), 1u);
  EXPECT_EQ(reduce.entry_computation().instructions.size(), 3u);
  const Module square = isolate(module, module.entry, find(entry, "m"), "kernel");
  EXPECT_EQ(square.entry_computation().parameters.size(), 1u);
  EXPECT_EQ(square.computations.size(), 1u) << "nothing that the kernel does not call";
  expect_same_kernels(module);
}

TEST(Isolate, KeepsAsynchronousChainsWhole) {
  const Module module = parse(R"(HloModule m
ENTRY main { x = f32[8,128] parameter(0)
 start = (f32[8,128], f32[8,128], u32[]) copy-start(x)
 other = f32[8,128] negate(x)
 done = f32[8,128] copy-done(start)
 ROOT s = f32[8,128] add(done, other) })");
  const Computation& entry = module.entry_computation();
  const Module alone = isolate(module, module.entry, find(entry, "start"), "kernel");
  EXPECT_EQ(alone.entry_computation().instructions.size(), 3u);
  EXPECT_EQ(alone.entry_computation().root_instruction().name, "done");
  EXPECT_THROW((void)isolate(module, module.entry, find(entry, "done"), "kernel"), Error);
  expect_same_kernels(module);
}

TEST(Isolate, KeepsBuffersShared) {
  const Module module = parse(R"(HloModule m
fused { a = f32[8,4] parameter(0)
 b = f32[1,4] parameter(1)
 i = s32[] parameter(2)
 z = s32[] constant(0)
 ROOT u = f32[8,4] dynamic-update-slice(a, b, i, z) }
ENTRY main { x = f32[8,4] parameter(0)
 y = f32[1,4] parameter(1)
 i = s32[] parameter(2)
 ROOT f = f32[8,4] fusion(x, y, i), kind=kLoop, calls=fused, output_to_operand_aliasing={{}: (0, {})} })");
  const Module alone =
      isolate(module, module.entry, find(module.entry_computation(), "f"), "kernel");
  EXPECT_EQ(only_kernel(alone).in_place().size(), 1u);
  expect_same_kernels(module);
}

TEST(Isolate, KeepsEveryKernelOfTheShippedPrograms) {
  for (const Module& module : shipped_programs()) EXPECT_GT(expect_same_kernels(module), 0u);
}

TEST(Isolate, KeepsDeviceLayouts) {
  for (const Module& module : shipped_programs()) {
    expect_same_kernels(assign_layouts(module, LayoutRules{}));
  }
}

TEST(Isolate, KeepsEveryKernelOfThePublicModules) {
  const auto files = support::shared_files("hlo/public", ".hlo");
  if (files.empty()) GTEST_SKIP() << "no modules in " << support::shared_dir();
  std::size_t kernels = 0;
  for (const std::filesystem::path& file : files) {
    kernels += expect_same_kernels(read_hlo_file(file.string()));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kernels, files.size());
  RecordProperty("kernels", static_cast<int>(kernels));
}

}  // namespace
}  // namespace tilecast::ir
