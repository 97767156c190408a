// The fastest tiles of all kernels of a program: Kaufman et al., MLSys 2021, sections 7.1 and 7.2.
//
//   std::vector<KernelTiles> kernels = kernels_with_tiles(fused, device, ranker, options);
//   TunedTiles tuned = verify_tiles(fused, kernels, hardware, {.top = 10, ...}, journal);
//   tuned.chosen                                    // for ChosenTiles, or a file
//
// Kernels are tuned alone, those first that take longest: the tile that each has by default, then
// the best `top` by the ranker are run; the five fastest run again together, and the fastest of
// these is kept. Then the program runs whole with the tiles of each choice, together in several
// sittings: only these times say what was gained.
// Deterministic but for what hardware says. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/hardware_trials.h"

namespace tilecast::search {

struct KernelTiles {
  std::string name, hash;
  std::optional<ir::Module> alone;    // launches this kernel; nothing: it cannot run alone
  double launches = 1;                // in a run of the program
  double default_s = 0;               // of all launches, by KernelTilesOptions::times
  analytical::TileConfig by_default;  // what it is cut as when nobody says
  std::vector<RankedTile> tiles;      // the best by the ranker first; by_default is one of them
  double listed_of = 0;               // how many tiles there are without a limit on the list
};

struct KernelTilesOptions {
  TileListing listing = {};
  double trip_count = 5;
  bool alone = true;  // whether KernelTiles::alone is wanted: for hardware
  const analytical::CostModel* times = nullptr;  // null, or no answer: physics
  // Tiles that it refuses are not listed.
  std::function<bool(const ir::Kernel&, const analytical::TileConfig&)> can_cut =
      [](const ir::Kernel&, const analytical::TileConfig&) { return true; };
};

// The different kernels of a fused program that have more than one tile, longest first. Where the
// ranker has no answer for a kernel, physics ranks its tiles.
[[nodiscard]] std::vector<KernelTiles> kernels_with_tiles(const ir::Module& fused,
                                                          const hwdesc::Device& device,
                                                          const analytical::TileRanker& ranker,
                                                          const KernelTilesOptions& options = {});
// The first tile of each kernel: a compiler's choice, without hardware.
[[nodiscard]] TileChoices first_tiles(std::span<const KernelTiles> kernels);
// The tile that each has by default.
[[nodiscard]] TileChoices default_tiles(std::span<const KernelTiles> kernels);

struct VerifyTilesOptions {
  std::size_t top = 10;         // tiles of each kernel that are run, besides the default
  bool exhaustive = false;      // all listed tiles are run; what they gain is reported beside
  double budget_s = 60;         // of hardware
  std::size_t batch = 16;       // tiles prepared together
  std::function<double()> now;  // seconds of a clock that never goes back
  // After each batch: kernels done, tiles run. Returning false stops.
  std::function<bool(std::size_t, std::size_t)> step = [](std::size_t, std::size_t) {
    return true;
  };
};

struct TriedTile {
  std::size_t rank = 0;  // 1: the ranker's first; 0: the default, listed nowhere
  HardwareTime measured;
};
struct TunedKernel {
  std::vector<TriedTile> tried;  // the default's first, then in the order of ranks
  HardwareTime by_default;       // alone
  std::size_t top_rank = 0;      // fastest of the first `top`; 0: the default
  std::size_t best_rank = 0;     // fastest of all that ran
};

struct TunedTiles {
  std::vector<TunedKernel> kernels;  // as given
  // The program, whole, in one sitting. Nothing: not timed.
  std::optional<HardwareTime> by_default, by_first, by_top, by_all;
  TileChoices chosen;  // of the fastest of these; empty: the default
  std::size_t run = 0;
  double spent_s = 0;
  bool complete = false;  // the budget sufficed for every kernel
  bool stopped = false;   // by `step`
};

// Throws Error where the program does not run with the tiles it has by default.
[[nodiscard]] TunedTiles verify_tiles(const ir::Module& fused, const std::string& program_hash,
                                      std::span<const KernelTiles> kernels, Hardware& hardware,
                                      const VerifyTilesOptions& options, TuningJournal& journal);

}  // namespace tilecast::search
