// Calls of cuBLAS and cuDNN as the operations they perform.
#include "ir/library_calls.h"

#include <gtest/gtest.h>

#include "ir/program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

// m = 64, k = 32, n = 128, in 4 batches; the second result is the library's scratch memory.
std::string gemm(const std::string& contracting = R"("2")", const std::string& tail = "") {
  return R"(HloModule jit_dot, is_scheduled=true
ENTRY main {
  a = bf16[4,64,32]{2,1,0} parameter(0)
  b = bf16[4,32,128]{2,1,0} parameter(1)
  custom-call.1 = (bf16[4,64,128]{2,1,0}, s8[1024]{0}) custom-call(a, b), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"alpha_real":1,"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":[)" +
         contracting +
         R"(],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"]}}}
  first = bf16[4,64,128]{2,1,0} get-tuple-element(custom-call.1), index=0
)" + tail +
         R"(  ROOT out = bf16[4,64,128]{2,1,0} negate(first)
}
)";
}

Program program_of(const std::string& text) {
  return make_program(parse_hlo(base::SourceText("test.hlo", text)));
}

TEST(LibraryCalls, AProductIsADotUnderTheNameOfTheCall) {
  const Program program = program_of(gemm());
  ASSERT_EQ(program.kernels().size(), 2U);
  const Kernel& product = program.kernels()[0].kernel;
  EXPECT_EQ(product.name(), "custom-call.1");
  EXPECT_EQ(product.opcode(), Opcode::kDot);
  EXPECT_EQ(product.work().flops, 4 * 2.0F * 64 * 128 * 32);
  EXPECT_EQ(product.work().bytes_accessed, 4 * 2.0F * (64 * 32 + 32 * 128 + 64 * 128));
  ASSERT_EQ(program.kernels()[1].waits_for.size(), 1U);
}

TEST(LibraryCalls, StayOpaqueWhereDimensionsDoNotFit) {
  for (const char* contracting : {R"("1")", R"("9")", R"("x")", R"("2","1")", "{}"}) {
    EXPECT_FALSE(
        with_library_calls_replaced(parse_hlo(base::SourceText("test.hlo", gemm(contracting)))))
        << contracting;
  }
}

TEST(LibraryCalls, StayOpaqueWhereTheScratchMemoryIsUsed) {
  const std::string used = "  scratch = s8[1024]{0} get-tuple-element(custom-call.1), index=1\n";
  EXPECT_FALSE(
      with_library_calls_replaced(parse_hlo(base::SourceText("test.hlo", gemm(R"("2")", used)))));
}

TEST(LibraryCalls, LeaveOtherCallsAndModulesWithoutAnyAlone) {
  const std::string text = R"(HloModule m
ENTRY main {
  a = f32[8] parameter(0)
  ROOT c = f32[8] custom-call(a, a), custom_call_target="mine"
}
)";
  EXPECT_FALSE(with_library_calls_replaced(parse_hlo(base::SourceText("test.hlo", text))));
}

TEST(LibraryCalls, AForwardConvolutionHasItsFlops) {
  const Program program = program_of(R"(HloModule jit_conv, is_scheduled=true
ENTRY main {
  x = f32[2,16,16,8]{3,2,1,0} parameter(0)
  w = f32[3,3,8,4]{3,2,1,0} parameter(1)
  cudnn-conv.1 = (f32[2,14,14,4]{3,2,1,0}, u8[0]{0}) custom-call(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convForward"
  ROOT y = f32[2,14,14,4]{3,2,1,0} get-tuple-element(cudnn-conv.1), index=0
}
)");
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].kernel.opcode(), Opcode::kConvolution);
  EXPECT_EQ(program.kernels()[0].kernel.work().flops, 2.0F * 2 * 14 * 14 * 4 * 3 * 3 * 8);
}

}  // namespace
}  // namespace tilecast::ir
