// Detects the format of programs by their content, and reports files that are no programs.
#include "ir/read_module.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/gzip.h"
#include "ir/text/hlo_printer.h"
#include "tests/support/damage.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/modules.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
      {support::kTwoKernels, kMlir, gzipped(support::kTwoKernels), gzipped(kMlir)}, 5000, 11,
      [](const std::string& bytes) {
        (void)print_hlo(read_module(base::SourceText("damaged", bytes)));
      });
}

}  // namespace
}  // namespace tilecast::ir
