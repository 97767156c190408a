#include "hybrid/calibrate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "learned/training/examples.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using testing::HasSubstr;

const analytical::AnalyticalModel kModel;

Device described() {
  return hwdesc::load_device("tpu_v3");
}

// The same machine with sustained rates that differ from its description.
Device truth() {
  Device device = described();
  device.calibration.memory_bandwidth = 0.92;
  device.calibration.memory_write = 0.7;
  device.calibration.memory_latency = 1.5;
  device.calibration.source = "invented";
  return device;
}

Calibrated fit(const measured::SampleSet& set, const CalibrateOptions& options = {}) {
  return calibrate({&set, 1}, described(), kModel, options);
}

const FittedConstant& constant(const Calibrated& calibrated, const std::string& name) {
  const auto found = std::ranges::find(calibrated.constants, name, &FittedConstant::name);
  EXPECT_NE(found, calibrated.constants.end()) << name;
  return *found;
}

TEST(Calibrate, FindsTheConstantsThatMadeTheTimes) {
  const Calibrated c = fit(synthetic_set(truth(), 8, 12));
  ASSERT_TRUE(c.accepted);
  EXPECT_NEAR(constant(c, "memory_bandwidth").fitted, 0.92, 0.01);
  EXPECT_NEAR(constant(c, "memory_write").fitted, 0.7, 0.02);
  EXPECT_NEAR(constant(c, "memory_latency").fitted, 1.5, 0.1);
  EXPECT_LT(c.held_out.front().after, 0.01);
}

TEST(Calibrate, KeepsWhatItDoesNotSee) {
  const Calibrated c = fit(synthetic_set(truth(), 8, 12));
  const FittedConstant& matrix = constant(c, "matrix");  // sums of arrays contain no product
  EXPECT_EQ(matrix.knowledge, Knowledge::kDescription);
  EXPECT_EQ(matrix.fitted, matrix.described);
  EXPECT_EQ(c.device.calibration.matrix, 1);
}

TEST(Calibrate, CoversTheTruthWithItsIntervals) {
  const Calibrated c = fit(synthetic_set(truth(), 8, 12, 0.05));
  ASSERT_TRUE(c.accepted);
  for (const auto& [name, value] :
       {std::pair("memory_bandwidth", 0.92), std::pair("memory_write", 0.7)}) {
    EXPECT_LT(constant(c, name).low, value) << name;
    EXPECT_GT(constant(c, name).high, value) << name;
  }
}

TEST(Calibrate, WorksFromThreeRowsAndNeverLeavesItsPriorFar) {
  const Calibrated c = fit(synthetic_set(truth(), 3, 1));
  for (const FittedConstant& fitted : c.constants) {
    EXPECT_TRUE(std::isfinite(fitted.fitted)) << fitted.name;
    EXPECT_GE(fitted.fitted, fitted.prior_low * 0.8) << fitted.name;
  }
  EXPECT_FALSE(c.held_out.empty());
}

TEST(Calibrate, AsksForMoreThanTwoRows) {
  EXPECT_THAT(support::error_of([&] { return fit(synthetic_set(truth(), 2, 1)); }),
              HasSubstr("got 2 usable rows for device tpu_v3, expected at least 3"));
}

TEST(Calibrate, LeavesADescriptionThatIsRightAlone) {
  const Calibrated c = fit(synthetic_set(described(), 8, 12));
  EXPECT_LE(c.held_out.front().after, c.held_out.front().before + 1e-12);
  EXPECT_NEAR(c.device.calibration.memory_bandwidth, 1, 0.005);
}

// Kernels with contradictory constants: an improvement for some makes held-out kernels worse.
TEST(Calibrate, RefusesWhatMakesHeldOutKernelsWorse) {
  measured::SampleSet set = synthetic_set(described(), 6, 6);
  for (measured::Sample& sample : set.samples) {
    const double factor = sample.work % 2 == 0 ? 1.0 : 1.6;
    if (sample.work == 3) continue;
    sample.measured = sample.measured * factor;
  }
  const Calibrated c = fit(set);
  for (const RefusedFit& refused : c.refused) {
    EXPECT_TRUE(refused.worst.worse() || refused.worst.after >= refused.worst.before);
  }
  EXPECT_EQ(c.accepted, !c.held_out.front().worse());
  EXPECT_EQ(hwdesc::is_calibrated(c.device), c.accepted);
}

