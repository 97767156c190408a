// tilecast convert, and programs in other formats where HLO text was expected.
#include <gmock/gmock.h>

#include "tests/cli/command_test.h"
#include "tests/support/texts.h"

namespace tilecast::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Convert : public CommandTest {
 protected:
  Convert() : CommandTest("convert") {
    write("dot.hlo",
          "HloModule m\n\nENTRY main {\n  a = bf16[256,512] parameter(0)\n"
          "  b = bf16[512,1024] parameter(1)\n"
          "  ROOT dot.3 = bf16[256,1024] dot(a, b), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n}\n");
  }
};

TEST_F(Convert, HloReadsBackToTheSameModuleAndStablehloToTheSameWork) {
  ok("dot.hlo -o a.hlo");
  const Answer to_mlir = ok("dot.hlo -o b.mlir");
  EXPECT_THAT(to_mlir.err, HasSubstr("note: StableHLO keeps no layouts"));
  EXPECT_THAT(read("b.mlir"), AllOf(StartsWith("module @m attributes {mhlo.num_partitions = 1"),
                                    HasSubstr("stablehlo.dot_general")));
  ok("b.mlir -o c.hlo");
  EXPECT_THAT(read("c.hlo"), HasSubstr("lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  ok("a.hlo -o d.hlo");
  EXPECT_EQ(read("d.hlo"), read("a.hlo"));
}

// When read, StableHLO values are named by opcode and a number.
TEST_F(Convert, EveryFormSimulatesAlike) {
  ok("dot.hlo -o b.mlir");
  const std::string verb = "simulate --device tpu_v3 --model analytical --format csv ";
  const auto values = [&](const std::string& file) {
    return support::replaced_all(tilecast_ok(verb + file).out, file, "");
  };
  EXPECT_EQ(values("dot.hlo"), values("b.mlir"));
}

TEST_F(Convert, DashWritesToStdoutAndToChoosesTheForm) {
  EXPECT_THAT(run("dot.hlo -o -").out, StartsWith("HloModule m"));
  EXPECT_THAT(run("dot.hlo -o - --to stablehlo").out, StartsWith("module @m"));
  expect_failure("dot.hlo -o out.xyz", 2, "expected FILE.hlo or FILE.mlir");
  expect_failure("dot.hlo", 2, "--output is required");
}

TEST_F(Convert, ModulesOfAFolderAreChosenByName) {
  const std::string text = read("dot.hlo");
  write("dump/module_0001.f.cpu_after_optimizations.txt", text);
  write("dump/module_0001.f.before_optimizations.txt", text);
  ok("dump -o one.hlo");
  write("dump/module_0002.g.cpu_after_optimizations.txt", text);
  expect_failure("dump -o -", 1, "choose it with --module NAME");
  expect_failure("dump -o - --module h", 1, "module_0002.g.cpu_after_optimizations.txt");
  ok("dump -o two.hlo --module g");
  const Answer both = tilecast_ok("simulate --device tpu_v3 dump");
  EXPECT_THAT(both.err, AllOf(HasSubstr("2 modules simulated, 1 other files left out"),
                              HasSubstr("before_optimizations")));
}

TEST_F(Convert, ShapesAndBoundsAreCheckedBeforeFilesAreRead) {
  for (const char* shape : {"x", "=1x2", "x=1x", "x=1xx2", "x=a", "x=-1"}) {
    expect_failure("dot.hlo -o - --shape " + std::string(shape), 2, "expected NAME=SIZES");
  }
  expect_failure("dot.hlo -o - --bound 0", 2, "bound");
  ok("dot.hlo -o - --shape x=1x3x224x224 --bound 8");
}

TEST_F(Convert, UnknownFilesSayWhatWasTried) {
  write("data.json", "{}");
  expect_failure("data.json -o -", 1, "data.json: got JSON, expected one of: HLO protos");
}

}  // namespace
}  // namespace tilecast::sim
