#include "hybrid/hybrid_fit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using hwdesc::Device;
using testing::HasSubstr;

const Device& tpu() {
  static const Device device = hwdesc::load_device("tpu_v3");
  return device;
}

// Larger kernels take 30 % longer than physics says, for every factor of e.
double by_size(const Estimate& estimate) {
  return 0.3 * std::log(estimate.time.value / 10e-6);
}

// Mean |log error| of the rows of `set`.
double error_on(const measured::SampleSet& set, const analytical::CostModel& model) {
  const auto predictions = measured::predict(set, model, tpu());
  double sum = 0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    sum += std::abs(std::log(predictions[i].on_device.value / set.samples[i].measured.value));
  }
  return sum / static_cast<double>(predictions.size());
}

TEST(FitHybrid, LearnsWhatPhysicsMissesAndKeepsItInTheTrainedDomain) {
  const measured::SampleSet set = corrected_set(tpu(), 20, 6, by_size, 0.02);
  FittedHybrid fitted = fit_to(set, tpu());
  EXPECT_NE(fitted.chosen, "none");
  const HybridModel model(kPhysics, std::move(fitted.parts));
  const double physics = error_on(set, kPhysics);
  EXPECT_LT(error_on(set, model), 0.25 * physics);
}

TEST(FitHybrid, KeepsPhysicsWhereItIsRight) {
  const measured::SampleSet set = corrected_set(
      tpu(), 12, 4, [](const Estimate&) { return 0.0; }, 0.05);
  FittedHybrid fitted = fit_to(set, tpu());
  EXPECT_EQ(fitted.chosen, "none");
  EXPECT_EQ(fitted.parts.residual, nullptr);
  const HybridModel model(kPhysics, std::move(fitted.parts));
  const auto hybrid = measured::predict(set, model, tpu());
  const auto physics = measured::predict(set, kPhysics, tpu());
  for (std::size_t i = 0; i < hybrid.size(); ++i) {
    EXPECT_EQ(hybrid[i].on_device, physics[i].on_device);
  }
}

TEST(FitHybrid, FiveRowsNeverHurt) {
  for (const double slope : {0.0, 0.3}) {
    measured::SampleSet all = corrected_set(
        tpu(), 10, 6, [&](const Estimate& e) { return slope * std::log(e.time.value / 10e-6); },
        0.1);
    measured::SampleSet five = all;
    five.samples.clear();
    for (std::size_t i = 0; i < 5; ++i) five.samples.push_back(all.samples[i * 11]);
    FittedHybrid fitted = fit_to(five, tpu());
    EXPECT_EQ(fitted.rows, 5U);
    const HybridModel model(kPhysics, std::move(fitted.parts));
    EXPECT_LE(error_on(all, model), error_on(all, kPhysics) + 0.02);
  }
}

TEST(FitHybrid, DoesNotDependOnThreads) {
  const measured::SampleSet set = corrected_set(tpu(), 12, 4, by_size, 0.02);
  const FittedHybrid one = fit_to(set, tpu(), small_hybrid(), 1);
  const FittedHybrid two = fit_to(set, tpu(), small_hybrid(), 2);
  EXPECT_EQ(one.chosen, two.chosen);
  EXPECT_EQ(one.parts.trust.save(), two.parts.trust.save());
  EXPECT_EQ(one.parts.domain.save(), two.parts.domain.save());
}

TEST(FitHybrid, FitsTheConstantsFirst) {
  Device slower = tpu();
  slower.calibration.memory_bandwidth = 0.92;
  slower.calibration.source = "a test";
  measured::SampleSet set = synthetic_set(slower, 16, 4);
  set.device = tpu().name;
  const FittedHybrid fitted = fit_to(set, tpu(), small_hybrid(true));
  ASSERT_EQ(fitted.calibrated.size(), 1U);
  EXPECT_TRUE(fitted.calibrated.front().accepted);
  EXPECT_NEAR(fitted.parts.devices[0].calibration.memory_bandwidth, 0.92, 0.03);
  EXPECT_EQ(fitted.parts.devices[0].calibration.fitted_by, hwdesc::FittedBy::kHybrid);
}

