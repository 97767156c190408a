// The model of processor cores with caches: one kernel, one tile. Every step is the core's own.
//
// Tile by tile a core packs the operands that moved into a scratchpad its caches hold, computes
// there, and stores what is finished. No engine moves data beside it, so there are no periods for
// pipeline.h to bound: the parts add up, but for stores, which go on while the loop that makes them
// computes, and for what prefetchers and the store queue do beside the core:
//
//   memory = sum over operands loaded from there (loads * load_s) + stores
//   core   = sum over operands and caches (loads * load_s) + iterations * (use_s + overhead)
//   T = launch + (1 - a) * (memory + core - stores hidden by the loop that makes them)
//              + a * max(memory side by side, core)
//
//   load_s(level) = setup + max over the levels it passes ((bytes + runs * run cost) / bandwidth)
//                   + scratchpad
//
// a: share of a tile's window that a prefetcher has fetched when the tile before is done. It stops
// at the end of a page (Intel 64 and IA-32 optimization manual, hardware prefetching), so that
// windows of small tiles that continue each other in memory come early; none where tiles add to
// each other's sums. Side by side: transfer.h. Loads by level: analytical/reuse.h. Memory
// sees whole lines and long runs where neighbouring tiles continue each other while the core's
// cache holds them; the copy sees the tile's own elements and runs. `run cost` is what starting
// another contiguous run costs (hwdesc::TransferEngine::full_efficiency_run), at most what
// streaming through the gap would. What is packed beyond the innermost cache is fetched to be
// written, written back and fetched to be read; arrays, which begin where pages do, meet in the
// same sets of that cache and take one of its ways each. Bandwidths are what a core sustains, so
// that the prefetchers' work is in them. Tiles are shared by `multiplexing.workers` cores, which
// together reach the bandwidth of a level. Edge tiles count as what exists of them. What a loop
// does not move is neither loaded nor computed again. Rows that are reduced before their elements
// are used are reduced whole, whatever the tile.
#pragma once

#include "analytical/block_product.h"
#include "analytical/compute_units.h"
#include "analytical/loop_convolution.h"
#include "analytical/reuse.h"
#include "analytical/simt_passes.h"
#include "analytical/tile_model.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

class CacheModel final : public TileModel {
 public:
  CacheModel(const ir::Kernel& kernel, const hwdesc::Device& device);

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
  struct Moved {          // by one load or store of a stream
    double elements = 0;  // bytes
    double vectors = 0;   // loads of the copy
    // What a level gives or takes. Lines: shared by all tiles of a sweep that the next cache holds.
    // Skipped: the cost of starting runs, which the tiles of a sweep that the cache after that
    // holds continue.
    PerLevel lines{}, skipped{};
  };
  struct Traffic {  // of the whole nest; bytes are main memory's
    double memory_s = 0, caches_s = 0, store_s = 0, issue_s = 0;
    double read_bytes = 0, write_bytes = 0;
    std::array<double, kInnerLevels> inner_bytes{};  // as Accounting::inner_bytes
    double window_bytes = 0;                         // the largest that a tile reads
    double beside_s = 0;  // what reads and writes save that share main memory
  };
  struct Nest {  // one tile, prepared
    LoopSizes extents{};
    boost::container::small_vector<NestLoop, kMaxLoops> loops;  // innermost first
    double tiles = 1, whole_tiles = 1;                          // all loops: edges as parts / whole
    double results = 1;                                         // non-reduction loops only, parts
    double row_pieces =
        1;               // of rows whose reduction is needed before their elements: a second pass
    bool split = false;  // a reduction is cut
    double scratchpad_bytes = 0;
    double packed_bytes = 0;  // of it what inputs are packed into
    double prefetch_s = 0;    // instructions that fetch the boxes of later tiles
    // By level: loops whose whole sweep it holds, from the innermost; the last one's neighbours
    // still meet there.
    std::array<std::uint32_t, kMaxLevels> swept{};
  };
  struct DotOperand {
    int group = 0, rank = 0;
    bool is_columns = false, depth_is_minor = false;
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
  // Seconds of each resource; they add up.
  [[nodiscard]] PerBound parts(const Nest& nest, std::span<const Extents> groups,
                               const Traffic& moved) const;

  // The convolution's other form, of tiles that say how its loops are written.
  std::optional<LoopConvolution> as_loops_;
  ComputeModel compute_;
  Passes passes_;
  std::vector<MemoryStream> inputs_, outputs_;
  std::vector<DotOperand> dot_operands_;
  std::array<bool, 2> depth_is_minor_{};  // of the operands of a dot
  std::vector<Level> levels_;             // as Device::memory
  double packed_capacity_ = 0;            // of the innermost cache
  double overhead_s_ = 0, setup_s_ = 0, page_bytes_ = 0, workers_ = 1;
};

}  // namespace tilecast::analytical
