// Assumptions made when a program is loaded become notes.
#include "ir/load_program.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "ir/backend_config.h"
#include "ir/dump_folder.h"
#include "ir/library_calls.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> notes(const std::string& text, const LayoutRules& rules) {
  LoadOptions options;
  const DeviceProgram built =
      program_for(load_module(base::SourceText("test.hlo", text), options), rules, options);
  std::vector<std::string> all;
  for (const Note& note : built.notes) all.push_back(note.what);
  return all;
}

const LayoutRules kTiled;
const LayoutRules kPlain{.tiled = false};

TEST(LoadProgram, SaysThatShardingsAreNotApplied) {
  const auto text = [](const std::string& sharding) {
    return "HloModule m, num_partitions=8\nENTRY e {\n  p = f32[64,64] parameter(0), sharding={" +
           sharding + "}\n  ROOT r = f32[64,64] negate(p)\n}\n";
  };
  EXPECT_THAT(notes(text("devices=[8,1]0,1,2,3,4,5,6,7"), kPlain),
              Contains(AllOf(HasSubstr("not partitioned"), HasSubstr("8 devices"))));
  EXPECT_THAT(notes(text("replicated"), kPlain), Not(Contains(HasSubstr("not partitioned"))));
}

TEST(LoadProgram, SaysForWhichMachineAModuleWasCompiled) {
  const std::string plain =
      "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[64,64]{1,0} parameter(0)\n"
      "  ROOT r = f32[64,64]{1,0} negate(p)\n}\n";
  EXPECT_THAT(notes(plain, kTiled), Contains(HasSubstr("compiled for a GPU")));
  EXPECT_THAT(notes(plain, kPlain), Not(Contains(HasSubstr("compiled for"))));
  const std::string tiled =
      "HloModule m\nENTRY e {\n  p = f32[64,128]{1,0:T(8,128)} parameter(0)\n"
      "  ROOT r = f32[64,128]{1,0:T(8,128)} negate(p)\n}\n";
  EXPECT_THAT(notes(tiled, kPlain), Contains(HasSubstr("compiled for a TPU")));
}

TEST(LoadProgram, WhatIsFusedForXlaGpuRunsAsItsPrograms) {
  const std::string text =
      "HloModule m\nENTRY e {\n  p = f32[64,64] parameter(0)\n  q = f32[64,64] negate(p)\n"
      "  ROOT r = f32[64,64] reverse(q), dimensions={0}\n}\n";
  const auto launches = [&](Compiler compiler, bool fuse) {
    const LayoutRules rules{.tiled = false, .fusion = {.compiler = compiler}};
    const LoadOptions options{.fuse = fuse};
    return program_for(load_module(base::SourceText("test.hlo", text), options), rules, options)
        .program.host_launches();
  };
  EXPECT_GT(launches(Compiler::kXlaGpu, true), 0);
  EXPECT_EQ(launches(Compiler::kXlaGpu, false), 0) << "not fused: nobody's program";
  EXPECT_EQ(launches(Compiler::kXlaTpu, true), 0);
}

TEST(LoadProgram, SaysWhoseRulesFused) {
  const std::string text =
      "HloModule m\nENTRY e {\n  p = f32[64,64] parameter(0)\n  a = f32[64,64] negate(p)\n"
      "  ROOT r = f32[64,64] abs(a)\n}\n";
  LayoutRules rules = kPlain;
  EXPECT_THAT(notes(text, rules), Contains(HasSubstr("rules for XLA:TPU")));
  rules.fusion.compiler = Compiler::kXlaGpu;
  EXPECT_THAT(notes(text, rules), Contains(HasSubstr("rules for XLA:GPU")));
  rules.fusion.compiler = Compiler::kNone;
  EXPECT_THAT(notes(text, rules), Contains(HasSubstr("fusion: none")));
  const LoadOptions options;
  const auto count = [&](Compiler compiler) {
    rules.fusion.compiler = compiler;
    return program_for(load_module(base::SourceText("test.hlo", text), options), rules, options)
        .program.kernels()
        .size();
  };
  EXPECT_EQ(count(Compiler::kXlaGpu), 1U);
  EXPECT_EQ(count(Compiler::kNone), 2U);
}

TEST(LoadProgram, SaysThatThereIsNoKernel) {
  EXPECT_THAT(notes("HloModule m\nENTRY e {\n  ROOT p = f32[8] parameter(0)\n}\n", kPlain),
              Contains(HasSubstr("no kernel")));
}

