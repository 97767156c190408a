#include "sim/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "host/c_loops.h"
#include "host/cuda_loops.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "sim/tables.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::KernelAnalysis;
using analytical::TileConfig;

std::vector<ExplainedArray> arrays_of(const ir::Kernel& kernel) {
  std::vector<ExplainedArray> arrays;
  const auto add = [&](std::string_view role, std::size_t i, ir::OpId id) {
    const ir::Shape& shape = kernel.op(id).shape;
    arrays.push_back({fmt::format("{} {}", role, i), ir::to_string(shape),
                      Bytes{static_cast<double>(ir::padded_bytes(shape))}});
  };
  for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
    add("parameter", i, kernel.parameters()[i]);
  }
  for (std::size_t i = 0; i < kernel.outputs().size(); ++i) add("output", i, kernel.outputs()[i]);
  return arrays;
}

// The best `top` of the listed tiles.
std::vector<TileConfig> best_of(const ir::Kernel& kernel, const hwdesc::Device& device,
                                const analytical::TileRanker& ranker,
                                std::span<const TileConfig> listed, std::size_t top) {
  std::vector<TileConfig> best;
  for (const auto& one : search::rank_offered(kernel, device, ranker, listed, top).best) {
    best.push_back(listed[one.offer]);
  }
  return best;
}

std::vector<Estimate> estimates_of(const ir::Kernel& kernel, const hwdesc::Device& device,
                                   std::span<const TileConfig> tiles,
                                   const analytical::CostModel& model) {
  std::vector<analytical::KernelQuery> queries;
  for (const TileConfig& tile : tiles) queries.push_back({kernel, &tile});
  std::vector<Estimate> estimates;
  for (std::optional<Estimate>& answer : model.estimate(queries, device)) {
    if (answer) estimates.push_back(std::move(*answer));
  }
  return estimates;
}

void use_given_tile(const KernelAnalysis& analysis, const TileConfig& tile, Explanation& result) {
  result.tile_origin = "given";
  const auto answer = analysis.estimate(tile);
  if (const auto* infeasible = std::get_if<analytical::Infeasible>(&answer)) {
    result.infeasible = infeasible->reason;
  } else {
    result.estimate = std::get<Estimate>(answer);
  }
}

// Replaces the analytical estimate with the model's.
void ask_model(const ir::Kernel& kernel, const hwdesc::Device& device,
               const ExplainOptions& options, Explanation& result) {
  const analytical::KernelQuery query{kernel, options.tile};
  const Seconds physics = result.estimate.time;
  auto answers = options.model->estimate({&query, 1}, device);
  if (!answers.front()) {
    throw Error(
        "kernel {} ({}): outside the domain of the model on device {}; --model analytical has an "
        "answer",
        kernel.name(), ir::name(kernel.opcode()), device.name);
  }
  result.estimate = std::move(*answers.front());
  const double factor = physics.value > 0 ? result.estimate.time / physics : 1;
  for (Seconds& seconds : result.added) seconds = factor * seconds;
  if (options.tile == nullptr && result.estimate.tile == TileConfig{}) result.tile_origin = "none";
  if (options.correction) result.correction = options.correction(query, device);
}

}  // namespace

void add_headroom(const ChosenModel& model, const analytical::KernelQuery& query,
                  const hwdesc::Device& device, Explanation& why) {
  const auto setting = [&](const std::string& key) {
    if (!model.card) return std::string();
    const auto found = model.card->settings.find(key);
    return found == model.card->settings.end() ? std::string() : found->second;
  };
  if (setting("objective") != "quantile" && setting("loss") != "quantile") {
    throw Error(
        "{}: got a model of mean times, expected one trained with objective (trees) or loss "
        "(networks) quantile",
        model.name);
  }
  const auto answer = std::move(model.model->estimate({&query, 1}, device).front());
  if (!answer) throw Error("{}: no answer for {}", model.name, query.kernel.name());
  const Seconds least = std::min(why.estimate.speed_of_light, why.estimate.time);
  why.headroom = {.model = model.name,
                  .quantile = std::stod(setting("quantile")),
                  .reachable = std::clamp(answer->time, least, why.estimate.time)};
}

