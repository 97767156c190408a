#include "analytical/analytical_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "analytical/cache_model.h"
#include "analytical/collective.h"
#include "analytical/distinct_traffic.h"
#include "analytical/energy.h"
#include "analytical/power_limit.h"
#include "analytical/roofline.h"
#include "analytical/scratchpad_model.h"
#include "analytical/shapley.h"
#include "analytical/simt_model.h"
#include "analytical/tile_space.h"
#include "analytical/winograd.h"
#include "base/error.h"
#include "hwdesc/calibration.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::OpClass;
using ir::Opcode;

constexpr std::string_view kModelName = "analytical";
constexpr std::size_t kCandidates = 16384;
constexpr std::size_t kTimedTogether = 16;  // of those

bool is_collective(const Kernel& kernel) {
  return collective_op(kernel) != nullptr;
}

// Kernels without a loop nest of ours: opaque or not on this core.
bool is_opaque(const Kernel& kernel) {
  const OpClass work = ir::op_class(kernel.opcode());
  return work == OpClass::kCustomCall || work == OpClass::kHost || work == OpClass::kControl ||
         work == OpClass::kAsyncDone || work == OpClass::kFree ||
         kernel.opcode() == Opcode::kCopyStart;
}

bool has_empty_result(const Kernel& kernel) {
  return std::all_of(kernel.outputs().begin(), kernel.outputs().end(), [&](ir::OpId id) {
    const ir::Shape& shape = kernel.op(id).shape;
    return shape.is_array() && ir::element_count(shape) == 0;
  });
}

// Of a collective, or of nothing but the launch.
Accounting account_launch(const CollectiveTime& cost, const hwdesc::Device& device,
                          BoundMask removed) {
  PerBound parts{};
  parts[index_of(Bound::kNetwork)] = cost.bandwidth_part.value;
  parts[index_of(Bound::kLatency)] = cost.latency_part.value;
  parts[index_of(Bound::kOverhead)] = device.dispatch.kernel_launch.value;
  return sum_of_parts(parts, removed);
}

// Bytes through main memory and, where the dump says so, its operations at the units' peaks: one
// load-use loop whose tiles are not known, taken to be buffered deeply enough.
Accounting account_opaque(const Kernel& kernel, const hwdesc::Device& device, BoundMask removed) {
  const MemoryPath memory =
      memory_path(device.main_memory()).without(removed, Bound::kHbmRead, Bound::kHbmWrite);
  const Traffic traffic = distinct_traffic(kernel, device);
  Accounting accounting;
  accounting.read_bytes = traffic.read.value;
  accounting.write_bytes = traffic.write.value;
  PipelineLoop loop;
  if (const auto& cost = kernel.custom_call_cost()) {
    if (cost->bytes_accessed > 0) {
      accounting.read_bytes = cost->bytes_accessed;
      accounting.write_bytes = 0;
    }
    const double peak = device.matrix_peak("bf16").value;
    const double compute_s = peak > 0 ? cost->flops / (peak * device.matrix.efficiency) : 0;
    loop.core_s = kept_s(removed, Bound::kMatrix, compute_s);
  }
  PerBound busy{};
  busy[index_of(Bound::kHbmRead)] = accounting.read_bytes / memory.read;
  busy[index_of(Bound::kHbmWrite)] = accounting.write_bytes / memory.write;
  busy[index_of(Bound::kMatrix)] = loop.core_s;
  loop.path_s = memory.busy_s(busy[index_of(Bound::kHbmRead)], busy[index_of(Bound::kHbmWrite)]);
  const double launch_s = kept_s(removed, Bound::kOverhead, device.dispatch.kernel_launch.value);
  accounting.add_periods(loop, busy, 1, kMemoryPaths);
  accounting.add_alone(Bound::kLatency, memory.latency_s);
  accounting.add_alone(Bound::kOverhead, launch_s);
  accounting.total_s = steady_period_s(loop) + memory.latency_s + launch_s;
  return accounting;
}

bool is_only_launched(const Kernel& kernel) {
  return has_empty_result(kernel) && !kernel.outputs().empty();
}

// Of a kernel without tiles.
Accounting account_untiled(const Kernel& kernel, const hwdesc::Device& device, BoundMask removed) {
  if (is_only_launched(kernel)) return account_launch({}, device, removed);
  if (is_collective(kernel)) {
    return account_launch(collective_time(kernel, device), device, removed);
  }
  return account_opaque(kernel, device, removed);
}

