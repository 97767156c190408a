#include "search/tile_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "host/workloads.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"

namespace tilecast::search {
namespace {

using analytical::TileConfig;

// Modules of the kernels that can run alone, by hash.
std::unordered_map<std::string, ir::Module> modules_alone(ir::Module fused,
                                                          const hwdesc::Device& device) {
  fused.is_scheduled = true;  // so that it is not fused again
  constexpr Seconds kAnyLength{1e9};
  host::ProgramKernels cut = host::fusion_workloads(fused, device, {.longest = kAnyLength});
  std::unordered_map<std::string, ir::Module> modules;
  for (host::Workload& work : cut.workloads) modules.emplace(work.hash, std::move(work.module));
  return modules;
}

std::vector<RankedTile> ranked_tiles(const ir::Kernel& kernel, const hwdesc::Device& device,
                                     const analytical::TileRanker& ranker,
                                     const KernelTilesOptions& options) {
  std::vector<RankedTile> tiles = rank_tiles(kernel, device, ranker, options.listing);
  if (tiles.empty()) {
    tiles = rank_tiles(kernel, device, analytical::PhysicsRanker(), options.listing);
  }
  std::erase_if(tiles, [&](const RankedTile& one) { return !options.can_cut(kernel, one.tile); });
  return tiles;
}

// Time of one launch; nullopt if there is no model or it has no answer.
std::optional<Seconds> default_time(const ir::Kernel& kernel, const hwdesc::Device& device,
                                    const TileConfig& tile, const analytical::CostModel* times) {
  if (times == nullptr) return std::nullopt;
  const analytical::KernelQuery query{kernel, tile == TileConfig{} ? nullptr : &tile};
  const auto answer = std::move(times->estimate({&query, 1}, device).front());
  return answer ? std::optional(answer->time) : std::nullopt;
}

// Tunes kernels in turn while the budget lasts.
class TileTrials {
 public:
  TileTrials(HardwareTrials& trials, const VerifyTilesOptions& options)
      : trials_(trials), options_(options) {}

  TunedKernel tune(const KernelTiles& kernel, std::size_t number, TunedTiles& tuned) {
    TunedKernel result;
    const HardwareTrial reference = trial(kernel, kernel.by_default);
    result.by_default = trials_.time({&reference, 1}, reference).front();
    result.tried.push_back({0, result.by_default});
    ++tuned.run;
    const std::size_t last =
        options_.exhaustive ? kernel.tiles.size() : std::min(options_.top, kernel.tiles.size());
    for (std::size_t next = 0; next < last && is_open(tuned);) {
      std::vector<HardwareTrial> asked;
      std::vector<std::size_t> ranks;
      for (; next < last && asked.size() < options_.batch; ++next) {
        if (kernel.tiles[next].tile == kernel.by_default) {
          result.tried.push_back({next + 1, result.by_default});
          continue;
        }
        asked.push_back(trial(kernel, kernel.tiles[next].tile));
        ranks.push_back(next + 1);
      }
      const std::vector<HardwareTime> times = trials_.time(asked, reference);
      for (std::size_t i = 0; i < ranks.size(); ++i) result.tried.push_back({ranks[i], times[i]});
      tuned.run += ranks.size();
      tuned.stopped |= !options_.step(number, tuned.run);
    }
    tuned.complete &= result.tried.size() == last + 1;
    if (!tuned.stopped) choose(kernel, result);
    return result;
  }

  [[nodiscard]] bool is_open(const TunedTiles& tuned) const {
    return !tuned.stopped && trials_.spent_s() < options_.budget_s;
  }

