#include "host/measure_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"

namespace tilecast::host {
namespace {

using ::testing::ElementsAre;

Workload matmul(const std::string& family, int number, std::int64_t size) {
  const std::string name = fmt::format("{}{}", family, number);
  ir::KernelSketch sketch(name, ir::Opcode::kDot, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {size, size});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {size, size});
  const ir::OpId dot = sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                  {size, size}, ir::DType::kF32);
  return {name, family, {}, sketch.build({dot}), name};
}

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    tiles_.workloads.push_back(matmul("a", 1, 256));
    tiles_.workloads.push_back(matmul("a", 2, 320));
    tiles_.workloads.push_back(matmul("b", 1, 384));
    fusion_.workloads.push_back(matmul("c", 1, 448));
    fusion_.workloads.push_back(matmul("c", 2, 512));
  }
  [[nodiscard]] std::vector<std::string> names(const PlanOptions& options) const {
    const std::vector<WorkSource> sources{tiles_, fusion_};
    std::vector<std::string> result;
    for (const WorkItem& item : plan_work(sources, device_, options)) {
      result.push_back(item.workload->name);
    }
    return result;
  }

  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  WorkSource tiles_{.set = "tiles", .many_tiles = true};
  WorkSource fusion_{.set = "fusion"};
};

TEST_F(PlanTest, SourcesTakeTurnsAndInsideOneItsFamilies) {
  EXPECT_THAT(names({.tiles_per_kernel = 2, .shortest = Seconds{0}, .costly = Seconds{1}}),
              ElementsAre("a1", "c1", "a1", "c2", "b1", "b1", "a2", "a2"));
  EXPECT_THAT(names({.tiles_per_kernel = 5,
                     .kernels_per_source = 2,
                     .shortest = Seconds{0},
                     .costly = Seconds{1}}),
              ElementsAre("a1", "c1", "a1", "c2", "a1", "a1", "b1", "b1", "b1", "b1", "a1", "b1"))
      << "blocks of four tiles, then the rest";
}

TEST_F(PlanTest, AKernelsFirstTileIsTheModelsBestAndItsSecondTheSlowest) {
  const std::vector<WorkSource> sources{tiles_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  const analytical::KernelAnalysis analysis(tiles_.workloads[0].kernel, device_);
  Seconds best{1}, worst{0};
  for (const analytical::TileConfig& tile : analysis.tiles()) {
    best = std::min(best, analysis.time(tile));
    worst = std::max(worst, analysis.time(tile));
  }
  EXPECT_EQ(items[0].predicted, best);
  EXPECT_EQ(items[1].predicted, worst);
}

TEST_F(PlanTest, AFusionKernelHasTheTileTheModelChooses) {
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  ASSERT_EQ(items.size(), 2U);
  const analytical::KernelAnalysis analysis(fusion_.workloads[0].kernel, device_);
  EXPECT_EQ(items[0].tile, analysis.estimate_best().tile);
}

TEST_F(PlanTest, ShortKernelsComeLast) {
  fusion_.workloads.push_back(matmul("tiny", 1, 8));
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {});
  EXPECT_EQ(items.back().workload->family, "tiny");
  EXPECT_LT(items.back().predicted, PlanOptions{}.shortest);
}

TEST_F(PlanTest, CostlyKernelsComeAfterTheOthersButBeforeShortOnes) {
  fusion_.workloads.push_back(matmul("tiny", 1, 8));
  fusion_.workloads.push_back(matmul("huge", 1, 2048));
  fusion_.workloads.push_back(matmul("d", 1, 64));
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.costly = Seconds{5e-3}});
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[3].workload->family, "huge");
  EXPECT_GT(items[3].predicted, Seconds{5e-3});
  EXPECT_EQ(items[4].workload->family, "tiny");
}

TEST_F(PlanTest, EachKernelAndTileIsPlannedOnce) {
  const std::vector<WorkSource> sources{tiles_, tiles_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  std::set<std::string> keys;
  for (const WorkItem& item : items) keys.insert(work_key(item.workload->hash, item.tile));
  EXPECT_EQ(keys.size(), items.size());
}

TEST_F(PlanTest, IsTheSameForAnyNumberOfThreadsAndDiffersWithTheSeed) {
  const std::vector<WorkSource> sources{tiles_};
  const auto tiles = [&](std::uint64_t seed, int jobs) {
    std::vector<analytical::TileConfig> result;
    const PlanOptions options{
        .tiles_per_kernel = 8, .shortest = Seconds{0}, .seed = seed, .jobs = jobs};
    for (const WorkItem& item : plan_work(sources, device_, options)) result.push_back(item.tile);
    return result;
  };
  EXPECT_EQ(tiles(1, 1), tiles(1, 3));
  EXPECT_NE(tiles(1, 1), tiles(2, 1));
}

TEST_F(PlanTest, GivenTilesAreTakenAsTheyAre) {
  const analytical::TileConfig tile{.output = {16, 32}, .kernel = {64, 1}};
  WorkSource again{.set = "again"};
  again.workloads.push_back(matmul("a", 1, 256));
  again.tiles = {{tile}};
  const std::vector<WorkSource> sources{again};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].tile, tile);
}

TEST(SpreadSample, ReachesBothEndsAndEveryPrefixIsSpread) {
  for (const std::size_t values : {1, 2, 5, 17, 400}) {
    for (const std::size_t count : {1, 2, 3, 8, 16}) {
      const std::vector<std::size_t> sample = spread_sample(values, count, 3);
      const std::set<std::size_t> distinct(sample.begin(), sample.end());
      EXPECT_EQ(sample.size(), std::min(values, count));
      EXPECT_EQ(distinct.size(), sample.size());
      EXPECT_LT(*distinct.rbegin(), values);
      EXPECT_EQ(sample.front(), 0U);
      if (count > 1 && values > count) {
        EXPECT_EQ(sample[1], values - 1);
      }
    }
  }
}

}  // namespace
}  // namespace tilecast::host
