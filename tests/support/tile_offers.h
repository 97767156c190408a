// Valid and absurd tiles that a caller may offer for a product, and a ranker with arbitrary scores,
// for testing the contract of tile choices (search/tile_choice.h).
#pragma once

#include <limits>
#include <random>
#include <vector>

#include "analytical/tile_ranker.h"
#include "base/random.h"
#include "ir/kernels/kernel_sketch.h"

namespace tilecast::support {

inline ir::Kernel product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, {.tiled = false});
  const ir::OpId lhs = sketch.parameter(ir::DType::kBF16, {rows, depth});
  const ir::OpId rhs = sketch.parameter(ir::DType::kBF16, {depth, columns});
  const ir::DotDims dims{.lhs_contracting = {1}, .rhs_contracting = {0}};
  return sketch.build({sketch.dot(lhs, rhs, dims, {rows, columns}, ir::DType::kBF16)});
}

// Returns an arbitrary score, or none, for any tile.
class ArbitraryRanker final : public analytical::TileRanker {
 public:
  explicit ArbitraryRanker(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& /*kernel*/, std::span<const analytical::TileConfig> tiles,
      const hwdesc::Device& /*device*/) const override {
    std::mt19937_64 random(seed_);
    std::vector<std::optional<double>> scores;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      switch (base::draw(random, 6)) {
        case 0:
          scores.emplace_back(std::nullopt);
          break;
        case 1:
          scores.emplace_back(std::numeric_limits<double>::quiet_NaN());
          break;
        case 2:
          scores.emplace_back(std::numeric_limits<double>::infinity());
          break;
        default:
          scores.emplace_back(static_cast<double>(base::draw(random, 1000)) - 500);
      }
    }
    return scores;
  }

 private:
  std::uint64_t seed_;
};

// Never the empty tile, which in a table means that the model chooses.
inline analytical::TileConfig absurd_tile(std::mt19937_64& random) {
  analytical::TileConfig tile;
  const auto sizes = [&](ir::Dims& dims) {
    for (std::uint64_t n = base::draw(random, 5); n > 0; --n) {
      dims.push_back(std::int64_t{1} << base::draw(random, 24));
    }
  };
  sizes(tile.output);
  sizes(tile.kernel);
  tile.stages = static_cast<int>(1 + base::draw(random, 100));
  tile.warps = static_cast<int>(base::draw(random, 100));
  return tile;
}

// Up to seven tiles, about half of them from `listed`.
inline std::vector<analytical::TileConfig> offered_tiles(
    const std::vector<analytical::TileConfig>& listed, std::mt19937_64& random) {
  std::vector<analytical::TileConfig> tiles;
  for (std::uint64_t n = base::draw(random, 8); n > 0; --n) {
    const bool sound = !listed.empty() && base::draw(random, 2) == 0;
    tiles.push_back(sound ? listed[base::draw(random, listed.size())] : absurd_tile(random));
  }
  return tiles;
}

}  // namespace tilecast::support
