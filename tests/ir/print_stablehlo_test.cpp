// Module -> StableHLO text -> Module: the computation does not change.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "ir/canonical_hash.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/program_kernels.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

Module from_hlo(const std::string& text) {
  return parse_hlo({"test.hlo", text});
}
Module from_mlir(const std::string& text) {
  return parse_stablehlo({"test.mlir", text});
}

std::vector<std::string> kernel_hashes(const Module& module) {
  const Program program = make_program(module);
  std::vector<std::string> hashes;
  for (const ScheduledKernel& each : program.kernels()) {
    hashes.push_back(canonical_hash(each.kernel));
  }
  return hashes;
}

std::vector<std::string> kernel_opcodes(const Module& module) {
  const Program program = make_program(module);
  std::vector<std::string> names;
  for (const ScheduledKernel& each : program.kernels()) {
    names.emplace_back(name(each.kernel.opcode()));
  }
  std::ranges::sort(names);
  return names;
}

void expect_reads_back(const Module& module) {
  const std::string text = print_stablehlo(module);
  EXPECT_NO_THROW((void)print_stablehlo(from_mlir(text)));
}

constexpr const char* kAttention = R"(HloModule attention, is_scheduled=true, num_partitions=2

%largest (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0), metadata={op_name="reduce_max"}
  %y = f32[] parameter(1)
  ROOT %larger = f32[] maximum(%x, %y)
}

%fused (p: bf16[4,8], q: bf16[8,16]) -> bf16[4,16] {
  %p = bf16[4,8]{0,1} parameter(0)
  %q = bf16[8,16]{1,0:T(8,128)(2,1)} parameter(1)
  ROOT %d = bf16[4,16]{1,0} dot(%p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}
}

%body (state: (s32[], f32[16])) -> (s32[], f32[16]) {
  %state = (s32[], f32[16]) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %v = f32[16]{0} get-tuple-element(%state), index=1
  %w = f32[16]{0} negate(%v)
  ROOT %pair = (s32[], f32[16]) tuple(%next, %w)
}

%condition (state.1: (s32[], f32[16])) -> pred[] {
  %state.1 = (s32[], f32[16]) parameter(0)
  %i.1 = s32[] get-tuple-element(%state.1), index=0
  %most = s32[] constant(5)
  ROOT %less = pred[] compare(%i.1, %most), direction=LT
}

%moved (m: bf16[8,16]) -> bf16[8,16] {
  %m = bf16[8,16]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT %copy = bf16[8,16]{1,0} copy(%m)
}, execution_thread="dma"

ENTRY %main (a: bf16[4,8], b: bf16[8,16], c: f32[1,6,6,2]) -> (f32[16], f32[1,2,2,3], f32[16]) {
  %a = bf16[4,8]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}
  %b = bf16[8,16]{1,0:T(8,128)(2,1)} parameter(1)
  %c = f32[1,6,6,2]{3,2,1,0} parameter(2)
  %start = ((bf16[8,16]{1,0:T(8,128)(2,1)}), bf16[8,16]{1,0}, u32[]) async-start(%b), async_execution_thread="dma", calls=%moved, metadata={op_name="copy \"b\""}
  %product = bf16[4,16]{1,0} fusion(%a, %b), kind=kOutput, calls=%fused, metadata={op_name="jit(f)/dot"}, backend_config={"window_config":{"kernel_window_bounds":["1","1"]}}
  %wide = f32[4,16]{1,0} convert(%product)
  %least = f32[] constant(-inf)
  %top = f32[16]{0} reduce(%wide, %least), dimensions={0}, to_apply=%largest
  %zero-1 = s32[] constant(0)
  %init = (s32[], f32[16]) tuple(%zero-1, %top)
  %loop = (s32[], f32[16]) while(%init), condition=%condition, body=%body
  %out = f32[16]{0} get-tuple-element(%loop), index=1
  %weights = f32[3,3,2,3]{3,2,1,0} constant({...})
  %image = f32[1,2,2,3]{3,2,1,0} convolution(%c, %weights), window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f, control-predecessors={%loop}
  %done = bf16[8,16]{1,0} async-done(%start)
  %sum = f32[16]{0} all-reduce(%out), channel_id=3, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%largest
  ROOT %result = (f32[16], f32[1,2,2,3], f32[16]) tuple(%out, %image, %sum)
}
)";