// The project's bar: 20 % of rows ten or a thousand times too long change no constant by 10 %.
TEST(Calibrate, ListsCorruptedRowsAndStandsByTheCleanFit) {
  const measured::SampleSet clean = synthetic_set(truth(), 8, 12, 0.03);
  measured::SampleSet corrupted = clean;
  std::set<int> wrong;
  for (std::size_t i = 0; i < corrupted.samples.size(); i += 5) {
    measured::Sample& sample = corrupted.samples[i];
    sample.measured = sample.measured * (i % 2 == 0 ? 10 : 1000);
    wrong.insert(sample.line);
  }
  const Calibrated right = fit(clean);
  const Calibrated robust = fit(corrupted);
  ASSERT_TRUE(robust.accepted);
  for (const FittedConstant& expected : right.constants) {
    // An overhead near zero is compared with the range of its prior instead.
    const bool near_zero = expected.name == "kernel_overhead";
    EXPECT_NEAR(constant(robust, expected.name).fitted, expected.fitted,
                0.1 * (near_zero ? expected.prior_high : expected.fitted))
        << expected.name;
  }
  std::set<int> listed;
  for (const measured::RowFault& fault : robust.outliers) listed.insert(fault.line);
  EXPECT_EQ(listed, wrong);
}

TEST(Calibrate, FitsDispatchOnlyToTimesThatHoldOneAndNeverAsOnChipTime) {
  measured::SampleSet set = synthetic_set(described(), 8, 6);
  set.manifest.timing = measured::Timing::kHost;
  set.manifest.dispatch["loop_fusion"] = Seconds{60e-6};
  for (measured::Sample& sample : set.samples) {
    sample.holds_dispatch = true;
    sample.measured += Seconds{90e-6};
  }
  const Calibrated c = fit(set, {.fixed = {"kernel_overhead"}});
  ASSERT_TRUE(c.accepted);
  EXPECT_NEAR(c.device.calibration.dispatch.at("loop_fusion").value, 90e-6, 2e-6);
  const ir::Kernel& kernel = set.works.front().parts.front().kernel;
  const Seconds before = analytical::KernelAnalysis(kernel, described()).estimate_best().time;
  Device only_dispatch = described();
  only_dispatch.calibration.dispatch = c.device.calibration.dispatch;
  EXPECT_EQ(analytical::KernelAnalysis(kernel, only_dispatch).estimate_best().time, before);
}

// Main memory at a quarter of its described bandwidth, as on a power-limited device.
TEST(Calibrate, RefusesConstantsThatSayTheDescriptionIsWrong) {
  const Device throttled = hwdesc::load_device("tpu_v3", {{"hbm.bandwidth", "112 GB/s"}});
  const measured::SampleSet all = synthetic_set(throttled, 8, 12);
  measured::SampleSet set = all;
  set.samples.clear();
  for (std::size_t i = 0; i < all.samples.size(); i += 5) set.samples.push_back(all.samples[i]);
  ASSERT_EQ(set.samples.size(), 20U);
  const Calibrated c = fit(set);
  EXPECT_FALSE(c.accepted);
  EXPECT_TRUE(c.refused_as_suspicious);
  EXPECT_FALSE(hwdesc::is_calibrated(c.device));
  ASSERT_FALSE(c.suspicious().empty());
  const FittedConstant& writes = constant(c, "memory_write");
  EXPECT_TRUE(writes.suspicious());
  EXPECT_THAT(suspicion(writes), HasSubstr("memory_write: 0."));
  EXPECT_THAT(suspicion(writes), HasSubstr("described 1: "));
  const Calibrated taken = fit(set, {.accept_suspicious = true});
  EXPECT_TRUE(taken.accepted);
  EXPECT_FALSE(taken.suspicious().empty());
  EXPECT_TRUE(hwdesc::is_calibrated(taken.device));
}

