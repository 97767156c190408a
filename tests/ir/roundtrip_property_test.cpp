// Invariants of shapes on seeded random cases, and of reading and printing on real modules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/shape.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/module_parser.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;

class RandomShapes {
 public:
  explicit RandomShapes(std::uint32_t seed) : engine_(seed) {}

  Shape array(int max_rank, std::int64_t max_size) {
    constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kS8,  DType::kPred,
                                DType::kC64, DType::kS4,   DType::kF64, DType::kF8E4M3FN};
    Shape shape = Shape::array(kTypes[below(std::size(kTypes))], {});
    const auto rank = static_cast<int>(below(static_cast<std::uint64_t>(max_rank) + 1));
    for (int i = 0; i < rank; ++i) {
      shape.dims.push_back(1 +
                           static_cast<std::int64_t>(below(static_cast<std::uint64_t>(max_size))));
    }
    shape.layout = layout(rank);
    // Text does not distinguish a scalar with the default layout from one without a layout.
    if (rank == 0 && shape.layout == default_layout(0)) shape.layout.reset();
    return shape;
  }

  Shape any(int depth) {
    if (depth == 0 || below(3) != 0) return array(5, 300);
    std::vector<Shape> elements;
    for (std::uint64_t i = below(8); i > 0; --i) elements.push_back(any(depth - 1));
    return Shape::tuple(std::move(elements));
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

  Layout layout(int rank) {
    Layout result = default_layout(rank);
    std::shuffle(result.minor_to_major.begin(), result.minor_to_major.end(), engine_);
    if (rank > 1 && below(2) == 0) {
      result.tiles.push_back({std::int64_t{1} << below(4), std::int64_t{1} << below(8)});
      if (below(2) == 0) result.tiles.push_back({2, 1});
    }
    if (below(4) == 0) result.memory_space = static_cast<int>(below(6));
    if (below(8) == 0) result.tail_alignment = 1 + static_cast<std::int64_t>(below(64));
    return result;
  }

  std::mt19937 engine_;
};

TEST(ShapeProperty, TextReadsBackAsTheSameShape) {
  RandomShapes random(1);
  for (int i = 0; i < 1000; ++i) {
    const Shape shape = random.any(3);
    EXPECT_EQ(support::parse_shape(to_string(shape)), shape) << to_string(shape);
  }
}

TEST(ShapeProperty, PaddingNeverShrinksAnArray) {
  RandomShapes random(2);
  for (int i = 0; i < 1000; ++i) {
    const Shape shape = random.any(2);
    EXPECT_GE(padded_bytes(shape), unpadded_bytes(shape)) << to_string(shape);
  }
}

// Reads, prints and reads again every module of a folder.
void expect_stable_text(const fs::path& folder) {
  if (!fs::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  const std::vector<fs::path> files = support::files_below(folder, ".hlo");
  for (const fs::path& file : files) {
    // The validity of the module is not tested here.
    const auto text = base::SourceText::read_file(file.string());
    const std::string once = print_hlo(parse_unverified(text));
    const std::string twice = print_hlo(parse_unverified(base::SourceText("printed", once)));
    EXPECT_TRUE(once == twice) << file.filename();
  }
  EXPECT_FALSE(files.empty());
}

TEST(TextProperty, PublicModulesPrintTheSameAgain) {
  expect_stable_text(support::shared_dir() / "hlo" / "public");
}
TEST(TextProperty, TpuTileModulesPrintTheSameAgain) {
  expect_stable_text(support::shared_dir() / "data" / "tpu_v3_tiles");
}
TEST(TextProperty, TheUnet3dModulePrintsTheSameAgain) {
  expect_stable_text(support::shared_dir() / "data" / "tpu_v3_unet3d");
}

// --- For any bytes, reading a module either succeeds or throws Error; it never crashes or hangs.

const std::string kModules[] = {
    R"(HloModule first, entry_computation_layout={(f32[8,16]{1,0}, f32[16,4]{1,0})->(f32[8,4]{1,0}, f32[])}, input_output_alias={ {0}: (1, {}, may-alias) }, frontend_attributes={k={a = b}}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(f32[] %a, f32[] %b), metadata={op_type="add" op_name="x/y" source_line=3}
}

ENTRY %main (p: f32[8,16], q: f32[16,4]) -> (f32[8,4], f32[]) {
  %p = f32[8,16]{1,0:T(8,128)} parameter(0), sharding={devices=[2,1]<=[2]}
  %q = f32[16,4]{1,0} parameter(1), sharding={replicated}
  %d = f32[8,4]{1,0} dot(%p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}
  %z = f32[] constant(-1.5e-3)
  %r = f32[] reduce(%d, %z), dimensions={0,1}, to_apply=%sum, backend_config={"k":"}"}
  ROOT %t = (f32[8,4]{1,0}, /*index=1*/f32[]) tuple(%d, %r) // the end
}
)",
    R"(HloModule second
