// THE contract: what predicts kernel times. Analytical, learned, hybrid and cached models are all
// this, and compose; there are no mode flags.
//
//   AnalyticalModel model;
//   auto answers = model.estimate(queries, device);   // one per query, same order
//
// Batched (learned models want batches), thread-safe, deterministic.
// nullopt = outside this model's domain (an op it has no model for; a tile that cannot run).
// An exception = something is broken or the request is impossible.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct KernelQuery {
  const ir::Kernel& kernel;
  const TileConfig* tile = nullptr;  // null: the model chooses
  // How the kernel was written beyond its tile (block shape, unrolling ...), in the order of the
  // names its measurement set gives; models of physics know none.
  std::span<const float> parameters = {};
  // What wrote the code where it is not the device's usual compiler and libraries ("tilecast":
  // Tilecast's own writers), and how its time is taken where that is known ("graph": replayed back
  // to back; "cold": alone after the caches were flushed): corrections learned of one writer or
  // timing are not believed of another. Models of physics do not ask. Outlive the query.
  std::string_view writer = {}, timed = {};
};

// The same question with the tile that an answer to it has, where it states none: what a model sees
// of a kernel must not depend on who chose the tile. The answer must outlive it.
[[nodiscard]] inline KernelQuery with_tile_of(const std::optional<Estimate>& answer,
                                              const KernelQuery& query) {
  KernelQuery stated = query;
  if (query.tile == nullptr && answer && answer->tile != TileConfig{}) stated.tile = &answer->tile;
  return stated;
}

class CostModel {
 public:
  virtual ~CostModel() = default;
  [[nodiscard]] virtual std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const = 0;
};

}  // namespace tilecast::analytical
