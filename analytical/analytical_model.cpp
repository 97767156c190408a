#include "analytical/analytical_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "analytical/accounting.h"
#include "analytical/energy.h"
#include "analytical/roofline.h"
#include "analytical/tile_model.h"
#include "analytical/tile_space.h"
#include "analytical/transfer.h"
#include "analytical/untiled.h"
#include "analytical/winograd.h"
#include "analytical/xla_cpu.h"
#include "base/error.h"
#include "base/lazy.h"
#include "hwdesc/device.h"
#include "ir/kernels/in_place_update.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;

constexpr std::string_view kModelName = "analytical";

// Indices of the queries, grouped by kernel content, so that each content is analysed once.
std::vector<std::size_t> by_content(std::span<const KernelQuery> queries) {
  std::unordered_map<const void*, std::size_t> first;
  std::vector<std::pair<std::size_t, std::size_t>> keyed;
  keyed.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    keyed.emplace_back(first.emplace(queries[i].kernel.content(), i).first->second, i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> numbers;
  numbers.reserve(keyed.size());
  for (const auto& [group, number] : keyed) numbers.push_back(number);
  return numbers;
}

Estimate estimate_of_nests(const std::vector<Kernel>& nests, const hwdesc::Device& device) {
  const NestSequence sequence(nests, device);
  return explained({fmt::format("{} loop nests, one after the other", nests.size()),
                    [&](BoundMask removed) { return sequence.account(removed); }});
}

constexpr double kPasses = 3;

// Fallback for kernels without a good tile: a few passes over the arrays, everything computed once.
Estimate as_passes(const Kernel& kernel, const TileModel& model, const hwdesc::Device& device) {
  constexpr BoundMask kMemory = mask_of(Bound::kHbmRead) | mask_of(Bound::kHbmWrite) |
                                mask_of(Bound::kIssue) | mask_of(Bound::kLatency) |
                                mask_of(Bound::kOverhead);
  const Traffic traffic = distinct_traffic(kernel, device);
  const MemoryPasses passes{.count = kPasses,
                            .read_bytes = kPasses * traffic.read.value,
                            .write_bytes = kPasses * traffic.write.value};
  return explained([&](BoundMask removed) {
    Accounting sum = account_passes(passes, device, removed);
    sum += model.account(analytical::full_tile(model.space()), removed | kMemory);
    return sum;
  });
}

// Whether the kernel is an in-place update whose windows wait for each other, whatever the tile.
bool waits_for_windows(const Estimate& estimate, const Kernel& kernel) {
  constexpr BoundMask kWaiting = mask_of(Bound::kLatency) | mask_of(Bound::kFillDrain) |
                                 mask_of(Bound::kIssue) | mask_of(Bound::kOverhead);
  if (!has(kWaiting, estimate.bound)) return false;
  return std::ranges::all_of(kernel.outputs(), [&](ir::OpId output) {
    return !ir::in_place_updates(kernel, output).empty();
  });
}

// Whether a tile moves more than the passes, or computes more than so many times what they do. The
// passes know no steps: a compiler's tile keeps their overhead unless it repeats work.
bool repeats_work(const Estimate& tiled, const Estimate& passes) {
  const auto exceeds = [&](Bound bound, double times) {
    return tiled.bounds[index_of(bound)] > times * passes.bounds[index_of(bound)];
  };
  constexpr Bound kUnits[] = {Bound::kMatrix, Bound::kVector, Bound::kTranscendental,
                              Bound::kCrossLane, Bound::kOnChip};
  return exceeds(Bound::kHbmRead, 1) || exceeds(Bound::kHbmWrite, 1) ||
         std::ranges::any_of(kUnits, [&](Bound unit) { return exceeds(unit, kPasses); });
}

Estimate estimate_at(const ChosenTile& chosen, const Kernel& kernel, const TileModel& model,
                     const hwdesc::Device& device) {
  Estimate estimate = model.estimate(chosen.tile);
  if (!chosen.fits) estimate.flags.push_back("no tile fits the scratchpad");
  if (device.execution != hwdesc::Execution::kScratchpad) return estimate;
  if (waits_for_windows(estimate, kernel)) return estimate;
  Estimate passes = as_passes(kernel, model, device);
  const bool good = chosen.by_compiler && !repeats_work(estimate, passes);
  if (good || passes.time >= estimate.time) return estimate;
  passes.tile = chosen.tile;
  passes.flags = std::move(estimate.flags);
  passes.flags.push_back("no good tile: taken as three passes over its arrays");
  return passes;
}

using EstimateOn = std::function<Estimate(const hwdesc::Device&)>;

// Fills in speed of light, energy, power limit and utilisation. `estimate_on`: the same launch on
// the device at another clock.
void complete(Estimate& estimate, const Kernel& kernel, const hwdesc::Device& device, Seconds light,
              const EstimateOn& estimate_on) {
  estimate.model = kModelName;
  const auto& cost = kernel.custom_call_cost();
  const double counted = cost ? cost->flops : double{kernel.work().flops};
  estimate.flops = Flops{kernel.on_host() ? 0 : std::max(0.0, counted)};
  estimate.speed_of_light = light;
  estimate.time = std::max(estimate.time, light);
  estimate.energy = launch_energy(kernel, device, estimate);
  estimate = hold_to_power_limit(std::move(estimate), device, estimate_on);
  estimate.utilisation = estimate.time.value > 0 ? estimate.speed_of_light / estimate.time : 1.0;
}

}  // namespace

