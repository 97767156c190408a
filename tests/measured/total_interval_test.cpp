#include "measured/total_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "measured/samples.h"
#include "tests/measured/set_on_disk.h"

namespace tilecast::measured {
namespace {

constexpr double kTolerance = 1e-12;

// An interval whose bounds are `down` and `up` away in log time.
IntervalPart part(double time, double down, double up, double launches = 1) {
  return {.time = time,
          .low = time * std::exp(-down),
          .high = time * std::exp(up),
          .launches = launches};
}

analytical::Estimate corrected(double time, double down, double up, double correlation) {
  analytical::Estimate estimate;
  estimate.time = Seconds{time};
  estimate.correction = analytical::Correction{.low = Seconds{time * std::exp(-down)},
                                               .high = Seconds{time * std::exp(up)},
                                               .correlation = correlation};
  return estimate;
}

TEST(TotalInterval, OfOnePartIsItsOwnWhateverTheCorrelation) {
  for (const double rho : {0.0, 0.4, 1.0}) {
    const std::vector<IntervalPart> one{part(2, 0.1, 0.3)};
    const auto total = total_interval(one, rho);
    ASSERT_TRUE(total);
    EXPECT_NEAR(total->low, 2 * std::exp(-0.1), kTolerance);
    EXPECT_NEAR(total->high, 2 * std::exp(0.3), kTolerance);
  }
}

TEST(TotalInterval, OfCorrelatedPartsAddsUpInTheLogarithm) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.2), part(3, 0.2, 0.4)};
  const auto total = total_interval(parts, 1);
  EXPECT_NEAR(total->low, 4 * std::exp(-(0.25 * 0.1 + 0.75 * 0.2)), kTolerance);
  EXPECT_NEAR(total->high, 4 * std::exp(0.25 * 0.2 + 0.75 * 0.4), kTolerance);
}

TEST(TotalInterval, OfIndependentEqualPartsShrinksWithTheRootOfTheirNumber) {
  const std::vector<IntervalPart> parts(16, part(1, 0.2, 0.2));
  const auto total = total_interval(parts, 0);
  EXPECT_NEAR(total->low, 16 * std::exp(-0.2 / std::sqrt(16)), kTolerance);
  EXPECT_NEAR(total->high, 16 * std::exp(0.2 / std::sqrt(16)), kTolerance);
}

TEST(TotalInterval, BlendsTheVariancesByTheCorrelation) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.3), part(1, 0.1, 0.3)};
  const double rho = 0.3;
  const double apart = 2 * 0.15 * 0.15, together = 0.3 * 0.3;  // upper side: a_i d_i = 0.15
  const auto total = total_interval(parts, rho);
  EXPECT_NEAR(total->high, 2 * std::exp(std::sqrt((1 - rho) * apart + rho * together)), kTolerance);
}

TEST(TotalInterval, LaunchesOfAKernelErrAlike) {
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.3, 10)};
  const auto total = total_interval(parts, 0);
  EXPECT_NEAR(total->low, 10 * std::exp(-0.1), 10 * kTolerance);
  EXPECT_NEAR(total->high, 10 * std::exp(0.3), 10 * kTolerance);
}

TEST(TotalInterval, HoldsTheTotalAndGrowsWithTheCorrelation) {
  std::mt19937_64 random(3);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 200; ++i) {
    std::vector<IntervalPart> parts;
    double sum = 0, low = 0, high = 0;
    for (int k = 0; k < 1 + i % 7; ++k) {
      parts.push_back(part(1e-6 + unit(), unit(), unit(), 1 + std::floor(9 * unit())));
      sum += parts.back().time * parts.back().launches;
      low += parts.back().low * parts.back().launches;
      high += parts.back().high * parts.back().launches;
    }
    const auto apart = total_interval(parts, 0), some = total_interval(parts, 0.5),
               alike = total_interval(parts, 1);
    const double slack = 1e-9 * sum;
    EXPECT_LE(apart->high, some->high + slack);
    EXPECT_LE(some->high, alike->high + slack);
    EXPECT_LE(alike->low, apart->low + slack);
    EXPECT_GE(apart->high, sum - slack);
    EXPECT_LE(apart->low, sum + slack);
    // Jensen: the logarithm of a mean is at least the mean of logarithms.
    EXPECT_LE(alike->high, high + slack);
    EXPECT_LE(alike->low, low + slack);
  }
}

TEST(TotalInterval, OfEstimatesTakesTheMeanCorrelationAndPartsWithoutCorrectionAsCertain) {
  const analytical::Estimate first = corrected(1, 0.1, 0.2, 0.3),
                             second = corrected(1, 0.1, 0.2, 0.8);
  analytical::Estimate plain;
  plain.time = Seconds{2};
  const std::vector<LaunchedEstimate> kernels{{&first, 1}, {&second, 3}, {&plain, 2}};
  const std::vector<IntervalPart> parts{part(1, 0.1, 0.2), part(1, 0.1, 0.2, 3), part(2, 0, 0, 2)};
  const auto total = total_interval(kernels), expected = total_interval(parts, (0.3 + 3 * 0.8) / 4);
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->low, expected->low, 10 * kTolerance);
  EXPECT_NEAR(total->high, expected->high, 10 * kTolerance);
}

