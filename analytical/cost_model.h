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
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  [[nodiscard]] virtual std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const = 0;
};

}  // namespace tilecast::analytical
