// Where and by how much the analytical model is corrected, and the reported reasons.
#include "hybrid/hybrid_model.h"

#include <gmock/gmock.h>

#include "analytical/layout_rules.h"
#include "ir/kernels/kernel_sketch.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;
using hwdesc::Device;
using testing::HasSubstr;

const measured::SampleSet& rows() {
  static const measured::SampleSet set = corrected_set(tpu_v3(), 20, 6, by_size, 0.02);
  return set;
}

const HybridModel& hybrid() {
  static const HybridModel model(kPhysics, fit_to(rows(), tpu_v3()).parts);
  return model;
}

KernelQuery measured_query() {
  return query_of(rows(), 8);
}

// A kernel bound by the matrix unit; the measured kernels are sums.
ir::Kernel large_product() {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, analytical::layout_rules(tpu_v3()));
  const ir::OpId a = sketch.parameter(ir::DType::kBF16, {4096, 4096});
  const ir::OpId b = sketch.parameter(ir::DType::kBF16, {4096, 4096});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                  {4096, 4096}, ir::DType::kBF16)});
}

// A fully believed bag at places whose only kernel is `distances` reaches away.
HybridParts places_away(const KernelQuery& query, const std::vector<double>& distances) {
  HybridParts parts = fit_to(rows(), tpu_v3(), {.name = "hybrid"}).parts;
  const Estimate physics = ask(kPhysics, query, tpu_v3());
  Coordinates at = coordinates_of(physics);
  const float here = at.time;
  parts.known = {};
  for (const double distance : distances) {
    at.time = here + static_cast<float>(distance);
    parts.known.places().push_back({.device = tpu_v3().name,
                                    .source = "set",
                                    .reach = 1,
                                    .any = {.c = 0, .kinds = {kind_of(query.kernel, physics)}},
                                    .kernels = {{"k", at}}});
  }
  return parts;
}

TEST(HybridModel, IsPhysicsTimesTheFactorItReports) {
  for (std::size_t i = 0; i < rows().samples.size(); i += 7) {
    const KernelQuery query = query_of(rows(), i);
    const Estimate physics = ask(kPhysics, query, tpu_v3()), said = ask(hybrid(), query, tpu_v3());
    const auto reasons = hybrid().explain(query, tpu_v3());
    EXPECT_EQ(said.correction->analytical, physics.time);
    EXPECT_DOUBLE_EQ(said.time.value, physics.time.value * said.correction->factor);
    EXPECT_NEAR(said.correction->factor, std::exp(said.correction->weight * reasons->said.mean),
                1e-9);
    EXPECT_LE(said.correction->low, said.time);
    EXPECT_GE(said.correction->high, said.time);
    EXPECT_EQ(said.model, "hybrid");
  }
}

TEST(HybridModel, KnowsTheKernelsItWasTrainedOn) {
  const Estimate said = ask(hybrid(), measured_query(), tpu_v3());
  EXPECT_EQ(said.correction->verdict, Verdict::kIn);
  EXPECT_GT(said.correction->weight, 0);
  const auto reasons = hybrid().explain(measured_query(), tpu_v3());
  EXPECT_THAT(reasons->verdict, HasSubstr("among the kernels of synthetic on tpu_v3"));
  ASSERT_FALSE(reasons->nearest.empty());
  EXPECT_TRUE(std::ranges::is_sorted(reasons->nearest, {}, &Place::Neighbour::distance));
  EXPECT_FALSE(reasons->drivers.empty());
}

TEST(HybridModel, IsPhysicsAwayFromMeasuredKernels) {
  const ir::Kernel kernel = large_product();
  const KernelQuery query{.kernel = kernel};
  const Estimate said = ask(hybrid(), query, tpu_v3());
  EXPECT_EQ(said.correction->verdict, Verdict::kOut);
  EXPECT_EQ(said.correction->weight, 0);
  EXPECT_EQ(said.time, ask(kPhysics, query, tpu_v3()).time);
  EXPECT_THAT(hybrid().explain(query, tpu_v3())->verdict, HasSubstr("away from the kernels of"));
}

// The weight decreases linearly from 1 to 2 reaches.
TEST(HybridModel, BelievesLessTheFartherAKernelIs) {
  for (const double distance : {0.0, 0.5, 1.0, 1.25, 1.5, 1.99, 2.01, 9.0}) {
    const HybridModel model(kPhysics, places_away(measured_query(), {distance}));
    const auto correction = *ask(model, measured_query(), tpu_v3()).correction;
    EXPECT_NEAR(correction.weight, std::clamp(2 - distance, 0.0, 1.0), 1e-5) << distance;
    EXPECT_EQ(correction.verdict, distance <= 1  ? Verdict::kIn
                                  : distance < 2 ? Verdict::kEdge
                                                 : Verdict::kOut);
  }
}