TEST(Calibrate, RefusesAConstantThatItsBoundStops) {
  measured::SampleSet set = synthetic_set(described(), 8, 6);
  set.manifest.timing = measured::Timing::kHost;
  set.manifest.dispatch["loop_fusion"] = Seconds{10e-6};
  for (measured::Sample& sample : set.samples) {
    sample.holds_dispatch = true;
    sample.measured += Seconds{300e-6};  // thirty times the described dispatch; the limit is ten
  }
  const Calibrated c = fit(set, {.fixed = {"kernel_overhead"}});
  EXPECT_TRUE(c.refused_as_suspicious);
  const FittedConstant& dispatch = constant(c, "dispatch.loop_fusion");
  EXPECT_TRUE(dispatch.at_bound);
  EXPECT_NEAR(dispatch.fitted, 100e-6, 1e-9);
  EXPECT_THAT(suspicion(dispatch), HasSubstr("at its bound"));
}

TEST(Calibrate, FitsAFewRowsOfEveryKernel) {
  const measured::SampleSet set = synthetic_set(truth(), 10, 30);  // 300 rows
  const std::vector<measured::SampleSet> sets{set, synthetic_set(truth(), 3, 1)};
  const Calibrated c = calibrate(sets, described(), kModel, {.most_rows = 50});
  ASSERT_EQ(c.rows_of_sets.size(), 2U);
  EXPECT_LE(c.rows_of_sets[0] + c.rows_of_sets[1], 50U);
  EXPECT_GE(c.rows_of_sets[0] + c.rows_of_sets[1], 40U);
  EXPECT_EQ(c.kernels, 10U);  // includes those of the second set
  EXPECT_EQ(fit(set, {.most_rows = 1000}).rows_of_sets[0], 300U);
}

TEST(Calibrate, HoldsFixedConstants) {
  const Calibrated c = fit(synthetic_set(truth(), 8, 12), {.fixed = {"memory_write", "dispatch"}});
  EXPECT_EQ(c.device.calibration.memory_write, 1);
  EXPECT_EQ(std::ranges::count(c.constants, "memory_write", &FittedConstant::name), 0);
}

TEST(Calibrate, IsTheSameForAnyNumberOfJobs) {
  const measured::SampleSet set = synthetic_set(truth(), 6, 6, 0.02);
  EXPECT_EQ(hwdesc::print_device(fit(set, {.jobs = 1}).device),
            hwdesc::print_device(fit(set, {.jobs = 3}).device));
}

TEST(CalibratedYaml, IsADescriptionThatExtendsTheOldOneAndPredictsAsTheFit) {
  Calibrated c = fit(synthetic_set(truth(), 8, 12));
  const std::string text = calibrated_yaml(c, "tpu_v3", "mine", "tilecast calibrate on \"rows\"");
  const Device read = hwdesc::parse_device(text, "mine.yaml");
  EXPECT_EQ(read.name, "mine");
  EXPECT_EQ(read.lineage, std::vector<std::string>{"tpu_v3"});
  EXPECT_EQ(read.calibration.source, "tilecast calibrate on \"rows\"");
  EXPECT_NEAR(read.calibration.memory_write, c.device.calibration.memory_write, 1e-5);
  EXPECT_TRUE(hwdesc::is_calibrated(read));
}

}  // namespace

// Products on a machine with a slower matrix unit than described and additional time per kernel: a
// calibration finds both. Also sets that contradict each other, programs, and times that no
// constant explains.

