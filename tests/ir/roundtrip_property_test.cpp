// Invariants of shapes on seeded random cases, and of reading and printing on real modules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "ir/shape.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/module_parser.h"
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

}  // namespace
}  // namespace tilecast::ir