TEST(TotalInterval, OfNothingCorrectedIsNone) {
  EXPECT_FALSE(total_interval(std::span<const IntervalPart>(), 0.5));
  EXPECT_FALSE(total_interval(std::span<const LaunchedEstimate>()));
  analytical::Estimate plain;
  plain.time = Seconds{2};
  EXPECT_FALSE(total_interval(std::vector<LaunchedEstimate>{{&plain, 1}}));
}

TEST(TotalInterval, OfKernelsThatTakeNoTimeAddsNothing) {
  const analytical::Estimate kernel = corrected(1, 0.1, 0.2, 0.5);
  analytical::Estimate none;
  const auto total = total_interval(std::vector<LaunchedEstimate>{{&kernel, 1}, {&none, 4}});
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->high, std::exp(0.2), kTolerance);
}

TEST(TotalInterval, OfABiasedEstimateReachesItsTime) {
  const analytical::Estimate kernel = corrected(1, -0.1, 0.2, 0.5);  // low is above the time
  const auto total = total_interval(std::vector<LaunchedEstimate>{{&kernel, 2}});
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->low, 2, kTolerance);
  EXPECT_NEAR(total->high, 2 * std::exp(0.2), kTolerance);
}

TEST(TotalInterval, OfATimeThatIsNoneIsNone) {
  const analytical::Estimate kernel = corrected(1, 0.1, 0.2, 0.5),
                             lost = corrected(INFINITY, 0, 0, 0);
  EXPECT_FALSE(total_interval(std::vector<LaunchedEstimate>{{&kernel, 1}, {&lost, 1}}));
}

// The analytical time, with an interval of -20 % and +50 %.
class Corrected final : public analytical::CostModel {
 public:
  explicit Corrected(double correlation) : correlation_(correlation) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    auto answers = analytical::AnalyticalModel().estimate(queries, device);
    for (std::optional<analytical::Estimate>& answer : answers) {
      answer->correction = analytical::Correction{
          .low = answer->time * 0.8, .high = answer->time * 1.5, .correlation = correlation_};
    }
    return answers;
  }

 private:
  double correlation_;
};

class PredictedIntervals : public testing::Test {
 protected:
  PredictedIntervals() {
    disk_.write_manifest("dtype: bf16\n");
    disk_.write("measurements.csv",
                "op,m,n,k,runtime_ns\nmatmul,512,512,512,9000\nmatmul,1024,512,512,15000\n");
    samples_ = make_samples(read_measurement_set(disk_.path()), device_, {.check_physics = false});
  }

  SetOnDisk disk_;
  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
  SampleSet samples_;
};

TEST_F(PredictedIntervals, OfAKernelAreItsOwnWithTheDispatchOfItsRow) {
  for (Sample& sample : samples_.samples) sample.holds_dispatch = false;
  samples_.samples[1].holds_dispatch = true;
  const std::vector<Prediction> answers = predict(samples_, Corrected(0.5), device_);
  ASSERT_TRUE(answers[0].interval && answers[1].interval);
  EXPECT_EQ(answers[0].interval->low, answers[0].on_device.value * 0.8);
  EXPECT_EQ(answers[0].interval->high, answers[0].on_device.value * 1.5);
  ASSERT_GT(answers[1].dispatch.value, 0);
  const double whole = answers[1].comparable().value;
  EXPECT_DOUBLE_EQ(answers[1].interval->low, whole * 0.8);
  EXPECT_DOUBLE_EQ(answers[1].interval->high, whole * 1.5);
}

TEST_F(PredictedIntervals, OfAProgramAreOfItsTotalWithEveryKernelOnce) {
  const auto add_program = [&](std::vector<WorkloadPart> parts) {
    Workload work = samples_.works[0];
    work.parts = std::move(parts);
    samples_.works.push_back(work);
    Sample sample = samples_.samples[0];
    sample.work = samples_.works.size() - 1;
    samples_.samples.push_back(sample);
  };
  const ir::Kernel first = samples_.works[0].parts[0].kernel;
  const ir::Kernel second = samples_.works[1].parts[0].kernel;
  add_program({{first, 3}, {second, 2}});
  add_program({{first, 1}, {second, 2}, {first, 2}});
  const double rho = 0.25;
  const std::vector<Prediction> answers = predict(samples_, Corrected(rho), device_);
  const double one = answers[0].on_device.value, two = answers[1].on_device.value;
  const std::vector<IntervalPart> parts{{one, 0.8 * one, 1.5 * one, 3},
                                        {two, 0.8 * two, 1.5 * two, 2}};
  const Interval expected = *total_interval(parts, rho);
  for (const std::size_t program : {2, 3}) {
    ASSERT_TRUE(answers[program].interval);
    EXPECT_NEAR(answers[program].on_device.value, 3 * one + 2 * two, 1e-12 * one);
    EXPECT_NEAR(answers[program].interval->low, expected.low, 1e-12 * one);
    EXPECT_NEAR(answers[program].interval->high, expected.high, 1e-12 * one);
  }
}

TEST_F(PredictedIntervals, OfModelsWithoutCorrectionAreNone) {
  for (const Prediction& answer : predict(samples_, analytical::AnalyticalModel(), device_)) {
    EXPECT_TRUE(answer.answered);
    EXPECT_FALSE(answer.interval);
  }
}

}  // namespace
}  // namespace tilecast::measured
