#include "ir/graph_order.h"

#include <gmock/gmock.h>

namespace tilecast::ir {
namespace {

using testing::ElementsAre;

TEST(GraphOrder, DepthFirstFinishesTargetsBeforeSourcesInTheOrderOfTheEdges) {
  const DepthFirst walk = depth_first(4, {{0, 2}, {0, 1}, {1, 3}, {2, 3}});
  EXPECT_THAT(walk.post_order, ElementsAre(3, 2, 1, 0));
  EXPECT_FALSE(walk.on_cycle.has_value());
}

TEST(GraphOrder, DepthFirstReachesOnlyWhatTheRootsLeadTo) {
  const std::vector<std::uint32_t> roots = {2, 0};
  EXPECT_THAT(depth_first(5, {{0, 1}, {2, 1}, {3, 4}}, roots).post_order, ElementsAre(1, 2, 0));
}

TEST(GraphOrder, NamesAVertexOfACycleNotOneBehindIt) {
  const DepthFirst walk = depth_first(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}});
  EXPECT_EQ(walk.on_cycle, 1U);
}

TEST(GraphOrder, AChainOfAMillionDoesNotExhaustTheStack) {
  constexpr std::uint32_t kLength = 1'000'000;
  std::vector<GraphEdge> edges;
  for (std::uint32_t i = 0; i + 1 < kLength; ++i) edges.emplace_back(i, i + 1);
  EXPECT_EQ(depth_first(kLength, edges).post_order.front(), kLength - 1);
}

TEST(GraphOrder, TakesTheSmallestKeyThatMayComeNext) {
  const std::vector<std::uint32_t> keys = {3, 2, 1, 0};
  EXPECT_THAT(order_by_key(keys, {}), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(order_by_key(keys, {{0, 3}, {0, 3}}), ElementsAre(2, 1, 0, 3));
}

TEST(GraphOrder, LeavesOutWhatACycleHoldsBack) {
  const std::vector<std::uint32_t> keys = {0, 1, 2};
  EXPECT_THAT(order_by_key(keys, {{1, 2}, {2, 1}}), ElementsAre(0));
}

}  // namespace
}  // namespace tilecast::ir
