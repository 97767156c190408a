#include "validation/measure_cuda/gemm_config.h"

#include <array>
#include <random>
#include <utility>

namespace tilecast::measure_cuda {
namespace {

// Dimensions of the networks measured by ALCOP (MLSys 2023, section V): BERT and BERT-Large (hidden
// 768 and 1024, feed-forward four times that, 64 per head, here 512 tokens), GPT-2 (768, 1024
// tokens, one projection for query, key and value), the classifiers of ResNet-50 (2048 to 1000) and
// VGG-16 (25088 to 4096), here for 64 images. 2048^3 is its Fig. 1.
constexpr std::array kSizes = {
    GemmSize{512, 512, 512, "square"},    GemmSize{1024, 1024, 1024, "square"},
    GemmSize{2048, 2048, 2048, "square"}, GemmSize{4096, 4096, 4096, "square"},
    GemmSize{8192, 8192, 8192, "square"}, GemmSize{1000, 1000, 1000, "square"},
    GemmSize{3000, 3000, 3000, "square"}, GemmSize{16, 4096, 4096, "thin"},
    GemmSize{64, 4096, 4096, "thin"},     GemmSize{128, 8192, 8192, "thin"},
    GemmSize{4096, 64, 4096, "thin"},     GemmSize{8192, 8192, 64, "thin"},
    GemmSize{256, 256, 16384, "deep"},    GemmSize{128, 512, 8192, "deep"},
    GemmSize{512, 768, 768, "network"},   GemmSize{512, 3072, 768, "network"},
    GemmSize{512, 768, 3072, "network"},  GemmSize{512, 512, 64, "network"},
    GemmSize{512, 1024, 1024, "network"}, GemmSize{512, 4096, 1024, "network"},
    GemmSize{512, 1024, 4096, "network"}, GemmSize{1024, 2304, 768, "network"},
    GemmSize{64, 1000, 2048, "network"},  GemmSize{64, 4096, 25088, "network"},
};

#define TILECAST_TILE(M, N, K, W) GemmConfig{M, N, K, W, 0},
constexpr std::array kTiles = {TILECAST_GEMM_TILES(TILECAST_TILE)};
#undef TILECAST_TILE

}  // namespace

std::string_view name(Input input) {
  return input == Input::kF16 ? "f16" : "bf16";
}

std::vector<GemmConfig> gemm_configs() {
  std::vector<GemmConfig> configs;
  for (GemmConfig config : kTiles) {
    for (config.stages = 1; config.stages <= kMaxStages; ++config.stages) configs.push_back(config);
  }
  return configs;
}

std::span<const GemmSize> gemm_sizes() {
  return kSizes;
}

std::vector<GemmConfig> shuffled(std::vector<GemmConfig> configs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // Unlike std::shuffle, equal for all standard libraries.
  for (std::size_t i = configs.size(); i > 1; --i) std::swap(configs[i - 1], configs[random() % i]);
  return configs;
}

}  // namespace tilecast::measure_cuda
