// Chooses and orders the work items of a measuring session.
//
//   WorkPlan plan = plan_work(sources, device, {.tiles_per_kernel = 16});
//
// Any prefix of the plan is useful: sources alternate, as do the families inside a source, and a
// kernel's tiles come in blocks of four, so that they can be ranked. Sampled tiles are the model's
// best and a spread over the model's times from fast to slow, up to `longest`. If all tiles of a
// kernel are slower, its best is kept and the session skips it. Kernels predicted far below 5 us
// come last (Kaufman et al., MLSys 2021, section 4, keeps longer ones). Deterministic for a seed,
// whatever `jobs`. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analytical/tile.h"
#include "host/workloads.h"
#include "hwdesc/device.h"

namespace tilecast::host {

// Kernels of one origin, which is the column x_set of their rows.
struct WorkSource {
  std::string set;  // "tiles", "fusion", "files"
  std::vector<Workload> workloads;
  bool many_tiles = false;  // false: only the tile that the analytical model chooses
  // If not empty, the tiles to run, by workload.
  std::vector<std::vector<analytical::TileConfig>> tiles;
  std::map<std::string, std::size_t> left_out;  // distinct kernels left out, counted by reason
};

struct WorkItem {
  const Workload* workload = nullptr;
  analytical::TileConfig tile;  // empty: the kernel is not cut
  std::string set;
  Seconds predicted;  // by the analytical model
  int unroll = 1;     // requested unroll factor (c_kernel.h); 1: none

  [[nodiscard]] std::string key() const;  // work_key(): identifies the item
};

struct PlanOptions {
  std::size_t tiles_per_kernel = 128;
  std::vector<int> stages = {};        // every tile with each of these; {}: unchanged
  std::vector<int> unroll = {1};       // every tile with each of these; not empty
  std::size_t kernels_per_source = 0;  // 0: all
  Seconds shortest{1.25e-6};           // predicted shorter: last
  Seconds costly{20e-3};               // predicted longer: after the others, before the shortest
  Seconds longest{0.1};                // predicted longer: not sampled
  std::uint64_t seed = 1;
  int jobs = 1;
};

// Items point into `sources`. Each (hash, tile, unroll) occurs once, from the first source with it.
[[nodiscard]] std::vector<WorkItem> plan_work(std::span<const WorkSource> sources,
                                              const hwdesc::Device& device,
                                              const PlanOptions& options = {});

// Identifies what is measured: the kernel's hash, its tile and its unroll factor.
[[nodiscard]] std::string work_key(const std::string& hash, const analytical::TileConfig& tile,
                                   int unroll = 1);

// Chooses `count` of `values` indices spread over the range: the first, then one from each of equal
// strata, ordered such that every prefix is spread too.
[[nodiscard]] std::vector<std::size_t> spread_sample(std::size_t values, std::size_t count,
                                                     std::uint64_t seed);

// Sources of kernels for a measuring session.
//
//   std::vector<WorkSource> sources{tile_source(device),
//                                  fusion_source(own_programs(), device, {})};
//
// Deterministic. Throws Error naming a file that cannot be read. Thread-safe.

// Set "tiles": tile_workloads(), each with many tiles.
[[nodiscard]] WorkSource tile_source(const hwdesc::Device& device);

// Set "schedules": the twelve convolutions of ResNet-18 (schedule_workloads()), each with every
// tile of its template (schedule/convolution.h): 6,852 in all, as many as Tomczak et al. (arXiv:
// 1904.11876) measured.
[[nodiscard]] WorkSource schedule_source(const hwdesc::Device& device);

// Set "fusion": the programs fused by random configurations; every distinct kernel once, with the
// tile that the model chooses. The kernels of already fused programs are used unchanged.
[[nodiscard]] WorkSource fusion_source(const std::vector<std::string>& files,
                                       const hwdesc::Device& device, const FusionCut& cut);
[[nodiscard]] std::vector<std::string> own_programs();  // paths of the shipped programs

// Set "files": the kernels that `simulate` finds in the files, each with many tiles.
[[nodiscard]] WorkSource file_source(const std::vector<std::string>& files,
                                     const hwdesc::Device& device, Seconds longest);

// Set "again": the kernels of a measurement set in random order, each with up to `tiles` (0: all)
// of its measured tiles, spread from its fastest to its slowest.
[[nodiscard]] WorkSource set_source(const std::string& directory, const hwdesc::Device& device,
                                    std::size_t tiles, std::uint64_t seed);

}  // namespace tilecast::host
