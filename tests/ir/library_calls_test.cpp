// Calls of cuBLAS and cuDNN as the operations that they perform.
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

std::string call(const std::string& target, const std::string& operand, const std::string& config) {
  return "HloModule m, is_scheduled=true\nENTRY main {\n  a = " + operand +
         " parameter(0)\n  ROOT c = (" + operand +
         ", s8[64]) custom-call(a, a, a), custom_call_target=\"" + target + "\"" +
         (config.empty() ? "" : ", backend_config=" + config) + "\n}\n";
}

const CustomCallCost& cost_of(const Program& program) {
  return *program.kernels()[0].kernel.custom_call_cost();
}

TEST(LibraryCalls, AProductWhoseTupleIsTheResultIsADotToo) {
  const Program program = program_of(R"(HloModule m, is_scheduled=true
ENTRY main {
  a = bf16[64,32]{1,0} parameter(0)
  b = bf16[32,128]{1,0} parameter(1)
  ROOT c = (bf16[64,128]{1,0}, s8[1024]{0}) custom-call(a, b), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}
}
)");
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].kernel.opcode(), Opcode::kDot);
  EXPECT_EQ(program.kernels()[0].kernel.work().flops, 2.0F * 64 * 128 * 32);
}

TEST(LibraryCalls, ASelectionIsATopk) {
  const Program program = program_of(R"(HloModule m, is_scheduled=true
ENTRY main {
  a = f32[16,1024]{1,0} parameter(0)
  c = (f32[16,8]{1,0}, s32[16,8]{1,0}) custom-call(a), custom_call_target="__gpu$TopK"
  ROOT v = f32[16,8]{1,0} get-tuple-element(c), index=0
}
)");
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].kernel.opcode(), Opcode::kTopK);
}

TEST(LibraryCalls, AttentionMultipliesWhatItsConfigurationSays) {
  const std::string products = R"("bmm1_dot_dimension_numbers":{},"bmm2_dot_dimension_numbers":{})";
  const std::string gradients =
      R"("bmm1_grad_gemm1_dot_dimension_numbers":{},"bmm1_grad_gemm2_dot_dimension_numbers":{},)"
      R"("bmm2_grad_gemm1_dot_dimension_numbers":{},"bmm2_grad_gemm2_dot_dimension_numbers":{})";
  const auto config = [](const std::string& numbers, const std::string& mask) {
    return R"({"cudnn_fmha_backend_config":{"intermediate_tensor_shape":{"dimensions":["2","4","256","512"]},)" +
           numbers + R"(,"mask_type":")" + mask + R"("}})";
  };
  const double scores = 2.0 * 4 * 256 * 512, head = 64;
  const auto flops = [&](const std::string& numbers, const std::string& mask) {
    return cost_of(
               program_of(call("__cudnn$fmhaSoftmax", "bf16[2,4,256,64]", config(numbers, mask))))
        .flops;
  };
  EXPECT_EQ(flops(products, "NO_MASK"), 2 * 2 * scores * head);
  EXPECT_EQ(flops(products, "CAUSAL"), 2 * scores * head);
  EXPECT_EQ(flops(gradients, "NO_MASK"), 5 * 2 * scores * head);
}

TEST(LibraryCalls, SolversCountTheirTextbookOperations) {
  const double n = 128, m = 512;
  const auto flops = [](const std::string& target, const std::string& operand) {
    return cost_of(program_of(call(target, operand, ""))).flops;
  };
  EXPECT_EQ(flops("cusolver_gesvd_ffi", "f32[512,128]"), 6 * m * n * n + 20 * n * n * n);
  EXPECT_EQ(flops("lapack_sgesdd_ffi", "f32[3,512,128]"), 3 * (6 * m * n * n + 20 * n * n * n));
  EXPECT_EQ(flops("Eigh", "f32[128,128]"), 9 * n * n * n);
  EXPECT_EQ(flops("cusolver_geqrf_ffi", "f32[512,128]"), 2 * m * n * n - 2 * n * n * n / 3);
  EXPECT_EQ(flops("cusolver_getrf_ffi", "c64[128,128]"), 4 * (n * n * n - n * n * n / 3));
  const Program other = program_of(call("gesvd_of_mine", "f32[128,128]", ""));
  EXPECT_FALSE(other.kernels()[0].kernel.custom_call_cost());
}

}  // namespace
}  // namespace tilecast::ir
