// What a measuring session runs, in which order.
//
//   WorkPlan plan = plan_work(sources, device, {.tiles_per_kernel = 16});
//
// Any prefix of the plan is useful: sources take turns, inside one its families do, and a kernel's
// tiles come in blocks of four, so that what was measured can be ranked; further tiles come later.
// Sampled tiles are the model's best one and a spread over the model's times, fast to slow, up to
// `longest` (a kernel none of whose tiles is faster keeps its best, for the session to skip).
// Kernels predicted far below 5 us come last (Kaufman et al., MLSys 2021, section 4, keeps longer
// ones). Deterministic for a seed, whatever `jobs`. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analytical/tile.h"
#include "host/workloads.h"
#include "hwdesc/device.h"

namespace tilecast::host {

// Kernels of one origin: the column x_set of their rows.
struct WorkSource {
  std::string set;  // "tiles", "fusion", "files"
  std::vector<Workload> workloads;
  bool many_tiles = false;  // false: only the tile the analytical model chooses
  // The tiles to run, by workload, instead of choosing some.
  std::vector<std::vector<analytical::TileConfig>> tiles;
  std::map<std::string, std::size_t> left_out;  // distinct kernels it cannot offer, by reason
};

struct WorkItem {
  const Workload* workload = nullptr;
  analytical::TileConfig tile;  // empty: the kernel is not cut
  std::string set;
  Seconds predicted;  // by the analytical model
  int unroll = 1;     // asked of the compiler (c_kernel.h); 1: nothing

  [[nodiscard]] std::string key() const;  // what is measured once: work_key()
};

struct PlanOptions {
  std::size_t tiles_per_kernel = 128;
  std::vector<int> stages = {};        // every tile with each of them; {}: as it is
  std::vector<int> unroll = {1};       // every tile with each of them; at least one
  std::size_t kernels_per_source = 0;  // 0: all
  Seconds shortest{1.25e-6};           // predicted shorter: last
  Seconds costly{20e-3};               // predicted longer: after the others, before those
  Seconds longest{0.1};                // predicted longer: not sampled
  std::uint64_t seed = 1;
  int jobs = 1;
};

// Pointers into `sources`. Each (hash, tile, unroll) once, from the first source that has it.
[[nodiscard]] std::vector<WorkItem> plan_work(std::span<const WorkSource> sources,
                                              const hwdesc::Device& device,
                                              const PlanOptions& options = {});

// What is measured once: the kernel's hash, its tile and how its loops are unrolled.
[[nodiscard]] std::string work_key(const std::string& hash, const analytical::TileConfig& tile,
                                   int unroll = 1);

// `count` of `values` (ascending), spread over all of them: the first, then one from each of equal
// strata, in an order of which every prefix is spread too.
[[nodiscard]] std::vector<std::size_t> spread_sample(std::size_t values, std::size_t count,
                                                     std::uint64_t seed);

}  // namespace tilecast::host