Estimate untiled_estimate(const Kernel& kernel, const hwdesc::Device& device) {
  Estimate estimate =
      explained([&](BoundMask removed) { return account_untiled(kernel, device, removed); });
  const std::string what(ir::name(kernel.opcode()));
  if (is_only_launched(kernel)) {
    estimate.flags.push_back("zero-sized result: only the launch counts");
  } else if (is_collective(kernel)) {
    estimate.flags.push_back(collective_time(kernel, device).algorithm);
  } else if (kernel.custom_call_cost()) {
    estimate.flags.push_back(what + ": the dump's cost_estimate at peak rates");
  } else if (ir::op_class(kernel.opcode()) == OpClass::kCustomCall) {
    estimate.flags.push_back(what + ": opaque, bytes of operands and results only");
  }
  return estimate;
}

// No tile fits: the smallest one, spilling what does not.
Estimate smallest_spilled(const TileModel& model, std::span<const TileConfig> candidates) {
  const auto smallest = std::min_element(
      candidates.begin(), candidates.end(), [&](const TileConfig& a, const TileConfig& b) {
        return model.scratchpad_bytes(a) < model.scratchpad_bytes(b);
      });
  Estimate estimate = model.estimate(*smallest);
  estimate.flags.push_back("no tile fits the scratchpad: the excess is spilled to main memory");
  return estimate;
}

// Candidates come with the fewest iterations first, and no iteration is faster than the model's
// least: once that alone takes longer than the best, the rest cannot win.
std::optional<TileConfig> fastest(const TileModel& model, std::span<const TileConfig> candidates) {
  const double least_s = model.least_iteration_s();
  double best = std::numeric_limits<double>::infinity();
  const TileConfig* chosen = nullptr;
  const auto hopeless = [&](const TileConfig& tile) {
    return model.iterations(tile) * least_s >= best;
  };
  std::array<double, kTimedTogether> times;
  while (!candidates.empty() && !hopeless(candidates.front())) {
    const auto together = candidates.first(std::min(candidates.size(), kTimedTogether));
    candidates = candidates.subspan(together.size());
    model.times_s(together, times);
    for (std::size_t i = 0; i < together.size() && !hopeless(together[i]); ++i) {
      if (times[i] >= best) continue;
      best = times[i];
      chosen = &together[i];
    }
  }
  return chosen == nullptr ? std::nullopt : std::optional(*chosen);
}

// The numbers of the queries, those of kernels with one content together: it is analysed once.
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

std::unique_ptr<const TileModel> tile_model(const Kernel& kernel, const hwdesc::Device& device) {
  switch (device.execution) {
    case hwdesc::Execution::kScratchpad:
      return std::make_unique<ScratchpadModel>(kernel, device);
    case hwdesc::Execution::kSimt:
      return std::make_unique<SimtModel>(kernel, device);
    case hwdesc::Execution::kCache:
      return std::make_unique<CacheModel>(kernel, device);
  }
  return nullptr;
}

using EstimateOn = std::function<Estimate(const hwdesc::Device&)>;

// `estimate_on`: the same launch on the device at another clock.
void complete(Estimate& estimate, const Kernel& kernel, const hwdesc::Device& device,
              const EstimateOn& estimate_on) {
  estimate.model = kModelName;
  estimate.flops = Flops{std::max(0.0, static_cast<double>(kernel.work().flops))};
  estimate.speed_of_light = has_empty_result(kernel) ? Seconds{0} : speed_of_light(kernel, device);
  estimate.time = std::max(estimate.time, estimate.speed_of_light);
  estimate.energy = launch_energy(kernel, device, estimate);
  estimate = hold_to_power_limit(std::move(estimate), device, estimate_on);
  estimate.utilisation = estimate.time.value > 0 ? estimate.speed_of_light / estimate.time : 1.0;
}

}  // namespace

struct KernelAnalysis::State {
  const Kernel* kernel;
  std::optional<hwdesc::Device> calibrated;  // absent: the device is as described
  const hwdesc::Device* device;
  std::unique_ptr<const TileModel> tiled;  // null: opaque or collective
  TileConfig full = {};                    // of `tiled`
};

KernelAnalysis::KernelAnalysis(const Kernel& kernel, const hwdesc::Device& described)
    : state_(std::make_unique<State>(State{&kernel, std::nullopt, &described, nullptr})) {
  if (hwdesc::is_calibrated(described)) {
    state_->device = &state_->calibrated.emplace(hwdesc::apply_calibration(described));
  }
  const hwdesc::Device& device = *state_->device;
  if (is_collective(kernel) || is_opaque(kernel) || kernel.outputs().empty() ||
      has_empty_result(kernel)) {
    return;
  }
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
    return "unroll, and the order with it, are of loops of a processor core";
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
  if (!state_->device->power_limit() || !std::isfinite(time_s)) return Seconds{time_s};
  const auto held = estimate(tile);
  const Estimate* answer = std::get_if<Estimate>(&held);
  return answer ? std::max(answer->time, Seconds{time_s}) : Seconds{time_s};
}

