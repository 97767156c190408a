// The model of processor cores with caches: one kernel, one tile. Every step is the core's own.
//
// Tile by tile a core packs the operands that moved into a scratchpad its caches hold, computes
// there, and stores what is finished. No engine moves data beside it, so there are no periods for
// pipeline.h to bound: the parts add up, but for stores, which go on while the loop that makes them
// computes:
//
//   T = launch + sum over operands and levels (loads * load_s) + iterations * (use_s + overhead)
//         + max(0, stores - finishing)
//
//   load_s(level) = setup + max over the levels it passes ((bytes + runs * run cost) / bandwidth)
//                   + scratchpad
//
// Loads by level: analytical/reuse.h. Memory sees whole lines and long runs where neighbouring
// tiles continue each other while the core's cache holds them; the copy sees the tile's own
// elements and runs. `run cost` is what starting another contiguous run costs
// (hwdesc::TransferEngine::full_efficiency_run), at most what streaming through the gap would. A
// scratchpad larger than the innermost cache is fetched to be written, written back and fetched to
// be read. Bandwidths are what a core sustains, so that the prefetchers' work is in them. Tiles are
// shared by `multiplexing.workers` cores, which together reach the bandwidth of a level. Edge tiles
// count as what exists of them. What a loop does not move is neither loaded nor computed again.
// Rows that are reduced before their elements are used are reduced whole, whatever the tile.
#pragma once

#include "analytical/block_product.h"
#include "analytical/compute_units.h"
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
    // By level: loops whose whole sweep it holds, from the innermost; the last one's neighbours
    // still meet there.
    std::array<std::uint32_t, kMaxLevels> swept{};
  };
  struct DotOperand {
    int group = 0, rank = 0;
    bool is_columns = false, depth_is_minor = false;
  };

  [[nodiscard]] Nest prepare(const TileConfig& tile, std::span<Extents> groups) const;
  [[nodiscard]] double footprint_bytes(const Nest& nest, std::span<const Extents> groups) const;
  void set_sweeps(std::span<const Extents> groups, Nest& nest) const;
  [[nodiscard]] Moved moved(const MemoryStream& stream, const Nest& nest,
                            std::span<const GroupExtents> sweeps) const;
  [[nodiscard]] double copy_s(const Moved& moved) const;
  [[nodiscard]] double through_s(const Moved& moved, std::size_t level, double Level::*rate) const;
  void find_dot_operands(const ir::Kernel& kernel);
  [[nodiscard]] double product_s(const ProductSizes& sizes, const Nest& nest) const;
  [[nodiscard]] double transposed_elements(const ProductSizes& sizes,
                                           std::span<const Extents> groups,
                                           std::span<const double> times) const;
  [[nodiscard]] Traffic traffic(const Nest& nest, std::span<const Extents> groups) const;
  void evaluate_sweeps(const Nest& nest, std::size_t groups, std::span<GroupExtents> sweeps) const;
  void count_evaluations(const Nest& nest, std::span<double> times) const;
  double add_compute(const Nest& nest, std::span<const Extents> groups, PerBound& parts) const;
  // Seconds of each resource; they add up.
  [[nodiscard]] PerBound parts(const Nest& nest, std::span<const Extents> groups,
                               const Traffic& moved) const;

  ComputeModel compute_;
  Passes passes_;
  std::vector<MemoryStream> inputs_, outputs_;
  std::vector<DotOperand> dot_operands_;
  std::array<bool, 2> depth_is_minor_{};  // of the operands of a dot
  std::vector<Level> levels_;             // as Device::memory
  double overhead_s_ = 0, setup_s_ = 0, workers_ = 1;
};

}  // namespace tilecast::analytical