// The verb `calibrate`, hybrids and experiments fit the same rows of one set.
TEST(FitHybrid, FitsTheConstantsThatCalibrateFits) {
  Device slower = tpu();
  slower.calibration.memory_bandwidth = 0.95;
  slower.calibration.source = "a test";
  measured::SampleSet set = synthetic_set(slower, 16, 20, 0.05);  // more rows than are fitted
  set.device = tpu().name;
  const FittedHybrid fitted = fit_to(set, tpu(), small_hybrid(true));
  const Calibrated alone = calibrate({&set, 1}, tpu(), kPhysics);
  ASSERT_TRUE(alone.accepted);
  ASSERT_LT(alone.rows_of_sets.front(), set.samples.size());
  EXPECT_EQ(fitted.calibrated.front().rows_of_sets, alone.rows_of_sets);
  EXPECT_EQ(fitted.parts.devices[0].calibration.memory_bandwidth,
            alone.device.calibration.memory_bandwidth);
}

TEST(FitHybrid, FitsTheConstantsOfEachOfSeveralDevicesToItsOwnRows) {
  const Device other = hwdesc::load_device("tpu_v2");
  Device slower = other;
  slower.calibration.memory_bandwidth = 0.92;
  slower.calibration.source = "a test";
  const std::vector<measured::SampleSet> sets{synthetic_set(slower, 16, 4),
                                              synthetic_set(tpu(), 2, 1)};
  const std::vector<Device> devices{other, tpu()};
  HybridSpec spec = small_hybrid(/*calibrate=*/true);
  spec.candidates.clear();
  const FittedHybrid fitted = fit_hybrid(kPhysics, spec, sets, devices, {});
  ASSERT_EQ(fitted.calibrated.size(), 1U);
  const Calibrated alone = calibrate({&sets.front(), 1}, other, kPhysics);
  ASSERT_TRUE(alone.accepted);
  EXPECT_EQ(fitted.parts.devices[0].calibration.memory_bandwidth,
            alone.device.calibration.memory_bandwidth);
  EXPECT_EQ(fitted.parts.devices[1].calibration.memory_bandwidth, 1);
  ASSERT_EQ(fitted.notes.size(), 1U);
  EXPECT_THAT(fitted.notes.front(), HasSubstr("tpu_v3: constants stay as described: "));
  EXPECT_THAT(fitted.notes.front(), HasSubstr("got 2 usable rows"));
  spec.calibrate = false;
  EXPECT_TRUE(fit_hybrid(kPhysics, spec, sets, devices, {}).notes.empty());
}

// Loops take longer than described on every machine. Fitted constants know that of measured ones,
// and nobody does of a new one: its interval has to.
TEST(FitHybrid, ADeviceLeftOutIsTriedAsDescribed) {
  std::vector<measured::SampleSet> sets;
  std::vector<Device> devices;
  const auto slower = [](Device device) {
    device.calibration.transfer_setup = 1.4;
    device.calibration.iteration_overhead = 1.4;
    device.calibration.source = "a test";
    return device;
  };
  const auto with_bandwidth = [](double factor) {
    Device device = tpu();
    device.name = fmt::format("tpu x {}", factor);
    device.memory.front().bandwidth = device.memory.front().bandwidth * factor;
    return device;
  };
  for (const double factor : {0.6, 0.8, 1.0, 1.2, 1.6}) {
    devices.push_back(with_bandwidth(factor));
    sets.push_back(synthetic_set(slower(devices.back()), 10, 2, 0.02));
  }
  HybridSpec spec = small_hybrid(/*calibrate=*/true);
  spec.candidates.clear();
  FittedHybrid fitted =
      fit_hybrid(kPhysics, spec, sets, devices, {.jobs = 2, .accept_suspicious = true});
  const auto accepted =
      std::ranges::count_if(fitted.calibrated, [](const Calibrated& c) { return c.accepted; });
  ASSERT_EQ(accepted, 5);
  const HybridModel model(kPhysics, std::move(fitted.parts));
  const Device other = with_bandwidth(1.4);
  const measured::SampleSet truth = synthetic_set(slower(other), 10, 2);
  const auto answers = measured::predict(truth, model, other);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_GT(answers[i].interval.value().high, truth.samples[i].measured.value);
  }
}

