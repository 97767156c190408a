// Properties of the generated C text: the loops of the tile, what runs in which of them,
// unsupported kernels and the reasons. Its results are tested in c_kernel_property_test.cpp.
#include "host/c_kernel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "analytical/iteration_space.h"
#include "host/compiled_library.h"
#include "ir/kernels/kernel_sketch.h"
#include "tests/support/errors.h"

namespace tilecast::host {
namespace {

using analytical::TileConfig;
using ir::DType;
using ir::Kernel;
using ir::KernelSketch;
using ir::Opcode;
using ir::OpId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr ir::LayoutRules kPlain{.tiled = false};

CKernel generated(const Kernel& kernel, const TileConfig& tile = {}) {
  auto made = generate_c(kernel, tile, "kernel");
  const auto* unsupported = std::get_if<Unsupported>(&made);
  EXPECT_EQ(unsupported, nullptr) << unsupported->reason;
  return unsupported != nullptr ? CKernel{} : std::get<CKernel>(std::move(made));
}

std::string refusal(const Kernel& kernel, const TileConfig& tile = {}) {
  auto made = generate_c(kernel, tile, "kernel");
  const auto* unsupported = std::get_if<Unsupported>(&made);
  return unsupported == nullptr ? "" : unsupported->reason;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// m x k times k x n, plus a vector added to every row.
Kernel product(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype = DType::kF32) {
  KernelSketch sketch("product", Opcode::kFusion, kPlain);
  const OpId x = sketch.row_major_parameter(dtype, {m, k});
  const OpId y = sketch.row_major_parameter(dtype, {k, n});
  const OpId dot =
      sketch.dot(x, y, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n}, dtype);
  return sketch.build({dot});
}

Kernel softmax(std::int64_t rows, std::int64_t columns) {
  KernelSketch sketch("softmax", Opcode::kFusion, kPlain);
  const OpId x = sketch.row_major_parameter(DType::kF32, {rows, columns});
  const OpId largest = sketch.reduce(x, Opcode::kMaximum, 1);
  const OpId shifted =
      sketch.elementwise(Opcode::kSubtract, {x, sketch.broadcast_like(largest, x, {0})});
  const OpId exponential = sketch.elementwise(Opcode::kExp, {shifted});
  const OpId sum = sketch.reduce(exponential, Opcode::kAdd, 1);
  return sketch.build(
      {sketch.elementwise(Opcode::kDivide, {exponential, sketch.broadcast_like(sum, x, {0})})});
}

Kernel row_sum(std::int64_t rows, std::int64_t columns) {
  KernelSketch sketch("row_sum", Opcode::kFusion, kPlain);
  const OpId x = sketch.row_major_parameter(DType::kF32, {rows, columns});
  return sketch.build({sketch.reduce(x, Opcode::kAdd, 1)});
}

TEST(GeneratedText, IsTheSameForTheSameKernelAndTile) {
  const TileConfig tile{.output = {16, 32}, .kernel = {8, 32}, .input = {}};
  EXPECT_EQ(generated(product(64, 64, 64), tile).source,
            generated(product(64, 64, 64), tile).source);
}

TEST(GeneratedText, NamesItsFunctionAndArrays) {
  const CKernel c = generated(product(4, 8, 16));
  EXPECT_EQ(c.function, "kernel");
  EXPECT_THAT(c.source, HasSubstr("void kernel(const void* const* in, void* const* out, "));
  ASSERT_EQ(c.inputs.size(), 2U);
  EXPECT_EQ(c.inputs[1].dims, (ir::Dims{8, 16}));
  ASSERT_EQ(c.outputs.size(), 1U);
  EXPECT_EQ(host_bytes(c.outputs[0]), 4 * 16 * 4);
}

// Names of programs may contain anything, so they must not appear in code for a compiler.
TEST(GeneratedText, HoldsNoNameOfTheProgram) {
  const std::string name = "*/\n#include \"/etc/passwd\"\nint intruder; \\u002a\"";
  KernelSketch sketch(name, Opcode::kFusion, kPlain);
  const OpId x = sketch.row_major_parameter(DType::kF32, {64, 8});
  const Kernel kernel = sketch.build({sketch.reduce(x, Opcode::kAdd, 1)});
  const CKernel c = generated(kernel);
  EXPECT_THAT(c.source, Not(HasSubstr("intruder")));
  EXPECT_THAT(c.source, Not(HasSubstr("passwd")));
  EXPECT_EQ(c.source, generated(row_sum(64, 8)).source);
}

TEST(GeneratedText, HasNoTileLoopWhereNothingIsCut) {
  EXPECT_THAT(generated(product(64, 64, 64)).source, Not(HasSubstr("int64_t t0")));
}

TEST(GeneratedText, RunsOverAllTiles) {
  const TileConfig tile{.output = {16, 24}, .kernel = {8, 24}, .input = {}};
  const std::string source = generated(product(64, 64, 64), tile).source;
  EXPECT_THAT(source, HasSubstr("for (int64_t t0 = 0; t0 < 4; ++t0)"));
  EXPECT_THAT(source, HasSubstr("for (int64_t t1 = 0; t1 < 3; ++t1)"));
  EXPECT_THAT(source, HasSubstr("for (int64_t t2 = 0; t2 < 8; ++t2)"));
}

TEST(GeneratedText, ComputesTheSizeOfAnEdgeTileOnlyWhereThereIsOne) {
  const TileConfig even{.output = {16, 32}, .kernel = {}, .input = {}};
  const TileConfig ragged{.output = {16, 24}, .kernel = {}, .input = {}};
  EXPECT_THAT(generated(product(64, 64, 64), even).source, Not(HasSubstr("tc_smaller")));
  EXPECT_THAT(generated(product(64, 64, 64), ragged).source,
              HasSubstr("tc_smaller(24, 64 - t1*24)"));
}

// The columns' loop (1) is the outer one: the right-hand side, whole along k, is loaded when it
// advances, the left-hand side (rows: loop 0) with every tile.
TEST(GeneratedText, LoadsAnOperandOnlyWhenItsLoopsAdvance) {
  const TileConfig tile{.output = {16, 32}, .kernel = {}, .input = {}};
  const std::string source = generated(product(64, 64, 64), tile).source;
  EXPECT_LT(source.find("for (int64_t t1"), source.find("for (int64_t t0"));
  EXPECT_EQ(count(source, "if (t0 == 0) {"), 1U);
  EXPECT_EQ(count(source, "if (t1 == 0) {"), 0U);
}

TEST(GeneratedText, ZeroesAnAccumulatorInTheFirstPieceOnly) {
  const TileConfig tile{.output = {64, 64}, .kernel = {8, 64}, .input = {}};
  EXPECT_THAT(generated(product(64, 64, 64), tile).source, HasSubstr("if (t2 == 0) memset("));
  EXPECT_THAT(generated(product(64, 64, 64)).source, Not(HasSubstr("if (t2 == 0)")));
}

TEST(GeneratedText, StoresAfterTheLastPiece) {
  const TileConfig tile{.output = {64, 64}, .kernel = {8, 64}, .input = {}};
  const std::string source = generated(product(64, 64, 64), tile).source;
  const auto last = source.find("if (t2 == 7)");
  ASSERT_NE(last, std::string::npos);
  EXPECT_LT(last, source.find("o0["));
}

TEST(GeneratedText, HoldsATileOfEachOperandAndOfItsResult) {
  const TileConfig tile{.output = {16, 32}, .kernel = {8, 32}, .input = {}};
  constexpr std::int64_t kLhs = 16 * 8 * 4, kRhs = 8 * 32 * 4, kResult = 16 * 32 * 4;
  EXPECT_EQ(generated(product(64, 64, 64), tile).scratch_bytes, kLhs + kRhs + kResult);
}

TEST(GeneratedText, ComputesRowsOnceForAllPiecesOfThem) {
  const TileConfig tile{.output = {4, 16}, .kernel = {}, .input = {}};
  const std::string source = generated(softmax(64, 64), tile).source;
  const std::string rows = "if (t1 == 0) {";
  for (auto sum = source.find("part[l] ="); sum != std::string::npos;
       sum = source.find("part[l] =", sum + 1)) {
    EXPECT_EQ(source.substr(source.rfind("if (t", sum), rows.size()), rows);
  }
  EXPECT_THAT(source, HasSubstr("part[l] ="));
}

TEST(GeneratedText, KeepsPartialSumsOfRows) {
  const std::string source = generated(row_sum(64, 256)).source;
  EXPECT_THAT(source, HasSubstr("part[l] = part[l]+"));
}

TEST(GeneratedText, ConvertsNarrowOperandsWhileItPacksThem) {
  const CKernel narrow = generated(product(64, 64, 64, DType::kBF16));
  EXPECT_EQ(count(narrow.source, "tc_from_bf16(p"), 2U);
  EXPECT_THAT(narrow.source, HasSubstr("tc_mm_f("));
  EXPECT_EQ(host_bytes(narrow.inputs[0]), 64 * 64 * 2);
}

TEST(GeneratedText, RunsVectorsAlongKWhereRowsAndColumnsAreThin) {
  EXPECT_THAT(generated(product(4, 256, 4)).source, HasSubstr("tc_mmt_f("));
  EXPECT_THAT(generated(product(4, 256, 64)).source, HasSubstr("tc_mm_f("));
}

TEST(Refusals, NameTheOpThatIsNotGenerated) {
  KernelSketch sketch("reduce", Opcode::kAllReduce, kPlain);
  const OpId x = sketch.parameter(DType::kF32, {64});
  EXPECT_EQ(refusal(sketch.build({sketch.all_reduce(x, 2)})), "all-reduce is not generated");
}

TEST(Refusals, NameTheTypeThatIsNotGenerated) {
  KernelSketch sketch("negate", Opcode::kNegate, kPlain);
  const OpId x = sketch.parameter(DType::kC64, {64});
  EXPECT_EQ(refusal(sketch.build({sketch.elementwise(Opcode::kNegate, {x})})),
            "type c64 is not generated");
}

TEST(Refusals, SayThatATileDoesNotFitTheScratchpad) {
  constexpr std::int64_t kSide = 4096;
  EXPECT_EQ(refusal(product(kSide, kSide, kSide)),
            fmt::format("a tile needs {} MiB, more than 64", 3 * kSide * kSide * 4 >> 20));
}

TEST(Refusals, SayThatATileHasAnotherNumberOfDimensions) {
  const TileConfig tile{.output = {8, 8, 8}, .kernel = {}, .input = {}};
  EXPECT_THAT(refusal(product(64, 64, 64), tile), HasSubstr("3 dimensions, this kernel has 2"));
}

TEST(Refusals, SayThatALayoutHasNativeTiles) {
  KernelSketch sketch("negate", Opcode::kNegate, ir::LayoutRules{.tiled = true});
  const OpId x = sketch.parameter(DType::kF32, {64, 256});
  EXPECT_EQ(refusal(sketch.build({sketch.elementwise(Opcode::kNegate, {x})})),
            "a layout with native tiles");
}

namespace fs = std::filesystem;

const std::string kGood = "int f(void) { return 1; }\n";
const std::string kBad = "int f(void) { return unknown_name; }\n";

// Changes an environment variable during the object's lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* set = std::getenv(name)) before_ = set;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A private, empty $TMPDIR, so that leftover files are detected.
class CompiledLibraryTest : public ::testing::Test {
 protected:
  CompiledLibraryTest()
      : folder_(fs::path(::testing::TempDir()) /
                ("tilecast_compile_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    tmpdir_.emplace("TMPDIR", folder_.string());
  }
  ~CompiledLibraryTest() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::optional<Environment> tmpdir_;
};

std::string error_of_making_a_compiler() {
  return support::error_of([&] { const Compiler compiler; });
}

TEST_F(CompiledLibraryTest, MakesALibraryPerSourceInOrder) {
  const std::vector<std::string> sources{kGood, kBad, kGood, kBad, kGood};
  const auto made = Compiler().compile(sources, 2);
  ASSERT_EQ(made.size(), sources.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (sources[i] == kGood) {
      ASSERT_TRUE(made[i].library) << made[i].error;
      EXPECT_TRUE(fs::exists(made[i].library->path()));
      EXPECT_THAT(made[i].error, IsEmpty());
    } else {
      EXPECT_FALSE(made[i].library);
      EXPECT_THAT(made[i].error, HasSubstr("unknown_name"));
    }
  }
}

TEST_F(CompiledLibraryTest, RemovesItsFiles) {
  const std::vector<std::string> sources{kGood, kBad, kGood};
  {
    auto made = Compiler().compile(sources, 3);
    EXPECT_FALSE(fs::is_empty(folder_));
    CompiledLibrary moved = std::move(*made[0].library);
    EXPECT_TRUE(fs::exists(moved.path()));
    moved = std::move(*made[2].library);
    EXPECT_TRUE(fs::exists(moved.path()));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CompiledLibraryTest, ACompilerThatTakesTooLongIsKilled) {
  const Compiler compiler;
  // Each macro repeats the previous one ten times, over ten levels: 1e10 words.
  std::string source = "#define M0 int a;\n";
  for (int i = 1; i <= 10; ++i) {
    source += "#define M" + std::to_string(i);
    for (int k = 0; k < 10; ++k) source += " M" + std::to_string(i - 1);
    source += "\n";
  }
  source += "M10\n";
  const auto made = compiler.compile(std::span(&source, 1), 1, Seconds{0.1});
  EXPECT_FALSE(made[0].library);
  EXPECT_THAT(made[0].error, HasSubstr("took longer than 0.1 s"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CompiledLibraryTest, DescribesTheCompilerAndItsFlags) {
  EXPECT_THAT(Compiler().description(), HasSubstr("; "));
  EXPECT_THAT(Compiler().description(), HasSubstr("-O3"));
  EXPECT_THAT(Compiler().description(), Not(HasSubstr("-ffast-math")));
}

TEST_F(CompiledLibraryTest, TakesTheCompilerOfTheEnvironmentWithItsArguments) {
  const Environment cc("CC", "cc -DNAMED=7");
  const std::string source = "int f(void) { return NAMED; }\n";
  const auto made = Compiler().compile(std::span(&source, 1), 1);
  EXPECT_TRUE(made[0].library) << made[0].error;
}

TEST_F(CompiledLibraryTest, SaysWhichPackageIsMissingWithoutACompiler) {
  const Environment cc("CC", "no_such_compiler");
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("no_such_compiler: cannot be started"));
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("apt-get install gcc"));
}

TEST_F(CompiledLibraryTest, SaysWhatACompilerSaidThatMakesNoLibrary) {
  const Environment cc("CC", "cc -DNAMED=7 --no-such-option");
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("no-such-option"));
}

TEST_F(CompiledLibraryTest, NamesAFolderItCannotWriteTo) {
  const Environment tmpdir("TMPDIR", (folder_ / "not_there").string());
  EXPECT_THAT(error_of_making_a_compiler(), HasSubstr("not_there: cannot make a folder here"));
}
}  // namespace
}  // namespace tilecast::host