TEST(HybridModel, PlacesShareWhatIsBelieved) {
  const auto asked = [](const std::vector<double>& distances) {
    const HybridModel model(kPhysics, places_away(measured_query(), distances));
    return *ask(model, measured_query(), tpu_v3()).correction;
  };
  EXPECT_NEAR(asked({1.75, 1.5}).weight, 0.25 + 0.5, 1e-5);
  for (const double distance : {0.2, 1.1, 1.21, 1.33, 1.4, 1.62, 1.7, 1.9}) {
    const auto correction = asked({0.5, distance, 1.3, 1.17, distance});
    EXPECT_NEAR(correction.weight, 1, 1e-12);
    EXPECT_EQ(correction.verdict, Verdict::kIn);  // independent of rounding in the sum of shares
  }
}

TEST(HybridModel, AMachineNeverMeasuredIsPhysicsAlone) {
  const Device other = hwdesc::load_device("tpu_v2");
  const Estimate said = ask(hybrid(), measured_query(), other);
  EXPECT_EQ(said.correction->verdict, Verdict::kOut);
  EXPECT_EQ(said.time, ask(kPhysics, measured_query(), other).time);
  EXPECT_EQ(hybrid().explain(measured_query(), other)->verdict,
            "this machine was not measured: physics alone");
  KernelQuery written = measured_query();
  written.writer = "tilecast";
  EXPECT_EQ(hybrid().explain(written, tpu_v3())->verdict,
            "code of this writer was not measured: physics alone");
}

// The measured machine's correction is kept; the verdict is at most `edge`.
TEST(HybridModel, AChangedDeviceKeepsTheCorrectionOfTheMeasuredOne) {
  const Device changed = hwdesc::load_device("tpu_v3", {{"hbm.bandwidth", "1800GB/s"}});
  const KernelQuery query{.kernel = measured_query().kernel};
  const Estimate before = ask(hybrid(), query, tpu_v3()), after = ask(hybrid(), query, changed);
  EXPECT_NE(before.correction->factor, 1);
  EXPECT_DOUBLE_EQ(after.correction->factor, before.correction->factor);
  EXPECT_LT(after.time, before.time);
  EXPECT_EQ(after.correction->verdict, Verdict::kEdge);
  EXPECT_THAT(hybrid().explain(query, changed)->verdict, HasSubstr("not as it was measured"));
}

// The name and path of a description do not identify the machine; its numbers do.
TEST(HybridModel, AMachineIsTheSameWhateverItIsCalled) {
  const Device renamed = hwdesc::parse_device(
      "extends: tpu_v3\nname: mine\ndescription: \"another text\"\n", "mine.yaml");
  EXPECT_EQ(renamed.machine, tpu_v3().machine);
  EXPECT_NE(hwdesc::load_device("tpu_v3", {{"clock", "941MHz"}}).machine, tpu_v3().machine);
  const Estimate said = ask(hybrid(), measured_query(), renamed);
  EXPECT_EQ(said.correction->verdict, Verdict::kIn);
  EXPECT_EQ(said.time, ask(hybrid(), measured_query(), tpu_v3()).time);
}

// If two devices were measured, a description counts as the first that it extends.
TEST(HybridModel, ADescriptionIsTheNearestThatItExtends) {
  Device mine = tpu_v3();
  mine.name = "mine";
  mine.lineage = {"tpu_v3"};
  HybridParts parts = places_away(measured_query(), {0.5});
  parts.devices.add(mine);
  parts.devices.add(tpu_v3());  // fit_to() inserted it first
  const HybridModel model(kPhysics, std::move(parts));
  EXPECT_EQ(ask(model, measured_query(), tpu_v3()).correction->verdict, Verdict::kIn);
  EXPECT_EQ(ask(model, measured_query(), mine).correction->weight, 0);  // no place belongs to it
}

// The analytical model with twice the time.
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
  const HybridModel model(doubled, fit_to(rows(), tpu_v3()).parts);
  EXPECT_EQ(ask(model, measured_query(), tpu_v3()).correction->analytical,
            ask(kPhysics, measured_query(), tpu_v3()).time * 2);
}

TEST(HybridModel, BelievesEverythingWhereItIsToldTo) {
  const HybridModel everywhere(kPhysics, fit_to(rows(), tpu_v3()).parts, Belief::kEverything);
  const Device other = hwdesc::load_device("tpu_v2");
  EXPECT_EQ(ask(everywhere, measured_query(), other).correction->weight, 1);
  EXPECT_EQ(ask(everywhere, measured_query(), other).correction->verdict, Verdict::kOut);
}

}  // namespace
}  // namespace tilecast::hybrid
