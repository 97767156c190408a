// The first-principles model of docs/model.md behind the CostModel contract, plus the per-kernel
// analysis that ranking thousands of tiles reuses.
//
//   KernelAnalysis analysis(kernel, device);          // once per kernel
//   for (const TileConfig& t : analysis.tiles()) ...  analysis.estimate(t)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "analytical/cost_model.h"

namespace tilecast::analytical {

class AnalyticalModel final : public CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override;
};

// Why a tile cannot run: "needs 21.3 MiB of vmem, 16 MiB available".
struct Infeasible {
  std::string reason;
};

// Which tiles are listed (analytical/tile_space.h).
enum class TileSet : std::uint8_t {
  kLadder,    // loops cut into powers of two; on GPUs the blocks of libraries
  kAll,       // into every number of pieces
  kSchedules  // of products on GPUs: blocks, stages and warps as code generators offer them
};

class KernelAnalysis {
 public:
  // Keeps references: both must outlive the analysis. Reading is thread-safe.
  KernelAnalysis(const ir::Kernel& kernel, const hwdesc::Device& device);
  ~KernelAnalysis();
  KernelAnalysis(KernelAnalysis&&) noexcept;

  // False for kernels that have no tiles (collectives, custom calls ...) or several loop nests: use
  // estimate_best().
  [[nodiscard]] bool tileable() const;
  // The iteration space a tile cuts: physical sizes, most major first; the two minor ones in native
  // tiles. Kernel part empty unless the kernel has a convolution or dot.
  [[nodiscard]] TileConfig full_tile() const;
  // Valid tiles, at most `limit`, in a deterministic order.
  [[nodiscard]] std::vector<TileConfig> tiles(std::size_t limit = 4096,
                                              TileSet set = TileSet::kLadder) const;
  // How many TileSet::kAll has without a limit, valid or not; 0 without tiles.
  [[nodiscard]] double count_all_tiles() const;

  // What is wrong with how the tile is written, whatever its sizes; empty: nothing. A kernel
  // without tiles has none.
  [[nodiscard]] std::string misfit(const TileConfig& tile) const;
  // Why the tile cannot run, misfits included; empty when it can.
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const;
  // Time alone; the hot path of ranking: no allocation, but where a power limit binds. Infinity
  // when infeasible.
  [[nodiscard]] Seconds time(const TileConfig& tile) const;
  // Of each tile the same, in seconds; faster where neighbours differ in stages and warps alone.
  [[nodiscard]] std::vector<double> times_s(std::span<const TileConfig> tiles) const;
  [[nodiscard]] std::variant<Estimate, Infeasible> estimate(const TileConfig& tile) const;
  // The tile a dump of a TPU states, whether it fits by our footprint or not: the compiler ran it.
  [[nodiscard]] std::optional<TileConfig> compiler_tile() const;
  // With the compiler's tile if there is one, else the best of tiles().
  [[nodiscard]] Estimate estimate_best() const;
  // What each resource adds to the time of an answer of this analysis (analytical/shapley.h): adds
  // up to Estimate::time. Takes up to 4,096 times as long as the estimate.
  [[nodiscard]] BoundVector attributed_time(const Estimate& answer) const;

 private:
  [[nodiscard]] Estimate estimate_tiled() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilecast::analytical