namespace {

constexpr double kMatrix = 0.829, kOverhead_s = 3e-6, kNoise = 0.03;
constexpr int kProducts = 40;
const analytical::AnalyticalModel kProductModel;

Device slower(const Device& described) {
  Device truth = described;
  truth.calibration.matrix = kMatrix * described.calibration.matrix;
  truth.calibration.kernel_overhead = Seconds{kOverhead_s};
  return truth;
}

const FittedConstant& found(const Calibrated& c, const std::string& name) {
  return *std::ranges::find(c.constants, name, &FittedConstant::name);
}

bool holds(const FittedConstant& constant, double value) {
  return constant.low <= value && value <= constant.high;
}

// Three seeds each, to save time. With 20 seeds, run once, the factor of the matrix unit was within
// 0.03 of the truth in 17 cases on h100_sxm, where loads from the cache bound as many products as
// the unit does, and in all on tpu_v3; intervals of both constants held the truth in 19 and 20
// there.
TEST(CalibrateProducts, FindsASlowerMatrixUnitAndATimePerKernel) {
  int accepted = 0, matrix = 0, overhead = 0, near = 0, all = 0;
  for (const char* name : {"tpu_v3", "h100_sxm"}) {
    const Device described = hwdesc::load_device(name);
    for (const std::uint64_t seed : {3, 4, 5}) {
      const measured::SampleSet set = product_set(slower(described), kProducts, seed, kNoise);
      const Calibrated c = calibrate({&set, 1}, described, kProductModel);
      ++all;
      accepted += c.accepted ? 1 : 0;
      matrix += holds(found(c, "matrix"), kMatrix) ? 1 : 0;
      overhead += holds(found(c, "kernel_overhead"), kOverhead_s) ? 1 : 0;
      EXPECT_LT(found(c, "matrix").high - found(c, "matrix").low, 0.1) << name << seed;
      near += std::abs(found(c, "matrix").fitted - kMatrix) <= 0.03 ? 1 : 0;
      EXPECT_NEAR(found(c, "kernel_overhead").fitted, kOverhead_s, 0.6e-6) << name << seed;
    }
  }
  EXPECT_EQ(accepted, all);
  EXPECT_GE(near, all - 1);
  EXPECT_GE(matrix, all - 1);
  EXPECT_GE(overhead, all - 1);
}

// Many rows of one source must not outvote the few rows of another that they make worse.
TEST(CalibrateProducts, AsksEverySource) {
  const Device described = hwdesc::load_device("tpu_v3");
  std::vector<measured::SampleSet> sets{product_set(slower(described), 60, 1, kNoise),
                                        product_set(described, 15, 2, kNoise)};
  sets[1].name = "another machine";
  for (measured::Workload& work : sets[1].works) work.fingerprint += " there";
  const Calibrated c = calibrate(sets, described, kProductModel);
  EXPECT_FALSE(c.accepted);
  ASSERT_FALSE(c.refused.empty());
  EXPECT_EQ(c.refused.front().worst.group, "set another machine");
  EXPECT_TRUE(c.refused.front().worst.worse());
  EXPECT_TRUE(c.held_out.front().better());  // with all rows pooled it would be accepted
  EXPECT_THAT(refusal(c), HasSubstr("held-out rows: set another machine worse: "));
}

TEST(CalibrateProducts, FitsNoProgram) {
  const Device described = hwdesc::load_device("tpu_v3");
  measured::SampleSet set = product_set(slower(described), kProducts, 1, kNoise);
  const measured::SampleSet products = set;
  for (std::size_t i = 0; i < 10; ++i) {  // rows that wait for input
    measured::Workload program = set.works[i];
    program.is_program = true;
    program.fingerprint += " program";
    set.samples.push_back(set.samples[i]);
    set.samples.back().work = set.works.size();
    set.samples.back().measured = set.samples.back().measured * 2;
    set.works.push_back(std::move(program));
  }
  const Calibrated c = calibrate({&set, 1}, described, kProductModel);
  EXPECT_EQ(c.programs, 10U);
  EXPECT_EQ(c.rows + c.outliers.size(), products.samples.size());
  const Calibrated without = calibrate({&products, 1}, described, kProductModel);
  EXPECT_EQ(found(c, "matrix").fitted, found(without, "matrix").fitted);
  for (measured::Workload& work : set.works) work.is_program = true;
  EXPECT_THAT(support::error_of<learned::TooFewRows>([&] {
                return calibrate({&set, 1}, described, kProductModel);
              }),
              HasSubstr("50 rows are times of whole programs"));
}

TEST(CalibrateProducts, SaysWhatIsLeft) {
  const Device described = hwdesc::load_device("tpu_v3");
  measured::SampleSet set = product_set(described, 50, 1, kNoise);
  EXPECT_EQ(calibrate({&set, 1}, described, kProductModel).left,
            "no class or size is still off beyond noise");
  for (measured::Sample& sample : set.samples) {
    if (sample.measured.value > 100e-6) sample.measured = sample.measured * 1.5;
  }
  CalibrateOptions options;
  for (const std::string_view name : constant_names()) options.fixed.emplace(name);
  EXPECT_THAT(calibrate({&set, 1}, described, kProductModel, options).left,
              testing::MatchesRegex("matmul above 100 us is still predicted 3[0-9].. % too fast "
                                    "\\([0-9]+ kernels\\)"));
}

}  // namespace
}  // namespace tilecast::hybrid
