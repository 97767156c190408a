#include "host/measure_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <unordered_set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "measured/measurement_set.h"
#include "schedule/convolution.h"

namespace tilecast::host {

namespace {

using analytical::KernelAnalysis;
using analytical::TileConfig;

constexpr std::size_t kTilesInARow = 4;  // tiles of a kernel measured in a row

struct TimedTile {
  TileConfig tile;
  Seconds predicted;
};

std::vector<TimedTile> sampled_tiles(const KernelAnalysis& analysis, const std::string& hash,
                                     const PlanOptions& options) {
  std::vector<TimedTile> all;
  for (TileConfig& tile : analysis.tiles()) {
    const Seconds time = analysis.time(tile);
    if (time <= options.longest) all.push_back({std::move(tile), time});
  }
  std::ranges::stable_sort(all, {}, &TimedTile::predicted);
  const std::uint64_t seed = options.seed ^ std::hash<std::string>{}(hash);
  std::vector<TimedTile> chosen;
  for (const std::size_t i : spread_sample(all.size(), options.tiles_per_kernel, seed)) {
    chosen.push_back(all[i]);
  }
  return chosen;
}

std::vector<TimedTile> tiles_of(const WorkSource& source, std::size_t index,
                                const hwdesc::Device& device, const PlanOptions& options) {
  const Workload& workload = source.workloads[index];
  const KernelAnalysis analysis(workload.kernel, device);
  std::vector<TimedTile> result;
  if (!source.tiles.empty()) {
    for (const TileConfig& tile : source.tiles[index]) {
      const bool cut = tile != TileConfig{} && analysis.tileable();
      result.push_back({tile, cut ? analysis.time(tile) : analysis.estimate_best().time});
    }
    return result;
  }
  if (source.many_tiles && analysis.tileable()) {
    result = sampled_tiles(analysis, workload.hash, options);
  }
  if (result.empty()) {
    analytical::Estimate best = analysis.estimate_best();
    result.push_back({std::move(best.tile), best.time});
  }
  return result;
}

// Each tile with each number of stages.
std::vector<TimedTile> with_stages(std::vector<TimedTile> tiles, const std::vector<int>& stages) {
  if (stages.empty()) return tiles;
  std::vector<TimedTile> made;
  for (const TimedTile& timed : tiles) {
    for (const int count : stages) {
      made.push_back(timed);
      made.back().tile.stages = count;
    }
  }
  return made;
}

// Indices of workloads with families alternating; the first ones if there is a limit.
std::vector<std::size_t> in_turns(const std::vector<Workload>& workloads, std::size_t limit) {
  std::map<std::string, std::size_t> families, members;  // family -> order of appearance, size
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> order;  // turn, family, index
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const std::string& family = workloads[i].family;
    const std::size_t number = families.emplace(family, families.size()).first->second;
    order.emplace_back(members[family]++, number, i);
  }
  std::ranges::sort(order);
  if (limit > 0 && order.size() > limit) order.resize(limit);
  std::vector<std::size_t> indices;
  for (const auto& entry : order) indices.push_back(std::get<2>(entry));
  return indices;
}

std::vector<WorkItem> items_of(const WorkSource& source, const hwdesc::Device& device,
                               const PlanOptions& options) {
  const std::vector<std::size_t> order = in_turns(source.workloads, options.kernels_per_source);
  std::vector<std::vector<TimedTile>> tiles(order.size());
  base::parallel_for(order.size(), options.jobs, [&](std::size_t i) {
    tiles[i] = with_stages(tiles_of(source, order[i], device, options), options.stages);
  });
  std::size_t most = 0;
  for (const auto& list : tiles) most = std::max(most, list.size());
  std::vector<WorkItem> items;
  for (std::size_t first = 0; first < most; first += kTilesInARow) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t end = std::min(first + kTilesInARow, tiles[i].size());
      for (std::size_t t = first; t < end; ++t) {
        for (const int factor : options.unroll) {
          items.push_back({&source.workloads[order[i]], tiles[i][t].tile, source.set,
                           tiles[i][t].predicted, factor});
        }
      }
    }
  }
  return items;
}

// Bit-reversed order, e.g. 0, 4, 2, 6, 1, 5, 3, 7: every prefix is spread over the range.
std::vector<std::size_t> bit_reversed(std::size_t count) {
  std::size_t power = 1;
  while (power < count) power *= 2;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < power; ++i) {
    std::size_t reversed = 0;
    for (std::size_t bit = 1, mirror = power / 2; bit < power; bit *= 2, mirror /= 2) {
      if ((i & bit) != 0) reversed += mirror;
    }
    if (reversed < count) order.push_back(reversed);
  }
  return order;
}

}  // namespace

std::vector<std::size_t> spread_sample(std::size_t values, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> chosen;
  if (values == 0 || count == 0) return chosen;
  if (values <= count) {
    for (const std::size_t i : bit_reversed(values)) chosen.push_back(i);
    return chosen;
  }
  std::mt19937_64 random(seed);
  chosen.push_back(0);
  // The last stratum gives the last value, so that both ends are included.
  const std::size_t strata = count - 1;
  std::vector<std::size_t> from_stratum;
  for (std::size_t s = 0; s < strata; ++s) {
    const std::size_t begin = 1 + (values - 1) * s / strata;
    const std::size_t end = 1 + (values - 1) * (s + 1) / strata;
    from_stratum.push_back(s + 1 == strata ? values - 1 : begin + random() % (end - begin));
  }
  // The slow end first: together with the best tile it spans the range.
  std::ranges::reverse(from_stratum);
  for (const std::size_t s : bit_reversed(strata)) chosen.push_back(from_stratum[s]);
  return chosen;
}