ENTRY e {
  x = bf16[1,8,8,3] parameter(0)
  w = bf16[3,3,3,4] parameter(1)
  c = bf16[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  k = s32[2,3] constant({{1,2,3},{4,5,6}})
  s = ((bf16[1,8,8,4]), bf16[1,8,8,4], u32[]) custom-call-start(c), custom_call_target="f\"g", literal=s32[2] {1,2}
  d = bf16[1,8,8,4] custom-call-done(s)
  g = bf16[4,8,8,4] all-gather(d), replica_groups=[1,4]<=[2,2]T(1,0), dimensions={0}, channel_id=3
  ROOT n = bf16[5,8,8,4] pad(g, bf16[] constant(nan)), padding=0_1x0_0x0_0x0_0
}
)"};

// Whether the text is accepted; exceptions other than Error escape and fail the test.
bool accepts(const std::string& text) {
  try {
    (void)parse_hlo(base::SourceText("hostile.hlo", text));
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string repeat(const std::string& part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

TEST(HostileInput, EveryPrefixOfAModuleIsReadOrRefused) {
  for (const std::string& module : kModules) {
    ASSERT_NO_THROW((void)parse_hlo(base::SourceText("whole.hlo", module)));
    std::size_t refused = 0;
    for (std::size_t length = 0; length < module.size(); ++length) {
      refused += accepts(module.substr(0, length)) ? 0 : 1;
    }
    EXPECT_GT(refused, module.size() / 2);
  }
}

TEST(HostileInput, DamagedModulesAreReadOrRefused) {
  support::expect_answer_or_error(
      {std::begin(kModules), std::end(kModules)}, 20'000, 20261120,
      [](const std::string& text) { (void)parse_hlo(base::SourceText("damaged.hlo", text)); });
}

TEST(HostileInput, RandomBytesAreRefused) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text(1 + random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_FALSE(accepts(text));
  }
}

TEST(HostileInput, DeepNestingIsRefusedNotRecursedInto) {
  constexpr std::size_t kDeep = 200'000;
  for (const char* open : {"(", "{", "[", "b(", "f32[", "negate(", "ENTRY e {", "<=", "/*", "\""}) {
    EXPECT_FALSE(accepts(repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("HloModule m\nENTRY e {\n x = " + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("HloModule m\nENTRY e {\n x = f32[] " + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[2] constant(" + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[] parameter(0), sharding=" + repeat(open, kDeep)))
        << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[] parameter(0), origin=" + repeat(open, kDeep)))
        << open;
  }
  EXPECT_FALSE(accepts("ENTRY e { x = f32[2] parameter(0)\n r = " +
                       repeat("f32[2] negate(", kDeep) + "x" + repeat(")", kDeep) + "}"));
  EXPECT_FALSE(accepts("ENTRY e { x = f32[] parameter(0)\n" +
                       repeat("r = f32[] call(x), to_apply={", kDeep)));
}

TEST(HostileInput, LargeSizesAreRefusedBeforeTheyAreAllocated) {
  EXPECT_FALSE(
      accepts("f32[4] all-reduce(f32[4] x), replica_groups=[1000000,1000000]<=[1000000000000]"));
  EXPECT_FALSE(accepts("f32[" + repeat("2,", 40) + "2] negate(f32[2] x)"));
  EXPECT_FALSE(accepts("f32[9223372036854775807,2] negate(f32[2] x)"));
  EXPECT_FALSE(accepts("f32[2] parameter(9223372036854775807)"));
}

TEST(HostileInput, LongListsTakeLinearTime) {
  constexpr std::size_t kMany = 100'000;
  EXPECT_TRUE(accepts("s32[100000] constant({" + repeat("1,", kMany) + "})"));
  EXPECT_FALSE(
      accepts("ENTRY e { x = f32[] parameter(0), metadata={" + repeat("a=1 ", kMany) + "}"));
  std::string chain = "ENTRY e {\n x0 = f32[] parameter(0)\n";
  for (std::size_t i = 1; i < kMany; ++i) {
    chain += " x" + std::to_string(i) + " = f32[] negate(x" + std::to_string(i - 1) + ")\n";
  }
  EXPECT_TRUE(accepts(chain + "}\n"));
}

// The definition: tests every pair.
std::int64_t count_by_looking(std::int64_t input, std::int64_t output, const WindowDim& w) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < w.size; ++k) {
    for (std::int64_t o = 0; o < output; ++o) {
      const std::int64_t u = o * w.stride - w.pad_low + k * w.window_dilation;
      if (u % w.base_dilation == 0 && u >= 0 && u / w.base_dilation < input) ++count;
    }
  }
  return count;
}

TEST(ValidPositions, EqualTheDefinitionOnRandomWindows) {
  std::mt19937 random(20261120);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int nonzero = 0;
  for (int i = 0; i < 5000; ++i) {
    WindowDim w;
    const std::int64_t input = pick(0, 24);
    const std::int64_t output = pick(0, 24);
    w.size = pick(0, 12);
    w.stride = pick(1, 12);
    w.base_dilation = pick(1, 12);
    w.window_dilation = pick(1, 12);
    w.pad_low = pick(-20, 30);
    const std::int64_t expected = count_by_looking(input, output, w);
    nonzero += expected != 0;
    ASSERT_EQ(valid_positions(input, output, w), expected)
        << "input " << input << " output " << output << " size " << w.size << " stride " << w.stride
        << " pad " << w.pad_low << " lhs_dilate " << w.base_dilation << " rhs_dilate "
        << w.window_dilation;
  }
  EXPECT_GT(nonzero, 2000);
}

TEST(ValidPositions, OfAPlainWindowAreAllPairs) {
  WindowDim w;
  w.size = 5;
  EXPECT_EQ(valid_positions(100, 96, w), 5 * 96);
}

TEST(ValidPositions, OfHugeWindowsComeAtOnce) {
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  WindowDim w;
  w.size = kBig;
  w.stride = kBig - 1;
  w.base_dilation = kBig;
  // u = o*(b-1) + k is a multiple of b only if k = o: one pair per output.
  EXPECT_EQ(valid_positions(kBig, kBig, w), kBig);
  w.stride = w.base_dilation = 1;
  w.pad_low = kBig / 2;
  EXPECT_EQ(valid_positions(kBig, kBig, w), std::numeric_limits<std::int64_t>::max());
}

TEST(ValidPositions, RefuseWindowsThatNoMachineHolds) {
  WindowDim w;
  w.size = (std::int64_t{1} << 40) + 1;
  EXPECT_THROW((void)valid_positions(8, 8, w), Error);
  w.size = 1;
  w.stride = 0;
  EXPECT_THROW((void)valid_positions(8, 8, w), Error);
}
}  // namespace
}  // namespace tilecast::ir