TEST(PrintStablehlo, OpsOfStablehloAreItsOps) {
  const Module module = from_hlo(kAttention);
  const std::string text = print_stablehlo(module);
  for (const char* part :
       {"module @attention attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}",
        "func.func public @main(%a: tensor<4x8xbf16> {mhlo.sharding = \"{devices=[2,1]<=[2]}\"}, ",
        "%product = func.call @fused(%a, %b) : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> "
        "tensor<4x16xbf16> loc(\"jit(f)/dot\")",
        "%start = func.call @moved(%b)", "stablehlo.convert %product : (tensor<4x16xbf16>)",
        "%least = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        "\"stablehlo.reduce\"(%wide, %least) <{dimensions = array<i64: 0>}> ({",
        "%larger = stablehlo.maximum %x, %y : tensor<f32>", "precision = [HIGHEST, DEFAULT]",
        "stablehlo.get_tuple_element %loop_all[1] : (tuple<tensor<i32>, tensor<16xf32>>)",
        "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
        "channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("mhlo.copy")));
  const Module back = from_mlir(text);
  EXPECT_EQ(back.num_partitions, 2);
  EXPECT_THAT(print_hlo(back), HasSubstr("sharding={devices=[2,1]<=[2]}"));
}

// Results and operands that are tuples in HLO and several values in StableHLO, branches, and
// constructs that MLIR expresses as bits or with other words.
constexpr const char* kSeveral = R"(HloModule several

%largest (x: f32[], i: s32[], y: f32[], j: s32[]) -> (f32[], s32[]) {
  %x = f32[] parameter(0)
  %i = s32[] parameter(1)
  %y = f32[] parameter(2)
  %j = s32[] parameter(3)
  %is_x = pred[] compare(%x, %y), direction=GE
  %value = f32[] select(%is_x, %x, %y)
  %index = s32[] select(%is_x, %i, %j)
  ROOT %pair = (f32[], s32[]) tuple(%value, %index)
}

%less (a: f32[], b: f32[], c: s32[], d: s32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  %c = s32[] parameter(2)
  %d = s32[] parameter(3)
  ROOT %lt = pred[] compare(%a, %b), direction=LT
}

%add (s: f32[], t: f32[]) -> f32[] {
  %s = f32[] parameter(0)
  %t = f32[] parameter(1)
  ROOT %sum = f32[] add(%s, %t)
}

%taken (p: (f32[8], s32[8])) -> (f32[8], f32[]) {
  %p = (f32[8], s32[8]) parameter(0), metadata={op_name="taken"}
  %p0 = f32[8] get-tuple-element(%p), index=0
  %nought = f32[] constant(-nan)
  ROOT %results = (f32[8], f32[]) tuple(%p0, %nought)
}

%other (q: f32[8]) -> (f32[8], f32[]) {
  %q = f32[8]{0:T(256)} parameter(0)
  %none = f32[] constant(nan)
  ROOT %results.1 = (f32[8], f32[]) tuple(%q, %none)
}

%first (u: f32[]) -> f32[] {
  ROOT %u = f32[] parameter(0)
}

%second (n: ()) -> f32[] {
  %n = () parameter(0)
  ROOT %ten = f32[] constant(10)
}

ENTRY %main (v: f32[8,4], w: s32[8,4], scale: f32[4], key: u64[2], which: s32[]) -> (f32[8], f32[2,4], s32[8,4], f32[], f32[8,4], u32[4], f32[4], f32[8,2]) {
  %v = f32[8,4] parameter(0)
  %w = s32[8,4] parameter(1)
  %scale = f32[4] parameter(2)
  %key = u64[2] parameter(3)
  %which = s32[] parameter(4)
  %least = f32[] constant(-inf)
  %zero = s32[] constant(0)
  %argmax = (f32[8], s32[8]) reduce(%v, %w, %least, %zero), dimensions={1}, to_apply=%largest
  %top = f32[8] get-tuple-element(%argmax), index=0
  %sorted = (f32[8,4], s32[8,4]) sort(%v, %w), dimensions={1}, is_stable=true, to_apply=%less
  %order = s32[8,4] get-tuple-element(%sorted), index=1
  %held = (f32[8], s32[8]) opt-barrier(%argmax), metadata={op_name="held"}
  %best = f32[8] get-tuple-element(%held), index=0
  %yes = pred[] constant(true)
  %chosen = (f32[8], f32[]) conditional(%yes, %held, %top), true_computation=%taken, false_computation=%other
  %result = f32[8] get-tuple-element(%chosen), index=0
  %empty = () tuple()
  %case = f32[] conditional(%which, %least, %empty), branch_computations={%first, %second}, control-predecessors={%chosen}
  %normal = (f32[8,4], f32[4], f32[4]) batch-norm-training(%v, %scale, %scale), epsilon=1e-05, feature_index=1
  %scaled = f32[8,4] get-tuple-element(%normal), index=0
  %mean = f32[4] get-tuple-element(%normal), index=1
  %inferred = f32[8,4] batch-norm-inference(%scaled, %scale, %scale, %mean, %mean), epsilon=0.001, feature_index=1
  %random = (u64[2], u32[4]) rng-bit-generator(%key), algorithm=rng_three_fry
  %bits = u32[4] get-tuple-element(%random), index=1
  %all = (f32[4], f32[4]) all-reduce(%scale, %mean), channel_id=2, replica_groups=[2,4]<=[8], use_global_device_ids=true, to_apply=%add
  %reduced = f32[4] get-tuple-element(%all), index=0
  %rows = f32[2,4] slice(%inferred), slice={[0:2], [0:4]}
  %swapped = f32[2,4] all-to-all(%rows), replica_groups={{0,1},{2,3}}, dimensions={0}
  %ragged = f32[2,4] collective-broadcast(%swapped), replica_groups={{0,1,2},{3}}
  %largest-two = (f32[8,2], s32[8,2]) topk(%v), k=2, largest=true
  %two = f32[8,2] get-tuple-element(%largest-two), index=0
  ROOT %out = (f32[8], f32[2,4], s32[8,4], f32[], f32[8,4], u32[4], f32[4], f32[8,2]) tuple(%best, %ragged, %order, %case, %inferred, %bits, %reduced, %two)
}
)";

TEST(PrintStablehlo, SeveralValuesAndBranchesReadBack) {
  const Module module = from_hlo(kSeveral);
  EXPECT_EQ(kernel_opcodes(from_mlir(print_stablehlo(module))), kernel_opcodes(module));
  const std::string text = print_stablehlo(module);
  EXPECT_THAT(text, Not(HasSubstr("custom_call")));
  for (const char* part :
       {"%argmax:2 = \"stablehlo.reduce\"(%v, %w, %least, %zero)", "\"stablehlo.sort\"(%v, %w)",
        "%held:2 = \"stablehlo.optimization_barrier\"(%argmax#0, %argmax#1)",
        "%chosen:2 = \"stablehlo.if\"(%yes) ({", "%case = \"stablehlo.case\"(%which) ({",
        "dense<0x7FC00000>", "dense<0xFFC00000>", "epsilon = 1.0e-05 : f32",
        "#stablehlo<rng_algorithm THREE_FRY>",
        "replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>",
        "replica_groups = dense<[[0, 1, 2], [3, -1, -1]]> : tensor<2x3xi64>",
        "\"chlo.top_k\"(%v) <{k = 2 : i64}>"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PrintStablehlo, LoopsAreThoseOfStablehlo) {
  const std::string text = print_stablehlo(from_hlo(kAttention));
  for (const char* part :
       {"%loop:2 = \"stablehlo.while\"(%zero-1, %top) ({\n    ^bb0(%state.1_0: tensor<i32>, ",
        "%state = stablehlo.tuple %state_0, %state_1 : ",
        "stablehlo.return %next, %w : tensor<i32>, tensor<16xf32>\n",
        "%loop_all = stablehlo.tuple %loop#0, %loop#1 : "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PrintStablehlo, ProductsAndArithmeticKeepTheirKernels) {
  const Module module = from_hlo(
      "HloModule m\nENTRY e {\n  a = f32[8,16] parameter(0)\n  b = f32[16,4] parameter(1)\n"
      "  d = f32[8,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  t = f32[4,8] transpose(d), dimensions={1,0}\n  ROOT e = f32[4,8] exponential(t)\n}\n");
  EXPECT_EQ(kernel_hashes(from_mlir(print_stablehlo(module))), kernel_hashes(module));
}

// A computation used by several loops becomes a function; state may be nested.
TEST(PrintStablehlo, SharedAndNestedLoopsReadBack) {
  const Module module = from_hlo(R"(HloModule m
b { p = (s32[], (f32[4], f32[2])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  q = (f32[4], f32[2]) get-tuple-element(p), index=1
  ROOT r = (s32[], (f32[4], f32[2])) tuple(n, q) }
c { p = (s32[], (f32[4], f32[2])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  most = s32[] constant(7)
  ROOT l = pred[] compare(i, most), direction=LT }
ENTRY main.3 { z = s32[] parameter(0)
  v = f32[4] parameter(1)
  w = f32[2] parameter(2)
  t = (f32[4], f32[2]) tuple(v, w)
  s = (s32[], (f32[4], f32[2])) tuple(z, t)
  x = (s32[], (f32[4], f32[2])) while(s), condition=c, body=b
  ROOT y = (s32[], (f32[4], f32[2])) while(x), condition=c, body=b }
)");
  const std::string text = print_stablehlo(module);
  EXPECT_THAT(text, HasSubstr("%x:3 = \"stablehlo.while\"(%z, %v, %w)"));
  EXPECT_THAT(text, HasSubstr("func.call @b(%p"));
  EXPECT_EQ(kernel_hashes(from_mlir(text)), kernel_hashes(module));
}

TEST(PrintStablehlo, OtherOpsAreCustomCalls) {
  const Module module = from_hlo(
      "HloModule m\nENTRY e {\n  k = f32[8] parameter(0)\n  t = token[] after-all()\n"
      "  s = (f32[8], u32[], token[]) send(k, t), channel_id=1\n"
      "  ROOT d = token[] send-done(s), channel_id=1\n}\n");
  const std::string text = print_stablehlo(module);
  EXPECT_THAT(text, HasSubstr("\"stablehlo.custom_call\"(%k, %t) <{call_target_name = "
                              "\"mhlo.send\"}> : (tensor<8xf32>, !stablehlo.token) -> "));
  expect_reads_back(module);
}

TEST(PrintStablehlo, ShippedProgramsReadBackBeforeAndAfterFusion) {
  for (const Module& module : shipped_programs()) {
    expect_reads_back(module);
  }
  const fs::path folder = support::source_dir() / "configs/programs";
  for (const fs::path& file : support::files_below(folder, ".hlo")) {
    expect_reads_back(read_module(file.string()));
  }
}

TEST(PrintStablehlo, PublicModulesReadBack) {
  constexpr std::uintmax_t kMostBytes = 1 << 20;  // per file, so that debug builds take seconds
  int count = 0;
  for (const char* folder : {"hlo/public", "hlo/xla_cases", "inputs"}) {
    const fs::path root = support::shared_dir() / folder;
    if (!fs::exists(root)) GTEST_SKIP() << root << " is absent";
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file() || entry.file_size() > kMostBytes) continue;
      Module module;
      try {
        module = read_module(entry.path().string());
      } catch (const Error&) {
        continue;  // not a module, or one that other tests cover
      }
      SCOPED_TRACE(entry.path());
      try {
        expect_reads_back(module);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("StableHLO has no type for"));
      }
      ++count;
    }
  }
  EXPECT_GT(count, 1000);
}

TEST(PrintStablehlo, DamagedTextIsAnsweredOrRefused) {
  support::expect_answer_or_error(
      {print_stablehlo(from_hlo(kAttention)), print_stablehlo(from_hlo(kSeveral))}, 5000, 7,
      [](const std::string& text) { (void)print_hlo(from_mlir(text)); });
}

}  // namespace
}  // namespace tilecast::ir