std::string work_key(const std::string& hash, const TileConfig& tile, int unroll) {
  std::string key = fmt::format("{} {}", hash, analytical::to_string(tile));
  if (unroll > 1) key += fmt::format(" by {}", unroll);
  return key;
}

std::string WorkItem::key() const {
  return work_key(workload->hash, tile, unroll);
}

std::vector<WorkItem> plan_work(std::span<const WorkSource> sources, const hwdesc::Device& device,
                                const PlanOptions& options) {
  std::vector<std::vector<WorkItem>> queues;
  std::size_t longest = 0;
  for (const WorkSource& source : sources) {
    TC_CHECK(source.tiles.empty() || source.tiles.size() == source.workloads.size(),
             "tiles are given for every workload or for none");
    queues.push_back(items_of(source, device, options));
    longest = std::max(longest, queues.back().size());
  }
  std::vector<WorkItem> items;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < longest; ++i) {
    for (std::vector<WorkItem>& queue : queues) {
      if (i >= queue.size()) continue;
      if (!seen.insert(queue[i].key()).second) continue;
      items.push_back(std::move(queue[i]));
    }
  }
  const auto stage = [&](const WorkItem& item) {
    return item.predicted < options.shortest ? 2 : item.predicted > options.costly ? 1 : 0;
  };
  std::ranges::stable_sort(items, {}, stage);
  return items;
}

namespace {

namespace fs = std::filesystem;

// The kernels of all files, fused according to `cut`; counts those left out.
WorkSource cut_files(const std::vector<std::string>& files, const hwdesc::Device& device,
                     const FusionCut& cut) {
  std::vector<ProgramKernels> parts(files.size());
  base::parallel_for(files.size(), base::default_jobs(), [&](std::size_t i) {
    parts[i] = fusion_workloads(ir::read_module(files[i]), device, cut);
  });
  WorkSource source;
  for (ProgramKernels& part : parts) {
    std::ranges::move(part.workloads, std::back_inserter(source.workloads));
    for (const auto& [reason, kernels] : part.left_out) source.left_out[reason] += kernels;
  }
  return source;
}

// The rows of one kernel file.
struct MeasuredKernel {
  std::string name, family;
  std::vector<const measured::MeasurementRow*> rows;
};

std::vector<analytical::TileConfig> sampled_tiles(MeasuredKernel& kernel, std::size_t most,
                                                  std::uint64_t seed) {
  std::ranges::stable_sort(kernel.rows, {}, &measured::MeasurementRow::runtime);
  std::vector<analytical::TileConfig> tiles;
  const std::size_t count = most == 0 ? kernel.rows.size() : most;
  for (const std::size_t i : spread_sample(kernel.rows.size(), count, seed)) {
    tiles.push_back(kernel.rows[i]->tile);
  }
  return tiles;
}

}  // namespace

WorkSource tile_source(const hwdesc::Device& device) {
  return {.set = "tiles", .workloads = tile_workloads(device), .many_tiles = true};
}

WorkSource schedule_source(const hwdesc::Device& device) {
  WorkSource source{.set = "schedules", .workloads = schedule_workloads(device)};
  std::mt19937_64 random(1);
  for (const Workload& workload : source.workloads) {
    source.tiles.push_back(schedule::convolution_tiles(workload.kernel));
    // Shuffled, so that a session that ends early has sampled everything.
    base::shuffle(source.tiles.back(), random);
  }
  return source;
}

std::vector<std::string> own_programs() {
  std::vector<std::string> programs;
  std::error_code failed;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(shipped_folder("programs"), failed)) {
    if (entry.path().extension() == ".hlo") programs.push_back(entry.path().string());
  }
  std::ranges::sort(programs);
  return programs;
}

WorkSource fusion_source(const std::vector<std::string>& files, const hwdesc::Device& device,
                         const FusionCut& cut) {
  WorkSource source = cut_files(files, device, cut);
  source.set = "fusion";
  return source;
}

WorkSource file_source(const std::vector<std::string>& files, const hwdesc::Device& device,
                       Seconds longest) {
  WorkSource source = cut_files(files, device, {.configurations = 1, .longest = longest});
  source.set = "files";
  source.many_tiles = true;
  return source;
}

WorkSource set_source(const std::string& directory, const hwdesc::Device& device, std::size_t tiles,
                      std::uint64_t seed) {
  const measured::MeasurementSet set = measured::read_measurement_set(directory);
  std::map<std::string, MeasuredKernel> by_file;
  for (const measured::MeasurementRow& row : set.rows) {
    if (row.file.empty() || row.is_program || !row.kernel.empty()) continue;
    MeasuredKernel& kernel = by_file[row.file];
    kernel.name = set.table.cell(set.table.rows[row.table_row], "x_name");
    kernel.family = row.family;
    kernel.rows.push_back(&row);
  }
  std::vector<std::string> files;
  for (const auto& [file, kernel] : by_file) files.push_back(file);
  std::ranges::shuffle(files, std::mt19937_64(seed));
  WorkSource source{.set = "again"};
  for (const std::string& file : files) {
    MeasuredKernel& measured = by_file.at(file);
    const std::string path = (fs::path(directory) / file).string();
    ir::Module module = laid_out(ir::read_module(path), device);
    const ir::Program program = ir::make_program(module);
    if (program.kernels().size() != 1) {
      throw Error(fmt::format("{}: {} kernels, expected one", path, program.kernels().size()));
    }
    ir::Kernel kernel = program.kernels().front().kernel;
    std::string hash = ir::canonical_hash(kernel);
    source.tiles.push_back(sampled_tiles(measured, tiles, seed));
    source.workloads.push_back(
        {measured.name, measured.family, std::move(module), std::move(kernel), std::move(hash)});
  }
  return source;
}

}  // namespace tilecast::host