 private:
  static HardwareTrial trial(const KernelTiles& kernel, const TileConfig& tile) {
    return {fmt::format("{} {}", kernel.hash, to_string(tile)), [&kernel, &tile] {
              return HardwareJob{kernel.hash, kernel.alone.value(), {{kernel.hash, tile}}};
            }};
  }
  // Runs the fastest of the first `top`, and of all, again together, because the minimum of many
  // noisy times is biased.
  void choose(const KernelTiles& kernel, TunedKernel& tuned) {
    std::vector<std::size_t> ranks = fastest_ranks(tuned, options_.top);
    for (const std::size_t rank : fastest_ranks(tuned, kernel.tiles.size())) {
      if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    }
    if (ranks.empty()) return;
    std::vector<HardwareTrial> last = {trial(kernel, kernel.by_default)};
    for (const std::size_t rank : ranks) last.push_back(trial(kernel, kernel.tiles[rank - 1].tile));
    const std::vector<HardwareTime> times = median_of_sittings(trials_, last, "final");
    std::optional<double> top_s = times[0].seconds, best_s = top_s;
    const auto take = [](double time_s, std::size_t rank, std::optional<double>& least_s,
                         std::size_t& chosen) {
      if (least_s && time_s >= *least_s) return;
      least_s = time_s;
      chosen = rank;
    };
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!times[i + 1].seconds) continue;
      take(*times[i + 1].seconds, ranks[i], best_s, tuned.best_rank);
      if (ranks[i] <= options_.top) take(*times[i + 1].seconds, ranks[i], top_s, tuned.top_rank);
    }
  }

  // The fastest of the first `most` ranks that are faster than the default.
  static std::vector<std::size_t> fastest_ranks(const TunedKernel& kernel, std::size_t most) {
    constexpr std::size_t kFinalists = 5;
    const std::optional<double>& default_s = kernel.by_default.seconds;
    std::vector<const TriedTile*> ran;
    for (const TriedTile& one : kernel.tried) {
      if (one.rank == 0 || one.rank > most || !one.measured.seconds) continue;
      if (!default_s || *one.measured.seconds < *default_s) ran.push_back(&one);
    }
    std::ranges::stable_sort(ran, {}, [](const TriedTile* one) { return *one->measured.seconds; });
    if (ran.size() > kFinalists) ran.resize(kFinalists);
    std::vector<std::size_t> ranks;
    for (const TriedTile* one : ran) ranks.push_back(one->rank);
    return ranks;
  }

  HardwareTrials& trials_;
  const VerifyTilesOptions& options_;
};

// The tiles with these ranks.
TileChoices with_ranks(std::span<const KernelTiles> kernels, std::span<const TunedKernel> tuned,
                       std::size_t TunedKernel::*rank) {
  TileChoices tiles = default_tiles(kernels);
  for (std::size_t i = 0; i < tuned.size(); ++i) {
    if (const std::size_t r = tuned[i].*rank; r > 0) {
      tiles[kernels[i].hash] = kernels[i].tiles[r - 1].tile;
    }
  }
  return tiles;
}

struct WholeProgram {
  std::string name;
  TileChoices tiles;
  std::optional<HardwareTime> TunedTiles::*time;
};

// Identifies a sitting, since only times of one sitting are comparable.
std::string hash_of(const std::vector<WholeProgram>& choices) {
  ir::Hash128 hash;
  for (const WholeProgram& choice : choices) hash.add(std::string_view(text_of(choice.tiles)));
  const auto digits = hash.result();
  return fmt::format("{:016x}{:016x}", digits[0], digits[1]);
}

// Times the program with each choice, together; equal choices are timed once.
void time_whole(const ir::Module& fused, const std::string& program_hash,
                const std::vector<WholeProgram>& choices, HardwareTrials& trials,
                TunedTiles& tuned) {
  std::vector<HardwareTrial> asked;
  std::vector<std::size_t> place;  // by choice: index into `asked`
  const std::string sitting = hash_of(choices);
  for (const WholeProgram& choice : choices) {
    const auto same = std::ranges::find(choices, choice.tiles, &WholeProgram::tiles);
    if (&*same != &choice) {
      place.push_back(place[static_cast<std::size_t>(same - choices.begin())]);
      continue;
    }
    place.push_back(asked.size());
    asked.push_back({fmt::format("whole {} {}", sitting, choice.name), [&] {
                       return HardwareJob{program_hash, fused, choice.tiles};
                     }});
  }
  const std::vector<HardwareTime> times = median_of_sittings(trials, std::move(asked), "sitting");
  for (std::size_t i = 0; i < choices.size(); ++i) tuned.*choices[i].time = times[place[i]];
  const HardwareTime& by_default = *tuned.by_default;
  if (!by_default.seconds) {
    throw Error(fmt::format("{}: with the tiles it has by default it does not run here: {}",
                            fused.name, by_default.failure));
  }
  double best_s = *by_default.seconds;
  for (const WholeProgram& choice : choices) {
    const std::optional<HardwareTime>& time = tuned.*choice.time;
    if (!time->seconds || *time->seconds >= best_s) continue;
    best_s = *time->seconds;
    tuned.chosen = choice.tiles;
  }
}

}  // namespace

