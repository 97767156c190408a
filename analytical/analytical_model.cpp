#include "analytical/analytical_model.h"

#include <algorithm>
#include <cmath>

#include "analytical/cache_model.h"
#include "analytical/collective.h"
#include "analytical/distinct_traffic.h"
#include "analytical/roofline.h"
#include "analytical/scratchpad_model.h"
#include "analytical/simt_model.h"
#include "base/error.h"
#include "hwdesc/calibration.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::OpClass;
using ir::Opcode;

constexpr std::string_view kModelName = "analytical";
constexpr std::size_t kCandidates = 16384;

Seconds& bound_of(Estimate& estimate, Bound bound) {
  return estimate.bounds[static_cast<std::size_t>(bound)];
}

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

// The two largest entries name what binds and what would bind next.
void rank_bounds(Estimate& estimate) {
  const auto largest = [&](std::size_t except) {
    std::size_t best = except == 0 ? 1 : 0;
    for (std::size_t b = 0; b < kBoundCount; ++b) {
      if (b != except && estimate.bounds[b] > estimate.bounds[best]) best = b;
    }
    return best;
  };
  const std::size_t first = largest(kBoundCount);
  estimate.bound = static_cast<Bound>(first);
  const std::size_t second = largest(first);
  estimate.next_bound = static_cast<Bound>(second);
  estimate.next_time = estimate.time - (estimate.bounds[first] - estimate.bounds[second]);
}

Estimate collective_estimate(const Kernel& kernel, const hwdesc::Device& device) {
  const CollectiveTime cost = collective_time(kernel, device);
  Estimate estimate;
  estimate.time = cost.time + device.dispatch.kernel_launch;
  bound_of(estimate, Bound::kNetwork) = cost.bandwidth_part;
  bound_of(estimate, Bound::kLatency) = cost.latency_part;
  bound_of(estimate, Bound::kOverhead) = device.dispatch.kernel_launch;
  estimate.flags.push_back(cost.algorithm);
  return estimate;
}

// Bytes through main memory and, where the dump says so, its operations at the units' peaks.
Estimate opaque_estimate(const Kernel& kernel, const hwdesc::Device& device) {
  const hwdesc::MemoryLevel& memory = device.main_memory();
  const Traffic traffic = distinct_traffic(kernel, device);
  Estimate estimate;
  double read = traffic.read.value;
  double write = traffic.write.value;
  double compute_s = 0;
  const std::string what(ir::name(kernel.opcode()));
  if (const auto& cost = kernel.custom_call_cost()) {
    if (cost->bytes_accessed > 0) {
      read = cost->bytes_accessed;
      write = 0;
    }
    const double peak = device.matrix_peak("bf16").value;
    if (peak > 0) compute_s = cost->flops / (peak * device.matrix.efficiency);
    estimate.flags.push_back(what + ": the dump's cost_estimate at peak rates");
  } else if (ir::op_class(kernel.opcode()) == OpClass::kCustomCall) {
    estimate.flags.push_back(what + ": opaque, bytes of operands and results only");
  }
  const double rate = memory.sustained_read().value;
  const double write_rate = memory.sustained_write().value;
  bound_of(estimate, Bound::kHbmRead) = Seconds{read / rate};
  bound_of(estimate, Bound::kHbmWrite) = Seconds{write / write_rate};
  bound_of(estimate, Bound::kMatrix) = Seconds{compute_s};
  bound_of(estimate, Bound::kLatency) = memory.latency;
  bound_of(estimate, Bound::kOverhead) = device.dispatch.kernel_launch;
  const double path = memory.full_duplex ? std::max(read / rate, write / write_rate)
                                         : read / rate + write / write_rate;
  estimate.time =
      Seconds{std::max(path, compute_s)} + memory.latency + device.dispatch.kernel_launch;
  estimate.hbm_read = Bytes{read};
  estimate.hbm_write = Bytes{write};
  return estimate;
}

// No tile fits: the smallest one, spilling what does not.
Estimate smallest_spilled(const TileModel& model, std::span<const TileConfig> candidates) {
  const auto smallest = std::min_element(
      candidates.begin(), candidates.end(), [&](const TileConfig& a, const TileConfig& b) {
        return model.scratchpad_bytes(a) < model.scratchpad_bytes(b);
      });
  Estimate estimate = model.estimate_spilled(*smallest);
  estimate.flags.push_back("no tile fits the scratchpad: the excess is spilled to main memory");
  return estimate;
}

// Candidates come with the fewest iterations first, and no iteration is faster than the model's
// least: once that alone takes longer than the best, the rest cannot win.
std::optional<TileConfig> fastest(const TileModel& model, std::span<const TileConfig> candidates) {
  double best = std::numeric_limits<double>::infinity();
  const TileConfig* chosen = nullptr;
  for (const TileConfig& tile : candidates) {
    if (model.iterations(tile) * model.least_iteration_s() >= best) break;
    const double time = model.time_s(tile);
    if (time >= best) continue;
    best = time;
    chosen = &tile;
  }
  return chosen == nullptr ? std::nullopt : std::optional(*chosen);
}