struct KernelAnalysis::State {
  const Kernel* kernel;
  std::optional<hwdesc::Device> calibrated;  // absent: the device is as described
  const hwdesc::Device* device;
  std::vector<Kernel> nests = {};               // empty unless there are several
  std::unique_ptr<const TileModel> tiled = {};  // null: no tiles, or several nests
  TileConfig full = {};                         // of `tiled`
  base::Lazy<Seconds> light = {};               // the speed of light, for every tile
};

KernelAnalysis::KernelAnalysis(const Kernel& kernel, const hwdesc::Device& described)
    : state_(std::make_unique<State>(State{&kernel, std::nullopt, &described})) {
  if (hwdesc::is_calibrated(described)) {
    state_->device = &state_->calibrated.emplace(hwdesc::apply_calibration(described));
  }
  const hwdesc::Device& device = *state_->device;
  state_->light = [state = state_.get()] {
    return has_empty_result(*state->kernel) ? Seconds{0}
                                            : speed_of_light(*state->kernel, *state->device);
  };
  if (!has_tiles(kernel, device)) return;
  state_->nests = loop_nests(kernel);
  if (state_->nests.empty()) state_->nests = library_calls(kernel, device);
  if (!state_->nests.empty()) return;
  state_->tiled = tile_model(kernel, device);
  state_->full = analytical::full_tile(state_->tiled->space());
}

KernelAnalysis::~KernelAnalysis() = default;
KernelAnalysis::KernelAnalysis(KernelAnalysis&&) noexcept = default;

bool KernelAnalysis::tileable() const {
  return state_->tiled != nullptr;
}

TileConfig KernelAnalysis::full_tile() const {
  return state_->full;
}

std::vector<TileConfig> KernelAnalysis::tiles(std::size_t limit, TileSet set) const {
  if (!tileable()) return {};
  const TileModel& model = *state_->tiled;
  const auto fits = [&](const TileConfig& tile) { return std::isfinite(model.time_s(tile)); };
  if (set == TileSet::kAll) return all_tiles(model.space(), limit, fits);
  const bool schedules = set == TileSet::kSchedules;
  if (schedules && !model.has_schedules()) return {};
  std::vector<TileConfig> feasible =
      schedules ? scheduled_tiles(model.space(), limit) : model.candidates(limit);
  std::erase_if(feasible, [&](const TileConfig& tile) { return !fits(tile); });
  return feasible;
}