std::vector<KernelTiles> kernels_with_tiles(const ir::Module& fused, const hwdesc::Device& device,
                                            const analytical::TileRanker& ranker,
                                            const KernelTilesOptions& options) {
  const ir::Program program =
      ir::program_for({fused.file, fused, {}}, analytical::layout_rules(device),
                      {.trip_count = options.trip_count})
          .program;
  std::unordered_map<std::string, ir::Module> modules;
  if (options.alone) modules = modules_alone(fused, device);
  std::unordered_map<std::string, std::size_t> known;
  std::vector<KernelTiles> kernels;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const ir::Kernel& kernel = scheduled.kernel;
    const analytical::KernelAnalysis analysis(kernel, device);
    if (!analysis.tileable() || analysis.compiler_tile()) continue;
    std::string hash = ir::canonical_hash(kernel);
    const auto [at, is_new] = known.try_emplace(hash, kernels.size());
    if (!is_new) {
      kernels[at->second].launches += scheduled.multiplicity;
      continue;
    }
    KernelTiles& added = kernels.emplace_back(KernelTiles{kernel.name(), std::move(hash)});
    if (const auto found = modules.find(added.hash); found != modules.end()) {
      added.alone = std::move(found->second);
    }
    added.launches = scheduled.multiplicity;
    const analytical::Estimate best = analysis.estimate_best();
    added.by_default = options.can_cut(kernel, best.tile) ? best.tile : TileConfig{};
    added.default_s =
        default_time(kernel, device, added.by_default, options.times).value_or(best.time).value;
    added.tiles = ranked_tiles(kernel, device, ranker, options);
    added.listed_of = options.listing.set == analytical::TileSet::kAll
                          ? analysis.count_all_tiles()
                          : static_cast<double>(added.tiles.size());
  }
  std::erase_if(kernels, [](const KernelTiles& kernel) { return kernel.tiles.size() < 2; });
  for (KernelTiles& kernel : kernels) kernel.default_s *= kernel.launches;
  std::ranges::stable_sort(kernels, std::greater<>(), &KernelTiles::default_s);
  return kernels;
}

TileChoices first_tiles(std::span<const KernelTiles> kernels) {
  TileChoices tiles;
  for (const KernelTiles& kernel : kernels) tiles[kernel.hash] = kernel.tiles.front().tile;
  return tiles;
}

TileChoices default_tiles(std::span<const KernelTiles> kernels) {
  TileChoices tiles;
  for (const KernelTiles& kernel : kernels) tiles[kernel.hash] = kernel.by_default;
  return tiles;
}

TunedTiles verify_tiles(const ir::Module& fused, const std::string& program_hash,
                        std::span<const KernelTiles> kernels, Hardware& hardware,
                        const VerifyTilesOptions& options, TuningJournal& journal) {
  HardwareTrials trials(hardware, journal, options.now);
  TileTrials one(trials, options);
  TunedTiles tuned{.complete = true};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i].alone) {
      tuned.kernels.emplace_back();
      continue;
    }
    if (!one.is_open(tuned)) {
      tuned.complete = false;
      break;
    }
    tuned.kernels.push_back(one.tune(kernels[i], i, tuned));
  }
  if (!tuned.stopped) {
    std::vector<WholeProgram> choices = {
        {"default", default_tiles(kernels), &TunedTiles::by_default},
        {"first", first_tiles(kernels), &TunedTiles::by_first},
        {"top", with_ranks(kernels, tuned.kernels, &TunedKernel::top_rank), &TunedTiles::by_top}};
    if (options.exhaustive) {
      choices.push_back({"best", with_ranks(kernels, tuned.kernels, &TunedKernel::best_rank),
                         &TunedTiles::by_all});
    }
    time_whole(fused, program_hash, choices, trials, tuned);
  }
  tuned.spent_s = trials.spent_s();
  return tuned;
}

}  // namespace tilecast::search
