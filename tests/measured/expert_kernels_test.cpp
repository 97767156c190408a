#include "measured/expert_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "measured/csv.h"
#include "tests/support/errors.h"

namespace tilecast::measured {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using Rows = std::vector<std::int64_t>;

Rows expert_rows(std::int64_t tokens, std::int64_t topk, std::int64_t experts,
                 std::string_view skew) {
  return rows_of_experts({.tokens = tokens, .topk = topk, .experts = experts, .skew = skew})
      .value();
}

TEST(RowsOfExperts, AreEvenOverAsManyExpertsAsThereAreRows) {
  EXPECT_THAT(expert_rows(3, 2, 4, "balanced"), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(expert_rows(1, 2, 8, "balanced"), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0));
}

TEST(RowsOfExperts, MeetAsManyAsIndependentTokensAreExpectedTo) {
  const Rows rows = expert_rows(4, 2, 8, "uniform");
  const auto met = std::llround(8 * (1 - std::pow(1 - 2.0 / 8, 4)));
  EXPECT_EQ(std::ranges::count_if(rows, [](std::int64_t r) { return r > 0; }), met);
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 8);
}

TEST(RowsOfExperts, FollowThePowerLaw) {
  // Density x^-2 from 1 to 80: quantile u is at 1 / (1 - (1 - 1 / 80) u).
  const auto at = [](double u) { return 1 / (1 - (1 - 1 / 80.0) * u); };
  Rows two = expert_rows(100, 1, 2, "2");
  std::ranges::sort(two);
  EXPECT_THAT(two, ElementsAre(std::llround(100 * at(0.25) / (at(0.25) + at(0.75))),
                               std::llround(100 * at(0.75) / (at(0.25) + at(0.75)))));
  const Rows many = expert_rows(64, 8, 16, "1.2");
  EXPECT_THAT(many, Each(Le(64)));
  EXPECT_EQ(std::accumulate(many.begin(), many.end(), std::int64_t{0}), 64 * 8);
  Rows few = expert_rows(1, 2, 8, "1.01");
  std::ranges::sort(few);
  EXPECT_THAT(few, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
}

constexpr const char* kExpertColumns =
    "op,dtype,tokens,hidden,inter,topk,experts,tp,ep,skew,library,block";

std::vector<ir::Kernel> kernels_of_layer(const std::string& row, bool thread_blocks = true) {
  const CsvTable table =
      read_csv(base::SourceText("ops.csv", std::string(kExpertColumns) + "\n" + row + "\n"));
  return operator_launches(table, table.rows.at(0), {.thread_blocks = thread_blocks});
}

std::vector<std::string> names_of_layer(const std::vector<ir::Kernel>& kernels) {
  std::vector<std::string> names;
  for (const ir::Kernel& kernel : kernels) names.push_back(kernel.name());
  return names;
}

TEST(ExpertLaunches, MultiplyEveryRowByThreeMatrices) {
  const auto kernels = kernels_of_layer("experts,bf16,512,64,96,2,8,2,,,,", false);
  EXPECT_THAT(names_of_layer(kernels),
              ElementsAre("experts_count", "experts_sort", "experts_gate_up", "experts_silu",
                          "experts_down", "experts_sum"));
  const double rows = 512 * 2, width = 96 / 2;
  EXPECT_FLOAT_EQ(kernels[2].work().flops, 2 * rows * 64 * 2 * width);
  EXPECT_FLOAT_EQ(kernels[4].work().flops, 2 * rows * 64 * width);
}

TEST(ExpertLaunches, OfTritonWriteZerosForExpertsOfOtherDevices) {
  const auto kernels = kernels_of_layer("experts,bf16,512,64,96,2,8,,4,,,");
  EXPECT_THAT(
      names_of_layer(kernels),
      ElementsAre("experts_count", "experts_sort", "experts_gate_up", "experts_gate_up_elsewhere",
                  "experts_silu", "experts_down", "experts_down_elsewhere", "experts_sum"));
  const ir::Kernel& zeros = kernels[3];
  EXPECT_EQ(zeros.op(zeros.outputs()[0]).shape.dims, (ir::Dims{512 * 2 * 3 / 4, 2 * 96}));
  EXPECT_EQ(kernels[2].gpu_code()->tile, (ir::Dims{64, 64}));
  EXPECT_EQ(zeros.gpu_code()->tile, (ir::Dims{64, 64}));  // 128 rows of each expert
}

TEST(ExpertLaunches, OfGroupedKernelsTakeBlocksOfAnExpertsMeanRows) {
  const auto kernels = kernels_of_layer("experts,f8e4m3fn,96,64,96,2,8,,4,,grouped,");
  EXPECT_THAT(names_of_layer(kernels),
              ElementsAre("experts_count", "experts_sort", "experts_rows", "experts_gate_up",
                          "experts_silu", "experts_activated", "experts_down", "experts_sum"));
  EXPECT_EQ(kernels[3].gpu_code()->tile, (ir::Dims{32, 128}));  // 24 rows
}

TEST(ExpertLaunches, SayWhichCellIsWrong) {
  const auto error_in = [](const std::string& row) {
    return support::error_of([&] { static_cast<void>(kernels_of_layer(row)); });
  };
  EXPECT_THAT(error_in("experts,bf16,4,64,96,9,8,,,,,"),
              HasSubstr("column 'topk': got 9, expected at most experts 8"));
  EXPECT_THAT(error_in("experts,bf16,4,64,96,2,8,,3,,,"),
              HasSubstr("column 'ep': got 3, expected a divisor of experts 8"));
  EXPECT_THAT(error_in("experts,bf16,4,64,96,2,8,,,zipf,,"),
              HasSubstr("column 'skew': got 'zipf', expected balanced, uniform or"));
  EXPECT_THAT(error_in("experts,bf16,4,64,96,2,8,,,,cutlass,"),
              HasSubstr("column 'library': got 'cutlass', expected triton, grouped or nothing"));
}

}  // namespace
}  // namespace tilecast::measured
