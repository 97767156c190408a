// The swept parameters: sizes of a matrix product, and its configuration of thread blocks.
//
// C[m,n] = A[m,k] x B[k,n], all row-major, inputs and result f16 or bf16, sums in f32. A block
// computes a tile of C; it steps through k, and `stages` buffers of A and B rotate between loads
// and multiplications. Plain values without CUDA, so that the choice of configurations is tested
// without a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::measure_cuda {

enum class Input : std::uint8_t { kF16, kBf16 };
[[nodiscard]] std::string_view name(Input input);  // "f16", "bf16": dtypes of a measurement set

struct GemmSize {
  std::int64_t m = 0, n = 0, k = 0;  // n and k multiples of kAlign
  std::string_view family;           // "square", "thin", "deep", "network"
};

struct GemmConfig {
  int block_m = 0, block_n = 0, block_k = 0;
  int warps = 0;
  int stages = 0;  // buffers: 1 = load, wait, multiply
  friend bool operator==(const GemmConfig&, const GemmConfig&) = default;
};

// Elements of one 16-byte copy: rows of A and B start at multiples of it.
inline constexpr int kAlign = 8;
// A matrix instruction's tile of C (side), and its depth.
inline constexpr int kFragment = 16;
inline constexpr int kThreadsPerWarp = 32;
inline constexpr int kMaxStages = 5;
// Elements added to rows in shared memory so that the rows of a fragment lie in different banks.
inline constexpr int kPadding = 8;
// Maximum number of f32 sums per thread, of the 255 registers that it can have.
inline constexpr int kMaxSumsPerThread = 128;

// Number of warps along the rows of a tile; the others are along its columns. If the numbers cannot
// be equal, the longer side has twice as many.
[[nodiscard]] constexpr int warp_rows(int block_m, int block_n, int warps) {
  return warps == 8 ? (block_m >= block_n ? 4 : 2) : 2;
}
[[nodiscard]] constexpr int sums_per_thread(int block_m, int block_n, int warps) {
  return block_m * block_n / (warps * kThreadsPerWarp);
}

// Shared memory of one block: the stages, or the area in which results are converted.
[[nodiscard]] constexpr std::int64_t shared_bytes(const GemmConfig& c) {
  const std::int64_t a = static_cast<std::int64_t>(c.block_m) * (c.block_k + kPadding);
  const std::int64_t b = static_cast<std::int64_t>(c.block_k) * (c.block_n + kPadding);
  const std::int64_t loads = c.stages * (a + b) * 2;
  const std::int64_t results = static_cast<std::int64_t>(c.warps) * kFragment * kFragment * 4;
  return loads > results ? loads : results;
}

// The compiled tiles, k steps and warps: one list for the kernels and for the sweep.
// TILECAST_GEMM_TILES(X) expands X(block_m, block_n, block_k, warps).
#define TILECAST_GEMM_K_STEPS(X, M, N, W) X(M, N, 16, W) X(M, N, 32, W) X(M, N, 64, W)
#define TILECAST_GEMM_TILES(X)          \
  TILECAST_GEMM_K_STEPS(X, 64, 64, 4)   \
  TILECAST_GEMM_K_STEPS(X, 64, 64, 8)   \
  TILECAST_GEMM_K_STEPS(X, 64, 128, 4)  \
  TILECAST_GEMM_K_STEPS(X, 64, 128, 8)  \
  TILECAST_GEMM_K_STEPS(X, 128, 64, 4)  \
  TILECAST_GEMM_K_STEPS(X, 128, 64, 8)  \
  TILECAST_GEMM_K_STEPS(X, 128, 128, 4) \
  TILECAST_GEMM_K_STEPS(X, 128, 128, 8) \
  TILECAST_GEMM_K_STEPS(X, 128, 256, 8) \
  TILECAST_GEMM_K_STEPS(X, 256, 128, 8)

// Every compiled tile with 1 to kMaxStages stages, in the order of the list.
[[nodiscard]] std::vector<GemmConfig> gemm_configs();
// The sizes measured by default.
[[nodiscard]] std::span<const GemmSize> gemm_sizes();
// `configs` in random order, so that an interrupted sweep has measured a sample of all of them.
[[nodiscard]] std::vector<GemmConfig> shuffled(std::vector<GemmConfig> configs, std::uint64_t seed);

}  // namespace tilecast::measure_cuda