// Programs say nothing about single kernels, but their constants hold for kernels of every class.
TEST(FitHybrid, OfProgramsStandsOnTheirConstants) {
  Device slower = tpu();
  slower.calibration.memory_bandwidth = 0.92;
  slower.calibration.source = "a test";
  measured::SampleSet set = synthetic_set(slower, 16, 4);
  for (measured::Sample& sample : set.samples) sample.tile = {};
  for (measured::Workload& work : set.works) work.parts.push_back(work.parts.front());
  const std::vector<measured::Prediction> truth = measured::predict(set, kPhysics, slower);
  for (std::size_t i = 0; i < truth.size(); ++i) set.samples[i].measured = truth[i].on_device;
  FittedHybrid fitted = fit_to(set, tpu(), small_hybrid(true));
  EXPECT_EQ(fitted.rows, 0U);
  ASSERT_FALSE(fitted.notes.empty());
  EXPECT_THAT(fitted.notes.front(), HasSubstr("no correction: got 0 rows of single kernels"));
  const HybridModel model(kPhysics, std::move(fitted.parts));
  const std::vector<measured::Prediction> answers =
      measured::predict(set, model, model.with_constants(tpu()));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_NEAR(answers[i].on_device / truth[i].on_device, 1, 0.02);
  }
}

// Too few rows drop a candidate; anything else that is wrong with it is an error.
TEST(FitHybrid, DropsCandidatesForTooFewRowsOnly) {
  const measured::SampleSet few = synthetic_set(tpu(), 5, 1, 0.05);
  const FittedHybrid fitted = fit_to(few, tpu());
  EXPECT_EQ(std::ranges::count(fitted.candidates, "trees (too few rows)", &CandidateScore::name),
            1);
  HybridSpec spec = small_hybrid();
  spec.candidates.back().features.parameters = {"block"};  // the rows have no such parameter
  try {
    static_cast<void>(fit_to(synthetic_set(tpu(), 12, 4), tpu(), spec));
    FAIL() << "a learner of parameters that the rows do not have";
  } catch (const learned::TooFewRows&) {
    FAIL() << "there are rows enough";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("parameters"));
  }
}

TEST(FitHybrid, NeedsARowOrTwo) {
  measured::SampleSet set = synthetic_set(tpu(), 2, 1);
  try {
    static_cast<void>(fit_to(set, tpu()));
    FAIL() << "two rows are too few";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("got 2 rows"));
  }
}

TEST(FitHybrid, ScoresEveryCandidate) {
  const measured::SampleSet set = corrected_set(tpu(), 12, 4, by_size, 0.02);
  const FittedHybrid fitted = fit_to(set, tpu());
  ASSERT_EQ(fitted.candidates.size(), 3U);
  EXPECT_EQ(fitted.candidates[0].name, "none");
  EXPECT_EQ(fitted.candidates[1].name, "process");
  EXPECT_EQ(fitted.candidates[2].name, "trees");
  double least = fitted.candidates[0].error;
  for (const CandidateScore& one : fitted.candidates) least = std::min(least, one.error);
  for (const CandidateScore& one : fitted.candidates) {
    if (one.name == fitted.chosen) {
      EXPECT_LE(one.error, least + one.deviation);
    }
  }
}

}  // namespace
}  // namespace tilecast::hybrid
