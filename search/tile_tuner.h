// Tunes the tiles of all kernels of a program: Kaufman et al., MLSys 2021, sections 7.1 and 7.2.
//
//   std::vector<KernelTiles> kernels = kernels_with_tiles(fused, device, ranker, options);
//   TunedTiles tuned = verify_tiles(fused, kernels, hardware, {.top = 10, ...}, journal);
//   tuned.chosen                                    // for ChosenTiles, or a file
//
// Kernels are tuned separately, longest first: the default tile and the ranker's best `top` are
// run, the five fastest run again together, and the fastest of these is kept. Then the whole
// program runs with each set of choices, in several sittings; speedups are computed from these
// times only. Deterministic except for measured times. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/hardware_trials.h"

namespace tilecast::search {

struct KernelTiles {
  std::string name, hash;
  std::optional<ir::Module> alone;    // launches this kernel; nullopt: it cannot run alone
  double launches = 1;                // per run of the program
  double default_s = 0;               // all launches, predicted by KernelTilesOptions::times
  analytical::TileConfig by_default;  // tile if none is requested
  std::vector<RankedTile> tiles;      // the ranker's best first; includes by_default
  double listed_of = 0;               // number of tiles without a limit on the list
};

struct KernelTilesOptions {
  TileListing listing = {};
  double trip_count = 5;
  bool alone = true;  // whether to fill in KernelTiles::alone, needed for hardware
  const analytical::CostModel* times = nullptr;  // nullptr or no answer: the analytical model
  // Tiles for which it returns false are not listed.
  std::function<bool(const ir::Kernel&, const analytical::TileConfig&)> can_cut =
      [](const ir::Kernel&, const analytical::TileConfig&) { return true; };
};

// The distinct kernels of a fused program that have more than one tile, longest first. If the
// ranker has no answer for a kernel, the analytical model ranks its tiles.
[[nodiscard]] std::vector<KernelTiles> kernels_with_tiles(const ir::Module& fused,
                                                          const hwdesc::Device& device,
                                                          const analytical::TileRanker& ranker,
                                                          const KernelTilesOptions& options = {});
// The first tile of each kernel: a compiler's choice, without hardware.
[[nodiscard]] TileChoices first_tiles(std::span<const KernelTiles> kernels);
// The default tile of each kernel.
[[nodiscard]] TileChoices default_tiles(std::span<const KernelTiles> kernels);

struct VerifyTilesOptions {
  std::size_t top = 10;         // tiles to run per kernel, besides the default
  bool exhaustive = false;      // run all listed tiles and report their gain separately
  double budget_s = 60;         // hardware time
  std::size_t batch = 16;       // tiles prepared together
  std::function<double()> now;  // seconds of a monotonic clock
  // Called after each batch with the kernels done and the tiles run; false stops.
  std::function<bool(std::size_t, std::size_t)> step = [](std::size_t, std::size_t) {
    return true;
  };
};

struct TriedTile {
  std::size_t rank = 0;  // 1: the ranker's best; 0: the default, if not listed
  HardwareTime measured;
};
struct TunedKernel {
  std::vector<TriedTile> tried;  // the default first, then by rank
  HardwareTime by_default;       // time of the kernel alone
  std::size_t top_rank = 0;      // fastest among the first `top`; 0: the default
  std::size_t best_rank = 0;     // fastest among all that ran
};

struct TunedTiles {
  std::vector<TunedKernel> kernels;  // in the order given
  // Times of the whole program, measured together. nullopt: not timed.
  std::optional<HardwareTime> by_default, by_first, by_top, by_all;
  TileChoices chosen;  // tiles of the fastest of these; empty: the default
  std::size_t run = 0;
  double spent_s = 0;
  bool complete = false;  // the budget was sufficient for every kernel
  bool stopped = false;   // by `step`
};

// Throws Error if the program does not run with its default tiles.
[[nodiscard]] TunedTiles verify_tiles(const ir::Module& fused, const std::string& program_hash,
                                      std::span<const KernelTiles> kernels, Hardware& hardware,
                                      const VerifyTilesOptions& options, TuningJournal& journal);

}  // namespace tilecast::search