double KernelAnalysis::count_all_tiles() const {
  return tileable() ? analytical::count_all_tiles(state_->tiled->space()) : 0;
}

std::string KernelAnalysis::misfit(const TileConfig& tile) const {
  if (!tileable()) return "this kernel has no tiles";
  if (std::string wrong = tile_mismatch(tile, state_->full); !wrong.empty()) return wrong;
  const bool as_loops = tile.unroll > 0 && state_->device->execution == hwdesc::Execution::kCache;
  if ((tile.unroll > 0 || !tile.order.empty()) && !as_loops) {
    return "unroll and order apply only to loops on a processor core";
  }
  if (!tile.is_written() || state_->tiled->has_schedules()) return {};
  return "stages, warps and threads are of products that thread blocks compute";
}

std::string KernelAnalysis::infeasible_reason(const TileConfig& tile) const {
  std::string reason = misfit(tile);
  return reason.empty() ? state_->tiled->infeasible_reason(tile) : reason;
}

Seconds KernelAnalysis::time(const TileConfig& tile) const {
  TC_CHECK(tileable(), "time() of a kernel without tiles");
  if (!misfit(tile).empty()) return Seconds{std::numeric_limits<double>::infinity()};
  const double time_s = state_->tiled->time_s(tile);
  if (!std::isfinite(time_s) || !state_->device->limits_power_of(Seconds{time_s})) {
    return Seconds{time_s};
  }
  const auto held = estimate(tile);
  const Estimate* answer = std::get_if<Estimate>(&held);
  return answer ? std::max(answer->time, Seconds{time_s}) : Seconds{time_s};
}

std::vector<double> KernelAnalysis::times_s(std::span<const TileConfig> tiles) const {
  TC_CHECK(tileable(), "times_s() of a kernel without tiles");
  std::vector<double> times(tiles.size(), std::numeric_limits<double>::infinity());
  // Models rely on one size per dimension: runs of well-formed tiles alone reach them.
  for (std::size_t begin = 0, end = 0; begin < tiles.size(); begin = ++end) {
    while (end < tiles.size() && misfit(tiles[end]).empty()) ++end;
    const std::size_t count = end - begin;
    if (count == 0) continue;
    state_->tiled->times_s(tiles.subspan(begin, count), std::span(times).subspan(begin, count));
  }
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (!std::isfinite(times[i]) || !state_->device->limits_power_of(Seconds{times[i]})) continue;
    times[i] = time(tiles[i]).value;
  }
  return times;
}

std::variant<Estimate, Infeasible> KernelAnalysis::estimate(const TileConfig& tile) const {
  if (std::string reason = infeasible_reason(tile); !reason.empty()) {
    return Infeasible{std::move(reason)};
  }
  Estimate estimate = state_->tiled->estimate(tile);
  const EstimateOn again = [&](const hwdesc::Device& slower) {
    return tile_model(*state_->kernel, slower)->estimate(tile);
  };
  complete(estimate, *state_->kernel, *state_->device, *state_->light, again);
  return estimate;
}

std::optional<TileConfig> KernelAnalysis::compiler_tile() const {
  if (tileable() && state_->tiled->stated()) return state_->tiled->stated();
  const auto& compiled = state_->kernel->compiler_tile();
  // Bounds in a dump are windows of the TPU compiler; other machines choose their own blocks.
  const bool has_windows = state_->device->execution == hwdesc::Execution::kScratchpad;
  if (!tileable() || !compiled || !has_windows) return std::nullopt;
  return stated_tile(state_->tiled->space(), *compiled);
}

Estimate KernelAnalysis::estimate_best() const {
  if (tileable()) return estimate_tiled();
  const State& state = *state_;
  const EstimateOn estimate_on = [&](const hwdesc::Device& device) {
    return state.nests.empty() ? explained(untiled(*state.kernel, device))
                               : estimate_of_nests(state.nests, device);
  };
  Estimate estimate = estimate_on(*state.device);
  complete(estimate, *state.kernel, *state.device, *state.light, estimate_on);
  return estimate;
}