TEST(LoadProgram, NarrowTypesArePackedOnEveryMachine) {
  const std::string text =
      "HloModule m\nENTRY e {\n  w = s4[64,128] parameter(0)\n  ROOT c = bf16[64,128] "
      "convert(w)\n}\n";
  for (const LayoutRules& rules : {kTiled, kPlain}) {
    LoadOptions options;
    const DeviceProgram built =
        program_for(load_module(base::SourceText("test.hlo", text), options), rules, options);
    const Kernel& kernel = built.program.kernels()[0].kernel;
    EXPECT_EQ(unpadded_bytes(kernel.op(kernel.parameters()[0]).shape), 64 * 128 / 2);
  }
}

// --- Which files are read from a folder of XLA dumps.

namespace fs = std::filesystem;

class DumpFolderTest : public testing::Test, protected support::Folder {
 protected:
  void dump(std::initializer_list<const char*> names) {
    for (const char* name : names) write(name, "x");
  }
  // `id name stage file` of the chosen modules.
  std::vector<std::string> chosen() {
    std::vector<std::string> lines;
    for (const DumpedModule& module : read_dump_folder(folder().string()).modules) {
      lines.push_back(std::to_string(module.id) + " " + module.name + " " + module.stage + " " +
                      fs::path(module.path).filename().string());
    }
    return lines;
  }
};

TEST_F(DumpFolderTest, PicksTheModulesAfterOptimisationAndListsTheRest) {
  dump({"module_0001.jit_f.cl_123.before_optimizations.txt",
        "module_0001.jit_f.cl_123.after_optimizations.txt",
        "module_0001.jit_f.cl_123.after_optimizations-buffer-assignment.txt",
        "module_0001.jit_f.cl_123.after_optimizations-memory-usage-report.txt",
        "module_0001.jit_f.cl_123.thunk_sequence.txt",
        "module_0001.jit_f.0002.simplification.after_algsimp.before_dce.txt",
        "module_0002.jit_g.before_optimizations.txt", "module_0001.jit_f.debug_options"});
  EXPECT_THAT(chosen(), ElementsAre("1 jit_f after_optimizations "
                                    "module_0001.jit_f.cl_123.after_optimizations.txt"));
  EXPECT_EQ(read_dump_folder(folder().string()).others.size(), 7U);
}

TEST_F(DumpFolderTest, KnowsTheNamesOfEveryBackend) {
  dump({"module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt",
        "module_0002.jit_g.gfx942_gpu_after_optimizations.hlo.pb",
        "module_0003.jit_h.cpu_after_optimizations.txt",
        "module_0004.SyncTensorsGraph.17.after_optimizations.txt",
        "module_0005.after_optimizations.txt", "module_0006.jit_i.after_optimizations.hlo.pb.gz"});
  EXPECT_THAT(
      chosen(),
      ElementsAre(
          "1 jit_f after_optimizations module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt",
          "2 jit_g after_optimizations module_0002.jit_g.gfx942_gpu_after_optimizations.hlo.pb",
          "3 jit_h after_optimizations module_0003.jit_h.cpu_after_optimizations.txt",
          "4 SyncTensorsGraph.17 after_optimizations "
          "module_0004.SyncTensorsGraph.17.after_optimizations.txt",
          "5  after_optimizations module_0005.after_optimizations.txt",
          "6 jit_i after_optimizations module_0006.jit_i.after_optimizations.hlo.pb.gz"));
}

TEST_F(DumpFolderTest, TakesTheLastStageAndTextBeforeProto) {
  dump({"module_0001.jit_f.after_optimizations_before_buffer_assignment.txt",
        "module_0001.jit_f.after_optimizations_after_buffer_assignment.txt",
        "module_0001.jit_f.after_optimizations_after_buffer_assignment.hlo.pb"});
  EXPECT_THAT(chosen(),
              ElementsAre("1 jit_f after_optimizations_after_buffer_assignment "
                          "module_0001.jit_f.after_optimizations_after_buffer_assignment.txt"));
}

TEST_F(DumpFolderTest, TakesModulesBeforeOptimisationWhereThereIsNoOther) {
  dump({"module_0001.jit_f.before_optimizations.txt"});
  EXPECT_THAT(chosen(), ElementsAre("1 jit_f before_optimizations "
                                    "module_0001.jit_f.before_optimizations.txt"));
}

TEST_F(DumpFolderTest, SaysHowToDumpWhereThereIsNoModule) {
  dump({"notes.txt"});
  EXPECT_THAT(support::error_of([&] { return read_dump_folder(folder().string()); }),
              testing::HasSubstr("--xla_dump_to"));
}

// --- Calls of cuBLAS and cuDNN as the operations that they perform.

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
  const std::string windowed = products + R"(,"sliding_window_length":128)";
  EXPECT_EQ(flops(windowed, "CAUSAL"), 2 * 2 * scores * head * 128 / 512);
}

