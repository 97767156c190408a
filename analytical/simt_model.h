// The pipelined model of a GPU: one kernel, one tile = the output tile of a thread block;
// contractions run inside a block in steps. (Processor cores: cache_model.h.)
//
//   T = launch + set-up + period + ends                           (ALCOP, MLSys 2023, Table I)
//
// set-up: TransferEngine::setup of the engine that fills the worker's memory, once per launch.
// period: pipeline.h's bound over the steps of all waves together. Resources: main memory, shared
// cache, the worker's own memory, compute units of the busiest worker. Main memory moves the
// working set of each wave once, unless the shared cache keeps it (simt_launch.h); that serves the
// loads of every block. Round trip: waves x steps x (latency + use), over the stages; the blocks of
// a wave hide each other's latency. In order: one block's own steps. ends: first load (of streams,
// code and arguments before it) and last store of a wave, hidden by other blocks except once.
//
// A product's loads queue for main memory. With m its time alone and w = waves x steps x latency /
// stages they take (m + w + sqrt(m^2 + w^2)) / 2: a load waits latency x (1 + b / (2 (1 - b))) at a
// share b of the rate, the mean of a queue with constant service (M/D/1).
//
// A power limit slows products beyond MatrixUnit::full_clock_time. A contraction may be split over
// blocks when these are fewer than the workers hold. Matrix work is padded to the unit's
// instructions. A fusion that the file states how to write is taken so: simt_code.cpp. Rows too
// long to be held pass through the block once per pass (reuse.h); a tile that cuts such rows makes
// each pass a launch. Without these it is ALCOP's formula (tests/analytical/simt_model_test.cpp).
#pragma once

#include "analytical/compute_units.h"
#include "analytical/reuse.h"
#include "analytical/simt_launch.h"
#include "analytical/tile_model.h"
#include "analytical/tile_space.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

class SimtModel final : public TileModel {
 public:
  SimtModel(const ir::Kernel& kernel, const hwdesc::Device& device);

  [[nodiscard]] std::vector<LoopSizes> candidate_extents(std::size_t limit) const override;
  [[nodiscard]] double time_s(const TileConfig& tile) const override;
  void times_s(std::span<const TileConfig> tiles, std::span<double> times) const override;
  [[nodiscard]] Accounting account(const TileConfig& tile, BoundMask removed) const override;
  // Bytes of the buffers of one block.
  [[nodiscard]] double scratchpad_bytes(const TileConfig& tile) const override;
  [[nodiscard]] double least_iteration_s() const override { return 0; }
  [[nodiscard]] std::string infeasible_reason(const TileConfig& tile) const override;
  [[nodiscard]] bool has_schedules() const override;  // of products on thread blocks
  [[nodiscard]] std::optional<TileConfig> stated() const override;

 private:
  struct Input {
    MemoryStream stream;
    bool in_loop = false;                    // loaded again every step
    bool by_row = false, by_column = false;  // products: does the data depend on rows, columns?
    bool by_group = false, windowed = false, gathered = false;  // simt_loads.h
    double broadcast = 1;     // consecutive matrices of the batch with the same data
    double run_slowdown = 1;  // main-memory slowdown because steps read pieces of rows
    double again = 0;         // extra passes over it if rows are not held
  };
  struct Block {  // one tile, prepared
    LoopSizes extents;
    std::array<double, kMaxLoops> tiles;                   // by loop: size / extent
    boost::container::small_vector<double, 16> loaded;     // bytes, by input
    double blocks = 1, steps = 1;                          // edge tiles count as whole
    double covered_blocks = 1, covered_steps = 1;          // size / extent: edge tiles as fractions
    double step_bytes = 0, once_bytes = 0, out_bytes = 0;  // per block
    double excess_bytes = 0;  // the part that does not fit and is loaded again
    bool held = true;         // rows stay in registers from pass to pass
    bool cut = false;         // rows are spread over blocks: every pass is a kernel
    BlockNeeds needs;
    double resident = 1;
  };
  struct ComputeTime {
    UnitCycles iteration, finish;
    double iteration_s = 0, finish_s = 0, shared_s = 0;
  };
  struct Traffic {
    double dram_read = 0, dram_write = 0, cache_read = 0, cache_write = 0;
    double dram_lost = 0;  // bytes main memory loses to short runs
  };