void complete(Estimate& estimate, const Kernel& kernel, const hwdesc::Device& device) {
  estimate.model = kModelName;
  estimate.flops = Flops{std::max(0.0, static_cast<double>(kernel.work().flops))};
  estimate.speed_of_light = has_empty_result(kernel) ? Seconds{0} : speed_of_light(kernel, device);
  estimate.time = std::max(estimate.time, estimate.speed_of_light);
  estimate.utilisation = estimate.time.value > 0 ? estimate.speed_of_light / estimate.time : 1.0;
}

}  // namespace

struct KernelAnalysis::State {
  const Kernel* kernel;
  std::optional<hwdesc::Device> calibrated;  // absent: the device is as described
  const hwdesc::Device* device;
  std::unique_ptr<const TileModel> pipelined;  // null: opaque or collective
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
  switch (device.execution) {
    case hwdesc::Execution::kScratchpad:
      state_->pipelined = std::make_unique<ScratchpadModel>(kernel, device);
      break;
    case hwdesc::Execution::kSimt:
      state_->pipelined = std::make_unique<SimtModel>(kernel, device);
      break;
    case hwdesc::Execution::kCache:
      state_->pipelined = std::make_unique<CacheModel>(kernel, device);
      break;
  }
}

KernelAnalysis::~KernelAnalysis() = default;
KernelAnalysis::KernelAnalysis(KernelAnalysis&&) noexcept = default;

bool KernelAnalysis::tileable() const {
  return state_->pipelined != nullptr;
}

TileConfig KernelAnalysis::full_tile() const {
  return tileable() ? analytical::full_tile(state_->pipelined->space()) : TileConfig{};
}

std::vector<TileConfig> KernelAnalysis::tiles(std::size_t limit) const {
  std::vector<TileConfig> feasible;
  if (!tileable()) return feasible;
  for (TileConfig& tile : state_->pipelined->candidates(limit)) {
    if (std::isfinite(state_->pipelined->time_s(tile))) feasible.push_back(std::move(tile));
  }
  return feasible;
}

Seconds KernelAnalysis::time(const TileConfig& tile) const {
  TC_CHECK(tileable(), "time() of a kernel without tiles");
  return Seconds{state_->pipelined->time_s(tile)};
}

std::variant<Estimate, Infeasible> KernelAnalysis::estimate(const TileConfig& tile) const {
  if (!tileable()) return Infeasible{"this kernel has no tiles"};
  if (std::string wrong = tile_mismatch(tile, full_tile()); !wrong.empty()) {
    return Infeasible{std::move(wrong)};
  }
  std::string reason = state_->pipelined->infeasible_reason(tile);
  if (!reason.empty()) return Infeasible{std::move(reason)};
  Estimate estimate = state_->pipelined->estimate(tile);
  complete(estimate, *state_->kernel, *state_->device);
  return estimate;
}

Estimate KernelAnalysis::estimate_best() const {
  const Kernel& kernel = *state_->kernel;
  Estimate estimate;
  if (!tileable()) {
    if (has_empty_result(kernel) && !kernel.outputs().empty()) {
      estimate.flags.push_back("zero-sized result: only the launch counts");
      estimate.time = state_->device->dispatch.kernel_launch;
      bound_of(estimate, Bound::kOverhead) = estimate.time;
    } else {
      estimate = is_collective(kernel) ? collective_estimate(kernel, *state_->device)
                                       : opaque_estimate(kernel, *state_->device);
    }
    rank_bounds(estimate);
    complete(estimate, kernel, *state_->device);
    return estimate;
  }
  const TileModel& model = *state_->pipelined;
  std::optional<TileConfig> chosen;
  // Bounds in a dump are windows of the TPU compiler; other machines choose their own blocks.
  const bool has_windows = state_->device->execution == hwdesc::Execution::kScratchpad;
  if (const auto& compiled = kernel.compiler_tile(); compiled && has_windows) {
    const TileConfig tile{compiled->output_bounds, compiled->kernel_bounds, compiled->input_bounds};
    if (model.infeasible_reason(tile).empty()) chosen = tile;
  }
  std::vector<TileConfig> candidates;
  if (!chosen) {
    candidates = model.candidates(kCandidates);
    chosen = fastest(model, candidates);
  }
  estimate = chosen ? model.estimate(*chosen) : smallest_spilled(model, candidates);
  complete(estimate, kernel, *state_->device);
  return estimate;
}

std::vector<std::optional<Estimate>> AnalyticalModel::estimate(
    std::span<const KernelQuery> queries, const hwdesc::Device& described) const {
  const std::optional<hwdesc::Device> calibrated =
      hwdesc::is_calibrated(described) ? std::optional(hwdesc::apply_calibration(described))
                                       : std::nullopt;
  const hwdesc::Device& device = calibrated ? *calibrated : described;
  std::vector<std::optional<Estimate>> answers;
  answers.reserve(queries.size());
  const Kernel* analysed = nullptr;  // queries about one kernel often come together
  std::optional<KernelAnalysis> analysis;
  for (const KernelQuery& query : queries) {
    if (analysed != &query.kernel) {
      analysis.emplace(query.kernel, device);
      analysed = &query.kernel;
    }
    if (query.tile == nullptr) {
      answers.push_back(analysis->estimate_best());
      continue;
    }
    std::variant<Estimate, Infeasible> answer = analysis->estimate(*query.tile);
    if (auto* estimate = std::get_if<Estimate>(&answer)) {
      answers.push_back(std::move(*estimate));
    } else {
      answers.push_back(std::nullopt);
    }
  }
  return answers;
}

}  // namespace tilecast::analytical
