// The fastest tiles of a few products by the analytical model on shipped devices, as a file: the
// effect of a change of the model or of a preset on choices shows in the difference. Update after
// reading that difference:
//
//   UPDATE_GOLDEN=1 build/release/tests/search/search_unit --gtest_filter='GoldenTiles.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "search/tile_choice.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

using analytical::TileSet;

constexpr std::size_t kShown = 4;  // tiles per product

struct Product {
  std::int64_t rows, columns, depth;
};
// Large and square; long in depth; few rows (a batch of eight through a layer); wide and flat.
constexpr Product kProducts[] = {
    {4096, 4096, 4096}, {1024, 1024, 16384}, {8, 4096, 4096}, {16384, 512, 1024}};
constexpr const char* kDevices[] = {"tpu_v3",   "tpu_v5e", "tpu_v5p",    "a100_sxm_40gb",
                                    "h100_sxm", "mi300x",  "cpu_generic"};

std::string hlo_of(const Product& p, std::string_view dtype) {
  const std::string lhs = fmt::format("{}[{},{}]{{1,0}}", dtype, p.rows, p.depth);
  const std::string rhs = fmt::format("{}[{},{}]{{1,0}}", dtype, p.depth, p.columns);
  const std::string out = fmt::format("{}[{},{}]{{1,0}}", dtype, p.rows, p.columns);
  return fmt::format(
      "HloModule product\n\nENTRY %main {{\n  %a = {} parameter(0)\n  %b = {} parameter(1)\n"
      "  ROOT %product = {} dot(%a, %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
      "}}\n",
      lhs, rhs, out);
}

std::string ranking(const Product& p, const hwdesc::Device& device, TileSet set) {
  const std::string file = ::testing::TempDir() + "golden_product.hlo";
  const bool cpu = device.execution == hwdesc::Execution::kCache;
  std::ofstream(file) << hlo_of(p, cpu ? "f32" : "bf16");
  const ir::DeviceProgram built =
      ir::program_for(ir::load_module(file, {}), analytical::layout_rules(device), {});
  const auto ranked = rank_tiles(built.program.kernels().front().kernel, device,
                                 analytical::PhysicsRanker(), {.set = set});
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
    lines += fmt::format("  {}\n", to_string(ranked[i].tile));
  }
  return lines;
}

std::string all_rankings() {
  std::string text;
  for (const char* name : kDevices) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const bool blocks = device.execution == hwdesc::Execution::kSimt;
    for (const Product& p : kProducts) {
      const std::string size = fmt::format("{} {}x{}x{}", name, p.rows, p.columns, p.depth);
      text += fmt::format("{}\n{}", size, ranking(p, device, TileSet::kLadder));
      if (blocks) {
        text += fmt::format("{} schedules\n{}", size, ranking(p, device, TileSet::kSchedules));
      }
    }
  }
  return text;
}

TEST(GoldenTiles, OfProductsOnShippedDevicesAreTheCommittedOnes) {
  const std::string file = (support::source_dir() / "tests/golden/tile_rankings.expected").string();
  const std::string got = all_rankings();
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && std::string(update) == "1") {
    std::ofstream(file) << got;
  }
  EXPECT_EQ(got, support::bytes_of(file))
      << "if this is meant: UPDATE_GOLDEN=1 search_unit "
         "--gtest_filter='GoldenTiles.*', and read the difference";
}

}  // namespace
}  // namespace tilecast::search
