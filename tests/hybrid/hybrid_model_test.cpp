#include "hybrid/hybrid_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytical/layout_rules.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;
using hwdesc::Device;
using testing::HasSubstr;

const Device& tpu() {
  static const Device device = hwdesc::load_device("tpu_v3");
  return device;
}

double by_size(const Estimate& estimate) {
  return 0.3 * std::log(estimate.time.value / 10e-6);
}

const measured::SampleSet& rows() {
  static const measured::SampleSet set = corrected_set(tpu(), 20, 6, by_size, 0.02);
  return set;
}

const HybridModel& hybrid() {
  static const HybridModel model(kPhysics, fit_to(rows(), tpu()).parts);
  return model;
}

KernelQuery query_of(const measured::SampleSet& set, std::size_t sample) {
  return {.kernel = set.works[set.samples[sample].work].parts.front().kernel,
          .tile = &set.samples[sample].tile};
}

Estimate ask(const analytical::CostModel& model, const KernelQuery& query, const Device& device) {
  const auto answers = model.estimate(std::span<const KernelQuery>(&query, 1), device);
  EXPECT_TRUE(answers.front().has_value());
  return *answers.front();
}

TEST(HybridModel, IsPhysicsTimesTheFactorItReports) {
  for (std::size_t i = 0; i < rows().samples.size(); i += 7) {
    const KernelQuery query = query_of(rows(), i);
    const Estimate physics = ask(kPhysics, query, tpu());
    const Estimate said = ask(hybrid(), query, tpu());
    ASSERT_TRUE(said.correction.has_value());
    EXPECT_EQ(said.correction->analytical, physics.time);
    EXPECT_DOUBLE_EQ(said.time.value, physics.time.value * said.correction->factor);
    EXPECT_LE(said.correction->low, said.time);
    EXPECT_GE(said.correction->high, said.time);
    EXPECT_GE(said.time, said.speed_of_light);
    EXPECT_EQ(said.model, "hybrid");
  }
}

TEST(HybridModel, KnowsTheKernelsItWasTrainedOn) {
  const Estimate said = ask(hybrid(), query_of(rows(), 8), tpu());
  EXPECT_EQ(said.correction->verdict, Verdict::kIn);
  EXPECT_GT(said.correction->weight, 0);
}

// What the matrix unit binds; the measured kernels are sums.
ir::Kernel large_product() {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, analytical::layout_rules(tpu()));
  const ir::OpId a = sketch.parameter(ir::DType::kBF16, {4096, 4096});
  const ir::OpId b = sketch.parameter(ir::DType::kBF16, {4096, 4096});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                  {4096, 4096}, ir::DType::kBF16)});
}

// Another resource binds: physics alone, and it says so.
TEST(HybridModel, FallsBackToPhysicsOutsideItsDomain) {
  const ir::Kernel kernel = large_product();
  const KernelQuery query{.kernel = kernel};
  const Estimate said = ask(hybrid(), query, tpu());
  EXPECT_EQ(said.correction->verdict, Verdict::kOut);
  EXPECT_EQ(said.correction->weight, 0);
  EXPECT_EQ(said.time, ask(kPhysics, query, tpu()).time);
  const auto reasons = hybrid().explain(query, tpu());
  ASSERT_TRUE(reasons.has_value());
  EXPECT_EQ(reasons->verdict, "no measured kernel is bound by matrix");
}

// Numbers that physics does not read for a kernel are no part of its machine.
TEST(HybridModel, AMachineThatPhysicsCannotTellFromAMeasuredOneIsThatOne) {
  Device twin = tpu();
  twin.name = "twin";
  twin.lineage.clear();
  twin.matrix.count *= 2;
  twin.machine += 1;
  const KernelQuery query = query_of(rows(), 8);
  const Estimate known = ask(hybrid(), query, tpu()), same = ask(hybrid(), query, twin);
  EXPECT_EQ(same.correction->verdict, known.correction->verdict);
  EXPECT_EQ(same.time, known.time);
  twin.clock = twin.clock * 1.5;
  for (hwdesc::MemoryLevel& level : twin.memory) level.bandwidth = level.bandwidth * 1.5;
  EXPECT_EQ(ask(hybrid(), query, twin).correction->weight, 0);
}

TEST(HybridModel, ADeviceNeverMeasuredIsPhysicsAlone) {
  const Device other = hwdesc::load_device("tpu_v2");
  const KernelQuery query = query_of(rows(), 8);
  const Estimate said = ask(hybrid(), query, other);
  EXPECT_EQ(said.correction->verdict, Verdict::kOut);
  EXPECT_EQ(said.time, ask(kPhysics, query, other).time);
}