std::vector<double> KernelAnalysis::times_s(std::span<const TileConfig> tiles) const {
  TC_CHECK(tileable(), "times_s() of a kernel without tiles");
  std::vector<double> times(tiles.size());
  state_->tiled->times_s(tiles, times);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (!misfit(tiles[i]).empty()) {
      times[i] = std::numeric_limits<double>::infinity();
    } else if (state_->device->power_limit()) {
      times[i] = time(tiles[i]).value;
    }
  }
  return times;
}

std::variant<Estimate, Infeasible> KernelAnalysis::estimate(const TileConfig& tile) const {
  if (std::string reason = infeasible_reason(tile); !reason.empty()) {
    return Infeasible{std::move(reason)};
  }
  Estimate estimate = state_->tiled->estimate(tile);
  complete(estimate, *state_->kernel, *state_->device, [&](const hwdesc::Device& slower) {
    return tile_model(*state_->kernel, slower)->estimate(tile);
  });
  return estimate;
}

std::optional<TileConfig> KernelAnalysis::compiler_tile() const {
  const auto& compiled = state_->kernel->compiler_tile();
  // Bounds in a dump are windows of the TPU compiler; other machines choose their own blocks.
  const bool has_windows = state_->device->execution == hwdesc::Execution::kScratchpad;
  if (!tileable() || !compiled || !has_windows) return std::nullopt;
  std::optional<TileConfig> tile = stated_tile(state_->tiled->space(), *compiled);
  if (tile && !state_->tiled->infeasible_reason(*tile).empty()) tile.reset();
  return tile;
}

Estimate KernelAnalysis::estimate_best() const {
  const Kernel& kernel = *state_->kernel;
  if (!tileable()) {
    Estimate estimate = untiled_estimate(kernel, *state_->device);
    complete(estimate, kernel, *state_->device,
             [&](const hwdesc::Device& slower) { return untiled_estimate(kernel, slower); });
    return estimate;
  }
  const TileModel& model = *state_->tiled;
  std::optional<TileConfig> chosen = compiler_tile();
  std::vector<TileConfig> candidates;
  if (!chosen) {
    candidates = model.candidates(kCandidates);
    chosen = fastest(model, candidates);
  }
  Estimate estimate = chosen ? model.estimate(*chosen) : smallest_spilled(model, candidates);
  EstimateOn again = [&](const hwdesc::Device& slower) {
    const auto there = tile_model(kernel, slower);
    return chosen ? there->estimate(*chosen) : smallest_spilled(*there, candidates);
  };
  if (auto filtered = winograd_estimate(kernel, *state_->device)) {
    if (filtered->time < estimate.time) {
      estimate = std::move(*filtered);
      again = [&](const hwdesc::Device& slower) { return *winograd_estimate(kernel, slower); };
    }
  }
  complete(estimate, kernel, *state_->device, again);
  return estimate;
}

BoundVector KernelAnalysis::attributed_time(const Estimate& answer) const {
  const Kernel& kernel = *state_->kernel;
  const hwdesc::Device& device = *state_->device;
  AccountingOf account = [&](BoundMask removed) {
    return tileable() ? state_->tiled->account(answer.tile, removed)
                      : account_untiled(kernel, device, removed);
  };
  if (answer.tile != full_tile() && answer.tile == TileConfig{}) {  // no loop nest of ours
    if (const auto fewer = winograd(kernel, device)) account = fewer->account;
  }
  const PerBound seconds = analytical::attributed_time(account);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double scale = sum > 0 ? answer.time.value / sum : 1;  // times are at least those of light
  BoundVector result;
  std::ranges::transform(seconds, result.begin(), [&](double s) { return Seconds{scale * s}; });
  return result;
}

std::vector<std::optional<Estimate>> AnalyticalModel::estimate(
    std::span<const KernelQuery> queries, const hwdesc::Device& described) const {
  const std::optional<hwdesc::Device> calibrated =
      hwdesc::is_calibrated(described) ? std::optional(hwdesc::apply_calibration(described))
                                       : std::nullopt;
  const hwdesc::Device& device = calibrated ? *calibrated : described;
  std::vector<std::optional<Estimate>> answers(queries.size());
  const void* analysed = nullptr;
  std::optional<KernelAnalysis> analysis;
  for (const std::size_t i : by_content(queries)) {
    const KernelQuery& query = queries[i];
    if (analysed != query.kernel.content()) {
      analysis.emplace(query.kernel, device);
      analysed = query.kernel.content();
    }
    if (query.tile == nullptr) {
      answers[i] = analysis->estimate_best();
      continue;
    }
    std::variant<Estimate, Infeasible> answer = analysis->estimate(*query.tile);
    if (auto* estimate = std::get_if<Estimate>(&answer)) answers[i] = std::move(*estimate);
  }
  return answers;
}

}  // namespace tilecast::analytical
