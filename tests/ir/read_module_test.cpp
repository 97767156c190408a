// Detects the format of programs by their content, and reports files that are no programs.
#include "ir/read_module.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/gzip.h"
#include "ir/canonical_hash.h"
#include "ir/program.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/program_kernels.h"
#include "tests/support/damage.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/modules.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMlir =
    "// a comment\nfunc.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";

std::string gzipped(const std::string& text) {
  std::string out(text.size() + 128, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string bytes_of(std::initializer_list<unsigned char> values) {
  return {values.begin(), values.end()};
}

Opcode root_of(const std::string& bytes) {
  const Module module = read_module(base::SourceText("file", bytes));
  return module.entry_computation().root_instruction().opcode;
}

std::string message_of(const std::string& bytes, const std::string& file = "file") {
  return support::error_of([&] { return read_module(base::SourceText(file, bytes)); }, "read");
}

TEST(ReadModule, FormsAreToldByContent) {
  EXPECT_EQ(root_of(support::kTwoKernels), Opcode::kTranspose);
  EXPECT_EQ(root_of(kMlir), Opcode::kAdd);
  EXPECT_EQ(root_of("/* note */ f32[4] negate(f32[4] x)"), Opcode::kNegate);
  EXPECT_EQ(root_of("module {\n  func.func @f(%a: tensor<2xi32>) -> tensor<2xi32> {\n"
                    "    return %a : tensor<2xi32>\n  }\n}\n"),
            Opcode::kParameter);
  EXPECT_EQ(root_of("#loc1 = loc(\"x\")\n" + std::string(kMlir)), Opcode::kAdd);
  // HloProto { hlo_module: HloModuleProto { ... } } is distinguished from ONNX by its fields: see
  // the tests of each. Two bytes of a field that neither has are unknown.
  EXPECT_THAT(message_of(bytes_of({0xf8, 0x07, 0x01, 0x00})), HasSubstr("unknown contents"));
}

TEST(ReadModule, GzipIsUnpackedWhateverTheName) {
  EXPECT_EQ(root_of(gzipped(support::kTwoKernels)), Opcode::kTranspose);
  EXPECT_EQ(root_of(gzipped(kMlir)), Opcode::kAdd);
  const std::string whole = gzipped(kMlir);
  EXPECT_THAT(message_of(whole.substr(0, whole.size() / 2)), HasSubstr("ends too early"));
  std::string broken = whole;
  broken[12] = static_cast<char>(broken[12] ^ 0xff);
  EXPECT_THAT(message_of(broken), HasSubstr("file: its gzip data"));
}

TEST(ReadModule, GzipOfSeveralMembersIsOneText) {
  const std::string text = kMlir;
  EXPECT_EQ(base::unpack_gzip(gzipped(text.substr(0, 30)) + gzipped(text.substr(30)), "f", 1000),
            text);
}

TEST(ReadModule, GzipStopsAtTheLimit) {
  const std::string zeros = gzipped(std::string(8 << 20, '\0'));
  EXPECT_LT(zeros.size(), 16'384U);
  EXPECT_THROW((void)base::unpack_gzip(zeros, "bomb", 1 << 20), Error);
}

TEST(ReadModule, UnknownFilesSayWhatTheyAreWhatWasTriedAndAWayOut) {
  const std::string bytecode = std::string("ML\xefR\x01StableHLO_v1.0.0", 21);
  EXPECT_THAT(message_of(bytecode),
              AllOf(HasSubstr("got MLIR bytecode"), HasSubstr("stablehlo-translate --deserialize"),
                    HasSubstr("HLO text"), HasSubstr("StableHLO text"), HasSubstr("ONNX"),
                    HasSubstr("--xla_dump_to"), HasSubstr("jax.jit(f).lower(x).as_text()")));
  EXPECT_THAT(message_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(message_of(" \n\t\n"), HasSubstr("blanks only"));
  EXPECT_THAT(message_of("{\"a\": 1}"), HasSubstr("got JSON"));
  EXPECT_THAT(message_of("import numpy as np\n"), HasSubstr("unknown contents"));
  EXPECT_THAT(message_of("<!doctype html>"), HasSubstr("got HTML"));
  EXPECT_THAT(message_of(std::string("PK\3\4abc")), HasSubstr("FILE/ENTRY"));
  EXPECT_THAT(message_of(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0})), HasSubstr("NumPy"));
  EXPECT_THAT(message_of(bytes_of({0x80, 0x04, 0x95, 0x00})), HasSubstr("pickle"));
  EXPECT_THAT(message_of(std::string("\x1c\0\0\0TFL3\0\0", 10)), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(message_of(bytes_of({0xf8, 0x07, 0x01, 0x00}), "run.xplane.pb"),
              HasSubstr("tilecast import xplane"));
}

class ReadFolder : public ::testing::Test, protected support::Folder {};

TEST_F(ReadFolder, DumpsGiveTheModulesAfterOptimisation) {
  write("module_0001.f.before_optimizations.txt", support::kTwoKernels);
  write("module_0001.f.cpu_after_optimizations.txt", support::kTwoKernels);
  const ModuleFiles one = module_files(folder().string());
  ASSERT_EQ(one.files.size(), 1U);
  EXPECT_THAT(one.files[0], HasSubstr("after_optimizations"));
  EXPECT_EQ(one.others.size(), 1U);
  EXPECT_EQ(read_module(folder().string()).name, "two");
  write("module_0002.g.cpu_after_optimizations.txt", support::kTwoKernels);
  EXPECT_EQ(module_files(folder().string()).files.size(), 2U);
  EXPECT_THAT(support::error_of([&] { return read_module(folder().string()); }),
              AllOf(HasSubstr("2 modules after optimisation"),
                    HasSubstr("module_0002.g.cpu_after_optimizations.txt")));
}

TEST_F(ReadFolder, FoldersWithoutModulesAndMissingFilesAreNamed) {
  EXPECT_THROW((void)read_module(folder().string()), Error);
  EXPECT_THROW((void)read_module(at("absent.hlo")), Error);
}

TEST(ReadModule, OtherToolsFilesAreSaidByName) {
  const std::string event = R"({"ph": "X", "name": "k", "ts": 1, "dur": 2, "cat": "kernel"})";
  const std::pair<std::string, const char*> files[] = {
      {R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [)" + event + "]}", "kineto"},
      {R"({"traceEvents": [)" + event + "]}", "tilecast import trace"},
      {"[" + event + "]", "tilecast import trace"},
      {R"({"device_name": "x", "tune_params_keys": ["bx"], "cache": {}})", "Kernel Tuner"},
      {std::string("SQLite format 3\0\x10", 17), "Nsight Systems"},
      {"Time (%),Total Time (ns),Instances,Name\n", "Nsight Systems"},
      {"hlo_module {\n  name: \"m\"\n}\n", "protobuf's text format"},
      {"name: \"m\"\nentry_computation_name: \"e\"\ncomputations {\n}\n", "protobuf's text format"},
  };
  for (const auto& [bytes, name] : files) EXPECT_THAT(message_of(bytes), HasSubstr(name)) << bytes;
}

TEST(ReadModule, SeveralModulesInOneFileAreRefusedByName) {
  const std::string one = " {\n  ROOT x = f32[4] parameter(0)\n}\n";
  const std::string text =
      "// two dumps\nHloModule a\nENTRY e" + one + "\nHloModule b, x=1\nENTRY e" + one;
  EXPECT_THAT(message_of(text),
              AllOf(HasSubstr("2 modules"), HasSubstr("a, b"), HasSubstr("csplit")));
  EXPECT_THAT(message_of("HloModule c\nENTRY e" + one), "read");
}

TEST(ReadModule, DamagedFilesOfEveryFormAreAnsweredOrRefused) {
  support::expect_answer_or_error(
      {support::kTwoKernels, kMlir, gzipped(support::kTwoKernels), gzipped(kMlir)}, 20'000, 11,
      [](const std::string& bytes) {
        (void)print_hlo(read_module(base::SourceText("damaged", bytes)));
      });
}

// --- Module -> StableHLO text -> Module: the computation does not change.

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
      {print_stablehlo(from_hlo(kAttention)), print_stablehlo(from_hlo(kSeveral))}, 20'000, 7,
      [](const std::string& text) { (void)print_hlo(from_mlir(text)); });
}
}  // namespace
}  // namespace tilecast::ir