// The correction of the machine that was measured is kept; the verdict is no better than `edge`.
TEST(HybridModel, AChangedDeviceKeepsTheCorrectionOfTheMeasuredOne) {
  const Device changed = hwdesc::load_device("tpu_v3", {{"hbm.bandwidth", "900GB/s"}});
  const KernelQuery query = query_of(rows(), 8);
  const Estimate before = ask(hybrid(), query, tpu()), after = ask(hybrid(), query, changed);
  EXPECT_DOUBLE_EQ(after.correction->factor, before.correction->factor);
  EXPECT_LT(after.time, before.time);
  EXPECT_EQ(after.correction->verdict, Verdict::kEdge);
}

// A field says that constants hold within the domain alone; no text does.
TEST(HybridModel, ConstantsThatAHybridFittedDoNotMoveWhatIsOutside) {
  const ir::Kernel unseen = large_product();
  Device slower = tpu();
  slower.calibration.matrix = 0.5;
  slower.calibration.source = "hybrid vigour";  // of a calibration all the same
  const KernelQuery query{.kernel = unseen};
  const Seconds described = ask(kPhysics, query, tpu()).time;
  EXPECT_EQ(ask(hybrid(), query, slower).time, ask(kPhysics, query, slower).time);
  EXPECT_GT(ask(hybrid(), query, slower).time, described);
  slower.calibration.source = "a fit";
  slower.calibration.fitted_by = hwdesc::FittedBy::kHybrid;
  EXPECT_EQ(ask(hybrid(), query, slower).time, described);
}

// What a description is called and where it stands is no part of the machine; every number is.
TEST(HybridModel, AMachineIsTheSameWhateverItIsCalled) {
  const Device renamed = hwdesc::parse_device(
      "extends: tpu_v3\nname: mine\ndescription: \"another text\"\n", "mine.yaml");
  EXPECT_EQ(renamed.machine, tpu().machine);
  EXPECT_NE(hwdesc::load_device("tpu_v3", {{"clock", "941MHz"}}).machine, tpu().machine);
  const KernelQuery query = query_of(rows(), 8);
  EXPECT_EQ(ask(hybrid(), query, renamed).correction->verdict, Verdict::kIn);
}

// Physics, twice as slow.
class Doubled final : public analytical::CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(std::span<const KernelQuery> queries,
                                                              const Device& device) const override {
    auto answers = kPhysics.estimate(queries, device);
    for (auto& answer : answers) answer->time = answer->time * 2;
    return answers;
  }
};

TEST(HybridModel, CorrectsThePriorItIsGiven) {
  const Doubled doubled;
  const HybridModel model(doubled, fit_to(rows(), tpu()).parts);
  const KernelQuery query = query_of(rows(), 8);
  EXPECT_EQ(ask(model, query, tpu()).correction->analytical, ask(kPhysics, query, tpu()).time * 2);
}

TEST(HybridModel, FullWeightBelievesTheCorrectionEverywhere) {
  const HybridModel everywhere(kPhysics, fit_to(rows(), tpu()).parts, full_weight);
  const Device other = hwdesc::load_device("tpu_v2");
  const KernelQuery query = query_of(rows(), 8);
  EXPECT_EQ(ask(everywhere, query, other).correction->weight, 1);
  EXPECT_EQ(ask(everywhere, query, other).correction->verdict, Verdict::kOut);
  EXPECT_EQ(ask(hybrid(), query, other).correction->weight, 0);
}

TEST(HybridModel, NamesNeighboursAndWhatDroveIt) {
  const auto reasons = hybrid().explain(query_of(rows(), 8), tpu());
  ASSERT_TRUE(reasons.has_value());
  ASSERT_FALSE(reasons->nearest_names.empty());
  EXPECT_EQ(reasons->nearest.size(), reasons->nearest_names.size());
  EXPECT_TRUE(std::ranges::is_sorted(reasons->nearest, {}, &Domain::Neighbour::distance));
  ASSERT_FALSE(reasons->drivers.empty());
  for (std::size_t i = 1; i < reasons->drivers.size(); ++i) {
    EXPECT_GE(std::abs(reasons->drivers[i - 1].effect), std::abs(reasons->drivers[i].effect));
  }
}

}  // namespace
}  // namespace tilecast::hybrid
