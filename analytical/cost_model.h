// The interface of every model that predicts kernel times: analytical, baseline, learned and hybrid
// models implement it, and so do models that wrap others.
//
//   AnalyticalModel model;
//   auto answers = model.estimate(queries, device);   // one per query, same order
//
// Batched (learned models need batches), thread-safe, deterministic.
// nullopt: outside the model's domain (an op it does not model; a tile that cannot run).
// Throws if the request is impossible or something is broken.
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
  // Parameters of the kernel beyond its tile (block shape, unrolling ...), in the order of the
  // names in its measurement set; analytical models ignore them.
  std::span<const float> parameters = {};
  // `writer`: what generated the code, if not the device's usual compiler and libraries
  // ("tilecast": Tilecast's own code generators). `timed`: how its time was taken, if known
  // ("graph": replayed back to back; "cold": alone after a cache flush). A learned correction
  // applies only to the writer and timing it was learned from; analytical models ignore both. The
  // texts must outlive the query.
  std::string_view writer = {}, timed = {};
};

// `query`, with the tile of `answer` if it states none, so that a learned model sees the same
// kernel whoever chose the tile. Keeps a pointer into `answer`, which must outlive the result.
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
