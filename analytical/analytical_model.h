// The first-principles model of docs/model.md as a CostModel, and the analysis of one kernel that
// callers reuse to rank thousands of its tiles.
//
//   KernelAnalysis analysis(kernel, device);          // once per kernel
//   for (const TileConfig& t : analysis.tiles()) ...  analysis.estimate(t)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
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

// Which tiles KernelAnalysis::tiles() lists (analytical/tile_space.h).
enum class TileSet : std::uint8_t {
  kLadder,    // loops cut into powers of two; on GPUs the block sizes of libraries
  kAll,       // loops cut into every number of pieces
  kSchedules  // matrix products on GPUs: blocks, stages and warps of code generators
};

class KernelAnalysis {
 public:
  // Keeps references: both must outlive the analysis. Reading is thread-safe.
  KernelAnalysis(const ir::Kernel& kernel, const hwdesc::Device& device);
  ~KernelAnalysis();
  KernelAnalysis(KernelAnalysis&&) noexcept;

  // False for kernels without tiles (collectives, custom calls ...) or with several loop nests:
  // call estimate_best() for those.
  [[nodiscard]] bool tileable() const;
  // The tile that covers the whole iteration space: sizes in memory order, most major first, the
  // two most minor ones in native tiles. The kernel part is empty unless there is a convolution or
  // dot.
  [[nodiscard]] TileConfig full_tile() const;
  // Valid tiles, at most `limit`, in a deterministic order.
  [[nodiscard]] std::vector<TileConfig> tiles(std::size_t limit = 4096,
                                              TileSet set = TileSet::kLadder) const;
  // Size of TileSet::kAll without a limit, feasible or not; 0 if the kernel has no tiles.
  [[nodiscard]] double count_all_tiles() const;

  // Why the tile is malformed for this kernel, whatever its sizes; empty if it is well formed.
  // Never empty for a kernel without tiles.
  [[nodiscard]] std::string misfit(const TileConfig& tile) const;
  // Why the tile cannot run (malformed tiles included); empty if it can.
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const;
  // Time only: the hot path of ranking. Allocates only where a power limit binds. Infinity if the
  // tile cannot run.
  [[nodiscard]] Seconds time(const TileConfig& tile) const;
  // The same for many tiles, in seconds; faster when neighbours differ only in stages and warps.
  [[nodiscard]] std::vector<double> times_s(std::span<const TileConfig> tiles) const;
  [[nodiscard]] std::variant<Estimate, Infeasible> estimate(const TileConfig& tile) const;
  // The tile stated in a TPU compiler dump, even if it exceeds our footprint estimate: it did run.
  [[nodiscard]] std::optional<TileConfig> compiler_tile() const;
  // Uses the compiler's tile if there is one, else the best of tiles().
  [[nodiscard]] Estimate estimate_best() const;
  // Contribution of each resource to the time of `answer` (analytical/accounting.h); sums to
  // Estimate::time. Costs up to 4,096 times as much as the estimate.
  [[nodiscard]] BoundVector attributed_time(const Estimate& answer) const;

 private:
  [[nodiscard]] Estimate estimate_tiled() const;
  struct State;
  std::unique_ptr<State> state_;
};

// Answers each query from the analysis of its kernel; kernels of one content are analysed once.
[[nodiscard]] std::vector<std::optional<Estimate>> answer_each(
    std::span<const KernelQuery> queries, const hwdesc::Device& device,
    const std::function<std::optional<Estimate>(const KernelAnalysis&, const KernelQuery&)>&
        answer);

}  // namespace tilecast::analytical
