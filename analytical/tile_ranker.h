// What orders the tiles of a kernel: physics, any model of times, or a model that was trained to
// rank and knows no times (learned/rank_model.h).
//
//   std::vector<std::optional<double>> scores = ranker.scores(kernel, tiles, device);
//
// A score is lower where the tile is faster, and means nothing beside the scores of another kernel.
// Immutable, thread-safe, deterministic.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analytical/cost_model.h"

namespace tilecast::analytical {

class TileRanker {
 public:
  virtual ~TileRanker() = default;
  // One per tile, in their order; nothing where it has no answer.
  [[nodiscard]] virtual std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const = 0;
};

// By physics: KernelAnalysis::time().
class PhysicsRanker final : public TileRanker {
 public:
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const override;
};

// By the times of a model, which outlives this.
class TimeRanker final : public TileRanker {
 public:
  explicit TimeRanker(const CostModel& model) : model_(model) {}
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const override;

 private:
  const CostModel& model_;
};

// By the times of `model`, which outlives the answer; null: by physics.
[[nodiscard]] std::unique_ptr<const TileRanker> make_time_ranker(const CostModel* model);

}  // namespace tilecast::analytical
