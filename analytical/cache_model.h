// The model of processor cores with caches: one kernel, one tile. For each tile a core packs the
// moved operands into a scratchpad that its caches hold, computes there and stores finished
// results. No engine moves data in parallel, so the parts add up, but for what overlaps:
//
//   memory = sum over operands loaded from there (loads * load_s) + stores
//   core   = sum over operands and caches (loads * load_s) + iterations * (use_s + overhead)
//   T = launch + (1 - a) * (memory + core - stores hidden by the loop that computes them)
//              + a * max(memory with reads and writes overlapped, core)
//
//   load_s(level) = setup + max over the levels it passes ((bytes + runs * run cost) / bandwidth)
//                   + scratchpad
//
// a: share of a tile's window already prefetched when the previous tile is done. A prefetcher stops
// at the end of a page (Intel 64 and IA-32 optimization manual), so small windows that are
// contiguous come early; a = 0 where tiles accumulate into each other's sums. Loads by level:
// reuse.h. Memory sees whole lines, and long runs where a cache holds neighbouring tiles; the copy
// sees the tile's own. `run cost` (TransferEngine::full_efficiency_run) is at most that of
// streaming through the gap. Data packed beyond the innermost cache is fetched before it is
// written, written back, and fetched again. Arrays take one way each of the cache sets. Tiles are
// spread over `multiplexing.workers` cores. Edge tiles count only their existing part; rows that
// are reduced before use are whole.
// Arrays that earlier kernels left in a cache (ir/cache_residency.h) come from there, not from
// memory. XLA:CPU (`fusion: xla_cpu`) cuts nothing but products and reductions: other kernels are
// loops over the rows of their result, and what they broadcast is computed for every row.
#pragma once

#include "analytical/block_product.h"
#include "analytical/compute_units.h"
#include "analytical/reuse.h"
#include "analytical/tile_model.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

class CacheModel final : public TileModel {
 public:
  CacheModel(const ir::Kernel& kernel, const hwdesc::Device& device);

  [[nodiscard]] std::vector<LoopSizes> candidate_extents(std::size_t limit) const override;
  [[nodiscard]] double time_s(const TileConfig& tile) const override;
  [[nodiscard]] Accounting account(const TileConfig& tile, BoundMask removed) const override;
  [[nodiscard]] double scratchpad_bytes(const TileConfig& tile) const override;
  [[nodiscard]] double least_iteration_s() const override;
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const override;

 private:
  struct Level {
    double read = 1, write = 1;  // bytes per second, efficiency applied
    double capacity = 0, run_cost_bytes = 0;
  };
  using PerLevel = std::array<double, kMaxLevels>;
  struct Moved {          // per load or store of a stream
    double elements = 0;  // bytes
    double vectors = 0;   // vector loads of the copy
    // Bytes per level. `lines`: shared by all tiles of a sweep that the next cache holds.
    // `skipped`: cost of starting runs, shared by the tiles of a sweep that the cache after that
    // holds.
    PerLevel lines{}, skipped{};
  };
  struct Traffic {  // whole nest; bytes of main memory
    // memory_s: first loads, from main memory or the cache in which an array is found
    double memory_s = 0, caches_s = 0, store_s = 0, issue_s = 0;
    double read_bytes = 0, write_bytes = 0;
    std::array<double, kInnerLevels> inner_bytes{};  // as Accounting::inner_bytes
    double window_bytes = 0;                         // largest window a tile reads
    double beside_s = 0;                             // saved by overlapping reads and writes
    double near_read_s = 0, near_write_s = 0;  // of memory_s and store_s: a cache's, not memory's
    bool far = false;                          // whether anything lies in main memory
  };
  struct Nest {  // one tile, prepared
    LoopSizes extents{};
    boost::container::small_vector<NestLoop, kMaxLoops> loops;  // innermost first
    double tiles = 1, whole_tiles = 1;  // all loops; edge tiles as fractions / as whole tiles
    double results = 1;                 // non-reduction loops only, edge tiles as fractions
    double row_pieces = 1;  // pieces of rows that are reduced before their elements are used
    bool split = false;     // a reduction is cut
    double scratchpad_bytes = 0;
    double packed_bytes = 0;  // the part that holds packed inputs
    double prefetch_s = 0;    // prefetch instructions for later tiles
    // Per level: loops whose whole sweep the level holds, innermost first, and the first loop it
    // does not hold, whose neighbouring tiles still share lines.
    std::array<std::uint32_t, kMaxLevels> swept{};
  };
  struct DotOperand {
    int group = 0, rank = 0;
    bool is_columns = false, depth_is_minor = false;
    double elements = 0;
  };

  [[nodiscard]] Nest prepare(const TileConfig& tile, std::span<Extents> groups) const;
  void set_footprint(std::span<const Extents> groups, Nest& nest) const;
  // Share of the packed bytes that the innermost cache does not hold.
  [[nodiscard]] double outside(const Nest& nest) const;
  void set_sweeps(std::span<const Extents> groups, Nest& nest) const;
  [[nodiscard]] Moved moved(const MemoryStream& stream, const Nest& nest,
                            std::span<const GroupExtents> sweeps) const;
  [[nodiscard]] double copy_s(const Moved& moved) const;
  [[nodiscard]] double through_s(const Moved& moved, std::size_t level, double Level::*rate) const;
  [[nodiscard]] double spread_in_sets(std::size_t level, const MemoryStream& stream,
                                      const Extents& region) const;
  void step_groups_with_rows();
  void find_dot_operands(const ir::Kernel& kernel);
  struct ProductCost {
    double multiplied_s = 0, transposed_s = 0;
  };
  [[nodiscard]] ProductCost cheapest_product(const Nest& nest, std::span<const Extents> groups,
                                             std::span<const double> times) const;
  [[nodiscard]] double product_s(const ProductSizes& sizes, const Nest& nest) const;
  [[nodiscard]] double transposed_elements(const ProductSizes& sizes,
                                           std::span<const Extents> groups,
                                           std::span<const double> times) const;
  [[nodiscard]] Traffic traffic(const Nest& nest, std::span<const Extents> groups) const;
  [[nodiscard]] double window_of_streams(const Nest& nest, std::span<const Extents> groups,
                                         std::span<const LoadsFrom> loads) const;
  void evaluate_sweeps(const Nest& nest, std::size_t groups, std::span<GroupExtents> sweeps) const;
  void count_evaluations(const Nest& nest, std::span<double> times) const;
  double add_compute(const Nest& nest, std::span<const Extents> groups, PerBound& parts) const;
  void hide_behind_prefetch(const Nest& nest, const Traffic& moved, PerBound& parts) const;
  // Seconds per resource; they add up.
  [[nodiscard]] PerBound parts(const Nest& nest, std::span<const Extents> groups,
                               const Traffic& moved) const;

  // The convolution written as explicit loops, for tiles that set `unroll`.
  std::optional<LoopConvolution> as_loops_;
  ComputeModel compute_;
  Passes passes_;
  std::vector<MemoryStream> inputs_, outputs_;
  std::vector<DotOperand> dot_operands_;
  std::array<bool, 2> depth_is_minor_{};  // per operand of a dot
  std::vector<Level> levels_;             // as Device::memory
  double packed_capacity_ = 0;            // bytes of the innermost cache
  double overhead_s_ = 0, setup_s_ = 0, page_bytes_ = 0, workers_ = 1;
  double near_latency_s_ = 0;  // of the caches in which the streams are found
  bool as_written_ = false;    // loops as they stand, without tiles (XLA:CPU's)
};

}  // namespace tilecast::analytical
