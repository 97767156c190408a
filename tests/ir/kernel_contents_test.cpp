#include "ir/kernels/kernel_contents.h"

#include <gtest/gtest.h>

#include "base/source_text.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

Program program_with(const std::string& body, int jobs = 1) {
  const std::string text =
      "HloModule m\n"
      "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
      "ENTRY e { a = f32[64,128] parameter(0) b = f32[64,128] parameter(1)\n" +
      body + "}\n";
  return make_program(parse_hlo(base::SourceText("test.hlo", text)), {.jobs = jobs});
}

bool shared(const Program& program, std::size_t i, std::size_t j) {
  return program.kernels()[i].kernel.content() == program.kernels()[j].kernel.content();
}

TEST(KernelContents, EqualKernelsKeepOneContentAndTheirOwnNames) {
  const Program program = program_with(
      "c = f32[64,128] add(a, b), metadata={op_name=\"first\"}\n"
      "ROOT d = f32[64,128] add(b, c), metadata={op_name=\"second\"}\n");
  ASSERT_EQ(program.kernels().size(), 2U);
  EXPECT_TRUE(shared(program, 0, 1));
  const Kernel& first = program.kernels()[0].kernel;
  const Kernel& second = program.kernels()[1].kernel;
  EXPECT_EQ(first.ops().data(), second.ops().data());
  EXPECT_EQ(first.name(), "c");
  EXPECT_EQ(second.name(), "d");
  EXPECT_EQ(first.op_name(), "first");
  EXPECT_EQ(second.op_name(), "second");
  EXPECT_EQ(first.name_of(first.outputs()[0]), "c");
  EXPECT_EQ(second.name_of(second.outputs()[0]), "d");
  EXPECT_EQ(second.name_of(second.parameters()[0]), "b");
}

TEST(KernelContents, WhatComputesSomethingElseIsAnother) {
  const auto are_one = [](const std::string& one, const std::string& other) {
    const Program program = program_with(one + "\n" + other + "\nROOT r = f32[64,128] negate(a)\n");
    EXPECT_EQ(program.kernels().size(), 3U);
    return shared(program, 0, 1);
  };
  EXPECT_TRUE(are_one("c = f32[64,128] exponential(a)", "d = f32[64,128] exponential(b)"));
  EXPECT_FALSE(are_one("c = f32[64,128] exponential(a)", "d = f32[64,128] tanh(b)"));
  EXPECT_FALSE(are_one("c = f32[64,128] add(a, b)", "d = f32[64,128] add(b, b)"));
  EXPECT_FALSE(are_one("c = pred[64,128] compare(a, b), direction=LT",
                       "d = pred[64,128] compare(a, b), direction=GT"));
  EXPECT_FALSE(are_one("c = f32[32,128] slice(a), slice={[0:32], [0:128]}",
                       "d = f32[32,128] slice(a), slice={[32:64], [0:128]}"));
  EXPECT_TRUE(are_one(
      "one = f32[] constant(1)\nc = f32[64] reduce(a, one), dimensions={1}, to_apply=add",
      "same = f32[] constant(1)\nd = f32[64] reduce(b, same), dimensions={1}, to_apply=add"));
  EXPECT_FALSE(
      are_one("one = f32[] constant(1)\nc = f32[64] reduce(a, one), dimensions={1}, to_apply=add",
              "two = f32[] constant(2)\nd = f32[64] reduce(a, two), dimensions={1}, to_apply=add"));
}

TEST(KernelContents, WhatSpeaksToTheWorldOutsideIsNeverShared) {
  const Program program = program_with(
      "c = f32[64,128] all-reduce(a), channel_id=1, replica_groups={{0}}, to_apply=add\n"
      "d = f32[64,128] all-reduce(a), channel_id=2, replica_groups={{0}}, to_apply=add\n"
      "e1 = f32[64,128] custom-call(a), custom_call_target=\"t\"\n"
      "ROOT e2 = f32[64,128] custom-call(a), custom_call_target=\"t\"\n");
  ASSERT_EQ(program.kernels().size(), 4U);
  EXPECT_FALSE(shared(program, 0, 1));
  EXPECT_FALSE(shared(program, 2, 3));
}

TEST(KernelContents, TheProgramDoesNotDependOnThreads) {
  std::string body = "op0 = f32[64,128] add(a, b)\n";
  constexpr std::size_t kKernels = 1000;
  for (std::size_t i = 1; i < kKernels; ++i) {
    const std::string before = "op" + std::to_string(i - 1), own = "op" + std::to_string(i);
    body += (i + 1 == kKernels ? "ROOT " : "") + own + " = f32[64,128] " +
            (i % 7 == 0 ? "multiply" : "add") + "(a, " + before + ")\n";
  }
  const Program one = program_with(body);
  const Program many = program_with(body, 4);
  ASSERT_EQ(one.kernels().size(), kKernels);
  ASSERT_EQ(many.kernels().size(), kKernels);
  for (std::size_t i = 0; i < kKernels; ++i) {
    const Kernel& a = one.kernels()[i].kernel;
    const Kernel& b = many.kernels()[i].kernel;
    EXPECT_EQ(a.name(), b.name());
    EXPECT_EQ(fingerprint(a), fingerprint(b));
    EXPECT_EQ(shared(one, 0, i), shared(many, 0, i)) << i;
    EXPECT_EQ(shared(one, 0, i), i % 7 != 0 || i == 0) << i;
  }
}

}  // namespace
}  // namespace tilecast::ir