TEST(LibraryCalls, GradientsOfAConvolutionMultiplyAsOftenAsItDoes) {
  const auto flops = [](const std::string& target, const std::string& a, const std::string& b,
                        const std::string& result) {
    return cost_of(program_of("HloModule m, is_scheduled=true\nENTRY main {\n  a = " + a +
                              " parameter(0)\n  b = " + b + " parameter(1)\n  ROOT c = (" + result +
                              ", u8[0]) custom-call(a, b), window={size=3x3}, "
                              "dim_labels=b01f_01io->b01f, custom_call_target=\"" +
                              target + "\"\n}\n"))
        .flops;
  };
  const std::string input = "f32[2,16,16,8]", filter = "f32[3,3,8,4]", output = "f32[2,14,14,4]";
  const double forward = 2.0 * 2 * 14 * 14 * 4 * 3 * 3 * 8;
  EXPECT_EQ(flops("__cudnn$convBackwardInput", output, filter, input), forward);
  EXPECT_EQ(flops("__cudnn$convBackwardFilter", input, output, filter), forward);
}

TEST(LibraryCalls, RadixSortsSort) {
  const Program program = program_of(R"(HloModule m, is_scheduled=true
ENTRY main {
  k = u32[4,65536]{1,0} parameter(0)
  v = s32[4,65536]{1,0} parameter(1)
  s = (u32[4,65536]{1,0}, s32[4,65536]{1,0}, u8[1024]{0}) custom-call(k, v), custom_call_target="__cub$DeviceRadixSort"
  ROOT r = u32[4,65536]{1,0} get-tuple-element(s), index=0
}
)");
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].kernel.opcode(), Opcode::kSort);
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

TEST(BackendConfig, ReadsTheWindowBoundsWhetherNumbersAreStringsOrNot) {
  const BackendConfig config = read_backend_config(
      R"({"window_config":{"kernel_window_bounds":["3","3",2,"1"],"output_window_bounds":[4,8],)"
      R"("iteration_bounds":["2","5"],"estimated_cycles":"1234"},"flag":true})");
  ASSERT_TRUE(config.tile.has_value());
  EXPECT_EQ(config.tile->kernel_bounds, (Dims{3, 3, 2, 1}));
  EXPECT_EQ(config.tile->output_bounds, (Dims{4, 8}));
  EXPECT_TRUE(config.tile->input_bounds.empty());
  EXPECT_EQ(config.tile->iteration_bounds, (Dims{2, 5}));
  EXPECT_EQ(config.tile->estimated_cycles, 1234.0);
  EXPECT_FALSE(config.unreadable);
}

TEST(BackendConfig, ReadsTheCostEstimateOfACustomCallConfig) {
  const BackendConfig config =
      read_backend_config(R"({"custom_call_config":{"body":"abc","cost_estimate":)"
                          R"({"flops":"1000","transcendentals":8,"bytes_accessed":"4096"}}})");
  ASSERT_TRUE(config.cost.has_value());
  EXPECT_EQ(config.cost->flops, 1000);
  EXPECT_EQ(config.cost->transcendentals, 8);
  EXPECT_EQ(config.cost->bytes_accessed, 4096);
}

TEST(BackendConfig, ReadsAQuotedConfiguration) {
  const BackendConfig config =
      read_backend_config(R"("{\"window_config\":{\"output_window_bounds\":[\"7\"]}}")");
  ASSERT_TRUE(config.tile.has_value());
  EXPECT_EQ(config.tile->output_bounds, Dims{7});
}

TEST(BackendConfig, SaysNothingAboutOtherConfigurations) {
  const BackendConfig config = read_backend_config(R"({"known_trip_count":{"n":"8"}})");
  EXPECT_FALSE(config.tile.has_value());
  EXPECT_FALSE(config.cost.has_value());
  EXPECT_FALSE(config.unreadable);
}

TEST(BackendConfig, ReportsWhatItCannotRead) {
  for (const std::string text : {
           R"({"window_config":)",
           R"({"window_config":{"output_window_bounds":["-3"]}})",
           R"({"window_config":{"output_window_bounds":["1e400"]}})",
           R"({"window_config":{"output_window_bounds":"4"}})",
           R"({"cost_estimate":{"flops":"many"}})",
       }) {
    const BackendConfig config = read_backend_config(text);
    EXPECT_TRUE(config.unreadable) << text;
    EXPECT_FALSE(config.tile.has_value()) << text;
    EXPECT_FALSE(config.cost.has_value()) << text;
  }
}

TEST(BackendConfig, RefusesHostileNesting) {
  const std::string text = R"({"window_config":)" + std::string(100'000, '[');
  EXPECT_TRUE(read_backend_config(text).unreadable);
}
}  // namespace
}  // namespace tilecast::ir
