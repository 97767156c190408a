// explain() with a model other than the analytical one.
#include "sim/explain.h"

#include <gmock/gmock.h>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::TileConfig;

// The time is the first dimension of the tile in microseconds; without a tile, 7 us.
class FirstDimensionModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<Estimate>> estimate(std::span<const analytical::KernelQuery> queries,
                                                const hwdesc::Device&) const override {
    std::vector<std::optional<Estimate>> answers(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const TileConfig* tile = queries[i].tile;
      const double time = tile == nullptr ? 7 : static_cast<double>(tile->output.front());
      answers[i].emplace().time = Seconds{time * 1e-6};
      if (tile != nullptr) answers[i]->tile = *tile;
    }
    return answers;
  }
};

class NoModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<Estimate>> estimate(std::span<const analytical::KernelQuery> queries,
                                                const hwdesc::Device&) const override {
    return std::vector<std::optional<Estimate>>(queries.size());
  }
};

const hwdesc::Device& tpu() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

ir::Kernel negation() {
  ir::KernelSketch sketch("rows", ir::Opcode::kFusion, analytical::layout_rules(tpu()));
  const ir::OpId x = sketch.parameter(ir::DType::kF32, {256, 1024});
  return sketch.build({sketch.elementwise(ir::Opcode::kNegate, {x})});
}

TEST(Explain, AsksTheModelAndRanksTilesByIt) {
  const ir::Kernel kernel = negation();
  const FirstDimensionModel model;
  const Explanation why = explain(kernel, tpu(), {.top = 5, .model = &model});
  EXPECT_EQ(why.estimate.time, Seconds{7e-6});
  EXPECT_EQ(why.tile_origin, "none");
  ASSERT_EQ(why.best_tiles.size(), 5U);
  for (std::size_t i = 1; i < why.best_tiles.size(); ++i) {
    EXPECT_LE(why.best_tiles[i - 1].time, why.best_tiles[i].time);
  }
  EXPECT_EQ(why.best_tiles.front().tile.output.front(), 1);
}

TEST(Explain, WhatResourcesAddIsPhysicsInProportionToTheAnswer) {
  const ir::Kernel kernel = negation();
  const Explanation physics = explain(kernel, tpu());
  const FirstDimensionModel model;
  const Explanation other = explain(kernel, tpu(), {.model = &model});
  const double factor = other.estimate.time / physics.estimate.time;
  Seconds sum;
  for (std::size_t i = 0; i < physics.added.size(); ++i) {
    EXPECT_NEAR(other.added[i].value, factor * physics.added[i].value, 1e-15);
    sum = sum + other.added[i];
  }
  EXPECT_NEAR(sum.value, 7e-6, 1e-15);
  const TileConfig bad{.output = {1, 2, 3}};
  EXPECT_EQ(explain(kernel, tpu(), {.tile = &bad}).added, analytical::BoundVector{});
}

TEST(Explain, LeavesWhetherATileCanRunToPhysics) {
  const ir::Kernel kernel = negation();
  const FirstDimensionModel model;
  const TileConfig good{.output = {2, 1}}, bad{.output = {1, 2, 3}};
  EXPECT_EQ(explain(kernel, tpu(), {.tile = &good, .model = &model}).estimate.time, Seconds{2e-6});
  EXPECT_TRUE(explain(kernel, tpu(), {.tile = &bad, .model = &model}).infeasible.has_value());
}

TEST(Explain, AModelWithoutAnAnswerIsAnError) {
  const NoModel model;
  EXPECT_THROW((void)explain(negation(), tpu(), {.model = &model}), Error);
}

}  // namespace
}  // namespace tilecast::sim
