#include "learned/terms.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "analytical/accounting.h"
#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "tests/analytical/test_kernels.h"

namespace tilecast::learned {
namespace {

using analytical::Bound;
using analytical::index_of;
using analytical::kBoundCount;
using analytical::testing::kernel_of;

analytical::Estimate estimate_of(double time, const std::vector<std::pair<Bound, double>>& busy) {
  analytical::Estimate estimate{.time = Seconds{time}};
  for (const auto& [bound, seconds] : busy) estimate.bounds[index_of(bound)] = Seconds{seconds};
  return estimate;
}

std::array<float, kTermColumns> terms_of(const analytical::Estimate& estimate) {
  std::array<float, kTermColumns> terms{};
  learned::terms_of(estimate, terms);
  return terms;
}

// The formula of learned/terms.h, over the time.
double combined(std::span<const float> terms) {
  double beside = 0, alone = 0;
  for (std::size_t i = 0; i < kOverlapping; ++i) beside += std::pow(terms[i], 1 / terms.back());
  for (std::size_t i = kOverlapping; i < kBoundCount; ++i) alone += terms[i];
  return std::pow(beside, terms.back()) + alone;
}

double share(const std::vector<float>& shares, std::size_t node, Bound bound) {
  return shares[node * kBoundCount + index_of(bound)];
}

TEST(Terms, AddWhereTheTimeIsTheirSum) {
  const auto terms =
      terms_of(estimate_of(10, {{Bound::kHbmRead, 4}, {Bound::kVector, 5}, {Bound::kOverhead, 1}}));
  EXPECT_FLOAT_EQ(terms[index_of(Bound::kHbmRead)], 4 / 10.0);
  EXPECT_NEAR(terms.back(), 1, 1e-4);
}

TEST(Terms, OverlapByThePowerAtWhichTheyMakeTheTime) {
  // 3-4-5: at the power 2, and 1 s beside them.
  const auto terms =
      terms_of(estimate_of(6, {{Bound::kHbmRead, 3}, {Bound::kMatrix, 4}, {Bound::kFillDrain, 1}}));
  EXPECT_NEAR(terms.back(), 1 / 2.0, 1e-4);
}

TEST(Terms, TakeTheLongestWhereNothingElseCounts) {
  const auto terms = terms_of(estimate_of(4, {{Bound::kHbmRead, 3}, {Bound::kMatrix, 4}}));
  EXPECT_NEAR(terms.back(), 1 / kMostPower, 1e-4);
}

TEST(Terms, WhatTheyLeaveOfTheTimeIsLatency) {
  const auto terms = terms_of(estimate_of(10, {{Bound::kHbmRead, 3}, {Bound::kMatrix, 4}}));
  EXPECT_FLOAT_EQ(terms[index_of(Bound::kLatency)], (10 - 3 - 4) / 10.0);
  EXPECT_FLOAT_EQ(combined(terms), 1);
}

// Up to the most power the terms combine to the time, whatever the machine.
TEST(Terms, CombineToTheTimeOfThePhysics) {
  const analytical::AnalyticalModel physics;
  for (const std::string name : {"tpu_v5e", "h100_sxm", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    for (const auto& [what, kernel] : analytical::testing::cache_kernels()) {
      const analytical::KernelQuery query{.kernel = kernel};
      const auto estimate = physics.estimate({&query, 1}, device).front();
      if (!estimate) continue;
      const auto terms = terms_of(*estimate);
      const double error = combined(terms) - 1;
      EXPECT_GT(error, -1e-4) << name << ": " << what;
      if (terms.back() > 1 / kMostPower + 1e-4) {
        EXPECT_LT(error, 1e-4) << name << ": " << what;
      }
    }
  }
}

TEST(Terms, NodesShareThemByWhatTheyDo) {
  const ir::Kernel kernel = kernel_of(analytical::testing::fusion(
      {"f32[256,128]", "f32[128]"}, "f32[256,128]",
      "  e = f32[256,128] exponential(p0)\n  l = f32[128] exponential(p1)\n"
      "  b = f32[256,128] broadcast(l), dimensions={1}\n"
      "  ROOT s = f32[256,128] add(e, b)\n"));
  const std::vector<float> shares = term_shares(kernel, analytical::testing::round_device());
  ASSERT_EQ(shares.size(), kernel.ops().size() * kBoundCount);
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    double sum = 0;
    for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
      sum += share(shares, i, static_cast<Bound>(b));
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    const ir::Op& op = kernel.ops()[i];
    const double large = 256.0 * 128, small = 128, size = op.shape.rank() == 2 ? large : small;
    const bool is_exp = op.opcode == ir::Opcode::kExp;
    const bool is_given = op.opcode == ir::Opcode::kParameter;
    const bool is_result = op.opcode == ir::Opcode::kAdd;
    EXPECT_NEAR(share(shares, i, Bound::kTranscendental), is_exp ? size / (large + small) : 0,
                1e-5);
    EXPECT_NEAR(share(shares, i, Bound::kHbmRead), is_given ? size / (large + small) : 0, 1e-5);
    EXPECT_NEAR(share(shares, i, Bound::kHbmWrite), is_result ? 1 : 0, 1e-5);
    EXPECT_NEAR(share(shares, i, Bound::kNetwork), 1.0 / kernel.ops().size(), 1e-5) << "evenly";
  }
}

TEST(Terms, ColumnsAreAppendedRowByRow) {
  std::vector<float> rows = {1, 2, 3, 4};
  append_columns(std::vector<float>{5, 6}, 1, rows);
  EXPECT_EQ(rows, (std::vector<float>{1, 2, 5, 3, 4, 6}));
}

}  // namespace
}  // namespace tilecast::learned