Estimate KernelAnalysis::estimate_tiled() const {
  const Kernel& kernel = *state_->kernel;
  const hwdesc::Device& device = *state_->device;
  const std::optional<TileConfig> stated = compiler_tile();
  const ChosenTile chosen =
      stated ? ChosenTile{.tile = *stated, .by_compiler = true} : best_tile(*state_->tiled);
  EstimateOn again = [&](const hwdesc::Device& slower) {
    return estimate_at(chosen, kernel, *tile_model(kernel, slower), slower);
  };
  Estimate estimate = estimate_at(chosen, kernel, *state_->tiled, device);
  if (stated && state_->tiled->scratchpad_bytes(*stated) > device.scratchpad().capacity.value) {
    estimate.flags.push_back("the compiler's tile does not fit by our count: taken all the same");
  }
  if (auto filtered = winograd_estimate(kernel, device)) {
    if (filtered->time < estimate.time) {
      estimate = std::move(*filtered);
      again = [&](const hwdesc::Device& slower) { return *winograd_estimate(kernel, slower); };
    }
  }
  complete(estimate, kernel, device, *state_->light, again);
  return estimate;
}

BoundVector KernelAnalysis::attributed_time(const Estimate& answer) const {
  const Kernel& kernel = *state_->kernel;
  const hwdesc::Device& device = *state_->device;
  AccountingOf account;
  std::optional<NestSequence> sequence;
  if (tileable()) {
    account = [&](BoundMask removed) { return state_->tiled->account(answer.tile, removed); };
  } else if (state_->nests.empty()) {
    account = untiled(kernel, device).account;
  } else {
    sequence.emplace(state_->nests, device);
    account = [&](BoundMask removed) { return sequence->account(removed); };
  }
  if (answer.tile != full_tile() && answer.tile == TileConfig{}) {  // Winograd has no tile
    if (const auto fewer = winograd(kernel, device)) account = fewer->account;
  }
  const PerBound seconds = analytical::attributed_time(account);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double scale = sum > 0 ? answer.time.value / sum : 1;  // at least the speed of light
  BoundVector result;
  std::ranges::transform(seconds, result.begin(), [&](double s) { return Seconds{scale * s}; });
  return result;
}

std::vector<std::optional<Estimate>> answer_each(
    std::span<const KernelQuery> queries, const hwdesc::Device& described,
    const std::function<std::optional<Estimate>(const KernelAnalysis&, const KernelQuery&)>&
        answer) {
  const std::optional<hwdesc::Device> calibrated =
      hwdesc::is_calibrated(described) ? std::optional(hwdesc::apply_calibration(described))
                                       : std::nullopt;
  std::vector<std::optional<Estimate>> answers(queries.size());
  const void* analysed = nullptr;
  std::optional<KernelAnalysis> analysis;
  for (const std::size_t i : by_content(queries)) {
    const KernelQuery& query = queries[i];
    if (analysed != query.kernel.content()) {
      analysis.emplace(query.kernel, calibrated ? *calibrated : described);
      analysed = query.kernel.content();
    }
    answers[i] = answer(*analysis, query);
  }
  return answers;
}

std::vector<std::optional<Estimate>> AnalyticalModel::estimate(std::span<const KernelQuery> queries,
                                                               const hwdesc::Device& device) const {
  return answer_each(
      queries, device,
      [](const KernelAnalysis& analysis, const KernelQuery& query) -> std::optional<Estimate> {
        if (query.tile == nullptr) return analysis.estimate_best();
        auto answer = analysis.estimate(*query.tile);
        auto* estimate = std::get_if<Estimate>(&answer);
        return estimate ? std::optional(std::move(*estimate)) : std::nullopt;
      });
}

}  // namespace tilecast::analytical
