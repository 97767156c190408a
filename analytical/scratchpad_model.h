// The pipelined model of a core with a software-managed scratchpad (TPU): one kernel, one tile.
//
// The loop nest of iteration_space.h runs tile by tile. While one tile is computed, the next tile's
// operands are loaded and the previous result is stored (Kaufman et al., MLSys 2021, Appendix A):
//
//   T = fill + sum over transitions (count * period) + last use + drain
//
// A transition advances one loop and resets the loops inside it. An operand is reloaded only if a
// changed loop moves its tile; a result is stored when its tile is left. The period is pipeline.h's
// bound over {load path, store path (shared unless full duplex), compute units}, with the memory's
// latency in the round trip. The engine moves the bytes; the core issues transfers, runs the loop
// and computes, one after the other. Edge tiles move only their existing part but compute in full,
// because the code of an iteration is static. Small results that outer loops revisit stay in the
// scratchpad as accumulators. A footprint beyond the capacity is stored to and loaded from main
// memory once more.
//
// Operands that a kernel computes before a product (an activation function, a scale) are computed
// tile by tile before the pushes, without overlap, and again only when a loop that moves the
// operand advances (TPU v5p: two large products with computed operands take about that much longer,
// n = 2; the tiles of a TPU v3 convolution, n = 579, fit equally well either way).
//
// A product of row groups with a right-hand side each (ragged-dot) takes ceil(rows / tile) + groups
// - 1 steps along the rows: wherever a group ends within a tile, the tile is computed once more
// with the next group's operand.
//
// An in-place update of part of the native tiles it falls into (dynamic-update-slice) reads,
// changes and writes them window by window, without a second buffer (TPU v5p: 390 us for 28,672
// tiles, n = 1).
#pragma once

#include "analytical/scratchpad_run.h"

namespace tilecast::analytical {

class ScratchpadModel final : public TileModel {
 public:
  ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device);

  [[nodiscard]] double time_s(const TileConfig& tile) const override;
  void times_s(std::span<const TileConfig> tiles, std::span<double> times) const override;
  [[nodiscard]] Accounting account(const TileConfig& tile, BoundMask removed) const override;
  [[nodiscard]] double scratchpad_bytes(const TileConfig& tile) const override;
  // Loop overhead plus, for products, one block of the matrix unit without its fill, which may be
  // paid once for all iterations.
  [[nodiscard]] double least_iteration_s() const override;
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const override;

 private:
  using Stream = scratchpad::Stream;
  using Rates = scratchpad::Rates;
  using WindowCost = scratchpad::WindowCost;
  using WindowCosts = scratchpad::WindowCosts;
  using Transfers = scratchpad::Transfers;
  using Run = scratchpad::Run;

  void add_streams(const ir::Kernel& kernel);
  [[nodiscard]] bool revisited(std::uint32_t loops) const;
  [[nodiscard]] Run begin_run(BoundMask removed, Accounting* accounting) const;
  void move_to(const TileConfig& tile, Run& run) const;
  [[nodiscard]] bool splits_reduction(const scratchpad::TileShape& shape) const {
    return (shape.cut & reductions_) != 0;
  }
  [[nodiscard]] double footprint_bytes(const Run& run) const;
  [[nodiscard]] Rates rates_without(BoundMask removed) const;
  [[nodiscard]] double chain_excess_s(double busy_s, BoundMask removed) const;
  void update_compute(Run& run) const;
  [[nodiscard]] WindowCost window_cost(const Stream& stream, std::span<const Extents> groups,
                                       double rate) const;
  void update_costs(WindowCosts& costs, std::uint32_t changed, std::span<const Extents> groups,
                    const Rates& rates) const;
  [[nodiscard]] Transfers transfers(std::uint32_t changed, const WindowCosts& costs) const;
  [[nodiscard]] PipelineLoop loop_of(const Transfers& moved, double use_s,
                                     const Rates& rates) const;
  [[nodiscard]] UnitCycles operands_made(std::uint32_t changed, std::span<const Extents> groups,
                                         BoundMask removed) const;
  [[nodiscard]] PerBound busy_of(const Run& run, const Transfers& moved, const UnitCycles& made,
                                 bool finishes) const;
  // Seconds of `count` steps that move the tiles of the loops `changed`.
  [[nodiscard]] double steps_s(const Run& run, std::uint32_t changed, bool finishes, double count,
                               const WindowCosts& costs) const;
  [[nodiscard]] WindowCosts costs_at(std::uint32_t edges, const Run& run,
                                     GroupExtents& regions) const;
  [[nodiscard]] double transitions_s(const Run& run) const;
  [[nodiscard]] double ends_s(const Run& run) const;
  // Infinite for a tile that does not fit, unless an accounting is requested.
  [[nodiscard]] double run_s(const TileConfig& tile, Run& run) const;

  ComputeModel compute_;
  std::vector<Stream> inputs_, outputs_;
  Rates rates_;
  std::uint32_t reductions_ = 0;  // one bit per loop
  double stages_ = 2;
  double descriptor_s_ = 0;
  bool makes_operands_ = true;  // false: no vector work before the products
};

}  // namespace tilecast::analytical
