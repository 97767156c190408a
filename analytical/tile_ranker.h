// The interface that orders the tiles of a kernel: physics, any model of times, or a model trained
// to rank, which predicts no times (learned/learned_model.h).
//
//   std::vector<std::optional<double>> scores = ranker.scores(kernel, tiles, device);
//
// A lower score means a faster tile; scores of different kernels are not comparable. Immutable,
// thread-safe, deterministic.
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
  // One score per tile, in order; nullopt if there is no answer.
  [[nodiscard]] virtual std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const = 0;
};

// Ranks by KernelAnalysis::times_s().
class PhysicsRanker final : public TileRanker {
 public:
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const override;
};

// Ranks by the times of a model, which must outlive this.
class TimeRanker final : public TileRanker {
 public:
  explicit TimeRanker(const CostModel& model) : model_(model) {}
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const TileConfig> tiles,
      const hwdesc::Device& device) const override;

 private:
  const CostModel& model_;
};

// Ranks by the times of `model`, which must outlive the result; by physics if null.
[[nodiscard]] std::unique_ptr<const TileRanker> make_time_ranker(const CostModel* model);

}  // namespace tilecast::analytical
