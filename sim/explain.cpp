#include "sim/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/tile_table.h"

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

void rank_tiles(const KernelAnalysis& analysis, std::size_t top, Explanation& result) {
  const std::vector<TileConfig> tiles = analysis.tiles();
  std::vector<std::pair<Seconds, std::size_t>> order;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Seconds time = analysis.time(tiles[i]);
    if (std::isfinite(time.value)) order.emplace_back(time, i);
  }
  result.tiles_tried = tiles.size();
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    const auto estimate = analysis.estimate(tiles[order[i].second]);
    if (const auto* answer = std::get_if<Estimate>(&estimate)) {
      result.best_tiles.push_back(*answer);
    }
  }
}

void use_given_tile(const KernelAnalysis& analysis, const TileConfig& tile, Explanation& result) {
  result.tile_origin = "given";
  std::string reason =
      analysis.tileable() ? tile_mismatch(tile, analysis.full_tile()) : "this kernel has no tiles";
  if (!reason.empty()) {
    result.infeasible = std::move(reason);
    return;
  }
  const auto answer = analysis.estimate(tile);
  if (const auto* infeasible = std::get_if<analytical::Infeasible>(&answer)) {
    result.infeasible = infeasible->reason;
  } else {
    result.estimate = std::get<Estimate>(answer);
  }
}

}  // namespace

Explanation explain(const ir::Kernel& kernel, const hwdesc::Device& device,
                    const ExplainOptions& options) {
  Explanation result{.kernel = kernel.name(),
                     .op_name = std::string(kernel.op_name()),
                     .device = device.name,
                     .opcode = kernel.opcode(),
                     .arrays = arrays_of(kernel),
                     .scratchpad = device.scratchpad().name,
                     .scratchpad_capacity = device.scratchpad().capacity};
  const KernelAnalysis analysis(kernel, device);
  if (options.tile != nullptr) {
    use_given_tile(analysis, *options.tile, result);
  } else {
    result.estimate = analysis.estimate_best();
    result.tile_origin = kernel.compiler_tile()                 ? "compiler"
                         : result.estimate.tile == TileConfig{} ? "none"
                                                                : "best by the model";
  }
  if (analysis.tileable()) rank_tiles(analysis, options.top, result);
  return result;
}

}  // namespace tilecast::sim