  // Fusions whose code is stated: simt_code.cpp.
  void read_code(const ir::Kernel& kernel);
  [[nodiscard]] double read_through_cache(const Input& input, double loaded) const;
  [[nodiscard]] double threads_of_code() const;
  [[nodiscard]] double results_per_thread(double results) const;
  [[nodiscard]] double resident_code(const Block& block) const;
  [[nodiscard]] double code_starts_s(const Block& block) const;
  [[nodiscard]] double streamed_s(const Block& block, double memory_s, double bytes) const;
  using Groups = std::span<const Extents>;
  [[nodiscard]] Block prepare(const TileConfig& tile, std::span<Extents> groups) const;
  void set_needs(Groups groups, Block& block) const;
  [[nodiscard]] double bytes_between_passes(const Block& block, Groups groups) const;
  [[nodiscard]] ComputeTime compute_time(const Block& block, Groups groups,
                                         BoundMask removed) const;
  [[nodiscard]] double step_depth(double depth) const;
  void set_matrix_rate(), set_broadcasts(), set_taps();
  void read_widened_operands(const ir::Kernel& kernel);
  void set_run_slowdowns(const ir::Kernel& kernel);
  [[nodiscard]] UnitCycles multiply(const LoopSizes& extents) const;
  [[nodiscard]] double shared_memory_s(const LoopSizes& extents) const;
  [[nodiscard]] Traffic traffic(const Block& block, const Launch& launch, double splits,
                                Groups groups) const;
  [[nodiscard]] double reuse(const Input& input, const Block& block, const WaveShape& wave,
                             double wave_blocks) const;
  [[nodiscard]] WaveShape shape_of_wave(const Block& block, double wave_blocks) const;
  // Seconds; fills in `accounting` unless it is null.
  double run(const Block& block, double splits, BoundMask removed, Groups groups,
             Accounting* accounting) const;
  // The same with the best splits; infinite if the tile does not fit and no accounting is asked.
  double best_split(const TileConfig& tile, BoundMask removed, Accounting* accounting) const;

  [[nodiscard]] bool is_scheduled(const TileConfig& tile) const {
    return tile.is_written() && has_schedules();
  }
  [[nodiscard]] BlockSchedule schedule_of(const TileConfig& tile, const LoopSizes& extents,
                                          Groups groups) const;
  [[nodiscard]] BlockSchedule schedule_of(const TileConfig& tile) const;
  void set_written(const TileConfig& tile, const LoopSizes& extents, BlockSchedule& schedule) const;
  void set_reads(const ir::Dims& threads, const LoopSizes& extents, BlockSchedule& schedule) const;
  [[nodiscard]] double rate_of(const BlockSchedule& schedule) const;
  [[nodiscard]] ProductBlock product_block(const TileConfig& tile, BoundMask removed,
                                           std::span<Extents> groups) const;
  [[nodiscard]] WavePeriod period_of(const ProductBlock& product, const ScheduledBlock& scheduled,
                                     const Waves& waves, BoundMask removed) const;
  [[nodiscard]] double scheduled_time_s(const ProductBlock& product) const;
  [[nodiscard]] Accounting account_schedule(const TileConfig& tile, BoundMask removed) const;
  [[nodiscard]] std::string schedule_refusal(const TileConfig& tile) const;

  Passes passes_;
  ComputeModel compute_;
  std::optional<ComputeModel> looped_;  // rows not held: passes recompute their inputs
  std::optional<ir::GpuCode> code_;
  double kept_bytes_ = 0;  // of `code_`: per element of a tile, over its reductions
  bool rows_in_result_ = false, unrolls_ = true;
  double in_flight_ = 0, hero_threads_ = 0;  // bytes per thread; threads of Emitter::kHero
  std::vector<Input> inputs_;
  std::vector<MemoryStream> outputs_;
  double input_bytes_ = 0, output_bytes_ = 0;
  MemoryPath memory_, cache_;
  bool has_cache_ = false, by_warps_ = false;     // by_warps_: they load operands of tensor cores
  double cache_capacity_ = 0, kept_results_ = 0;  // bytes; of results that stay in the cache
  double shared_rate_ = 0;                        // bytes per second of one worker
  double matrix_rate_ = 0;                 // FLOP/s of one worker, efficiency applied; 0: cannot
  double lane_rate_ = 0, lane_share_ = 1;  // FLOP/s of its lanes; sustained share in products
  BlockSides sides_;
  double operand_bytes_ = 4, flat_rows_ = 1, max_splits_ = 1, depth_step_ = 0, tap_depth_ = 0;
  double setup_s_ = 0, atomics_s_ = 0, overhead_s_ = 0, stages_ = 1, workers_ = 1;
};

}  // namespace tilecast::analytical