Explanation explain(const ir::Kernel& kernel, const hwdesc::Device& device,
                    const ExplainOptions& given) {
  ExplainOptions options = given;
  Explanation result{.kernel = kernel.name(),
                     .op_name = std::string(kernel.op_name()),
                     .device = device.name,
                     .opcode = kernel.opcode(),
                     .arrays = arrays_of(kernel),
                     .scratchpad = device.scratchpad().name,
                     .scratchpad_capacity = device.scratchpad().capacity};
  if (device.energy) result.idle_power = device.idle_power();
  const KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> listed = analysis.tiles();
  result.tiles_tried = listed.size();
  std::vector<TileConfig> best;
  if (options.ranker != nullptr) {
    best = best_of(kernel, device, *options.ranker, listed, std::max<std::size_t>(options.top, 1));
  }
  const bool by_ranks = options.tile == nullptr && !best.empty() && !analysis.compiler_tile();
  if (by_ranks) options.tile = &best.front();
  if (options.tile != nullptr) {
    use_given_tile(analysis, *options.tile, result);
    if (by_ranks) result.tile_origin = "best by the ranks";
  } else {
    result.estimate = analysis.estimate_best();
    result.tile_origin = analysis.compiler_tile()               ? "compiler"
                         : result.estimate.tile == TileConfig{} ? "none"
                         : options.model != nullptr             ? "best by physics"
                                                                : "best by the model";
  }
  if (!result.infeasible) result.added = analysis.attributed_time(result.estimate);
  if (options.model != nullptr && !result.infeasible) ask_model(kernel, device, options, result);
  const analytical::CostModel& times =
      options.model != nullptr ? *options.model : analytical_prior();
  if (best.empty()) {
    best =
        best_of(kernel, device, *analytical::make_time_ranker(options.model), listed, options.top);
  }
  const std::span<const TileConfig> shown(best.data(), std::min(options.top, best.size()));
  result.best_tiles = estimates_of(kernel, device, shown, times);
  return result;
}

void add_loops(const ir::Kernel& kernel, const hwdesc::Device& device,
               const analytical::TileConfig* tile, LoopForm form, Explanation& why) {
  analytical::TileConfig chosen = tile != nullptr ? *tile : why.estimate.tile;
  if (chosen.stages == 0 && chosen.unroll == 0 && form != LoopForm::kC && !device.engines.empty()) {
    chosen.stages = static_cast<int>(device.engines.back().stages);
  }
  const bool c = form == LoopForm::kC;
  schedule::TileTarget target = schedule::target_of(device);
  if (c) target.warps = 0;
  const schedule::TiledLoops made = schedule::tiled_loops(kernel, chosen, target);
  for (const std::string& refusal : made.refusals) why.notes.push_back("loops: " + refusal);
  const auto refuse = [&](const host::Unsupported& unsupported) {
    throw Error("{}: no {} for these loops: {}", kernel.name(), c ? "C" : "CUDA",
                unsupported.reason);
  };
  if (c) {
    const auto text = host::c_of_loops(made.program, "kernel");
    if (const auto* unsupported = std::get_if<host::Unsupported>(&text)) refuse(*unsupported);
    why.loops = std::get<host::CKernel>(text).source;
    return;
  }
  if (form == LoopForm::kCuda) {
    if (target.warps == 0) throw Error(device.name + " has no blocks of threads: no CUDA");
    const auto text = host::cuda_of_loops(schedule::pipelined(made.program), made.block, "kernel");
    if (const auto* unsupported = std::get_if<host::Unsupported>(&text)) refuse(*unsupported);
    why.loops = std::get<host::CudaKernel>(text).source;
    return;
  }
  why.loops = schedule::to_text(form == LoopForm::kTiled ? made.program
                                                         : schedule::pipelined(made.program));
}

}  // namespace tilecast::sim
