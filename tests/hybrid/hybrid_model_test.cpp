// Where and by how much the analytical model is corrected, and the reported reasons.
#include "hybrid/hybrid_model.h"

#include <gmock/gmock.h>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/config_reader.h"
#include "hybrid/hybrid_fit.h"
#include "ir/kernels/kernel_sketch.h"
#include "tests/hybrid/corrected_set.h"
#include "tests/support/errors.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::Verdict;
using hwdesc::Device;
using learned::FeatureGroup;
using measured::SampleSet;
using testing::ElementsAre;
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
                                    .kernels = std::vector<KnownKernel>{{"k", at}}});
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

// --- A fit learns the errors of the analytical model, and does not correct it if it is right.

// Mean |log error| of the rows of `set`.
double error_on(const SampleSet& set, const analytical::CostModel& model) {
  const auto predictions = measured::predict(set, model, tpu_v3());
  double sum = 0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    sum += std::abs(std::log(predictions[i].on_device / set.samples[i].measured));
  }
  return sum / static_cast<double>(predictions.size());
}

TEST(FitHybrid, LearnsWhatPhysicsMisses) {
  const SampleSet set = corrected_set(tpu_v3(), 20, 6, by_size, 0.02);
  FittedHybrid fitted = fit_to(set, tpu_v3());
  EXPECT_EQ(fitted.rows, 120U);
  EXPECT_EQ(fitted.kernels, 20U);
  EXPECT_LT(fitted.report.after, 0.5 * fitted.report.before);
  EXPECT_EQ(fitted.report.worse, 0U);
  const HybridModel model(kPhysics, std::move(fitted.parts));
  EXPECT_LT(error_on(set, model), 0.3 * error_on(set, kPhysics));
}

// A correction learned from noise must cost less than the noise itself.
TEST(FitHybrid, NoiseIsNotBelieved) {
  constexpr double kNoise = 0.1;
  int believed = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    FittedHybrid fitted = fit_to(product_set(tpu_v3(), 60, seed, kNoise), tpu_v3());
    believed += fitted.report.believed > 0 ? 1 : 0;
    const HybridModel model(kPhysics, std::move(fitted.parts));
    const SampleSet fresh = product_set(tpu_v3(), 100, seed + 100, kNoise);
    EXPECT_LT(error_on(fresh, model), error_on(fresh, kPhysics) + 0.01) << seed;
  }
  EXPECT_LE(believed, 2);
}

// For kernels from the same distribution as the fitted ones.
TEST(FitHybrid, IntervalsHoldNineOfTenNewKernels) {
  constexpr double kNoise = 0.1;
  const SampleSet seen = product_set(tpu_v3(), 200, 1, kNoise);
  const SampleSet fresh = product_set(tpu_v3(), 300, 2, kNoise);
  const HybridModel model(kPhysics, fit_to(seen, tpu_v3()).parts);
  double inside = 0, width = 0;
  const auto answers = measured::predict(fresh, model, tpu_v3());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double time = fresh.samples[i].measured.value;
    inside += time >= answers[i].interval->low && time <= answers[i].interval->high ? 1 : 0;
    width += std::log(answers[i].interval->high / answers[i].interval->low);
  }
  const auto count = static_cast<double>(answers.size());
  EXPECT_GT(inside / count, 0.87);
  EXPECT_LT(width / count, 1.6 * 2 * 1.645 * kNoise);  // 90 % of normal errors: +-1.645 sigma
}

TEST(FitHybrid, FewRowsNeverHurt) {
  for (const double slope : {0.0, 0.3}) {
    const SampleSet all = corrected_set(
        tpu_v3(), 10, 6, [&](const Estimate& e) { return slope * std::log(e.time.value / 10e-6); },
        0.1);
    SampleSet few = all;
    few.samples.clear();
    for (std::size_t i = 0; i < kLeastFitted; ++i) few.samples.push_back(all.samples[i * 7]);
    const HybridModel model(kPhysics, fit_to(few, tpu_v3()).parts);
    EXPECT_LE(error_on(all, model), error_on(all, kPhysics) + 0.02);
  }
}

TEST(FitHybrid, NeedsRowsOfSingleKernels) {
  SampleSet set = synthetic_set(tpu_v3(), 10, 1);
  for (std::size_t i = 0; i < 3; ++i) set.works[i].parts.push_back(set.works[i].parts.front());
  EXPECT_THAT(support::error_of<learned::TooFewRows>([&] { return fit_to(set, tpu_v3()); }),
              HasSubstr("got 7 rows of single kernels that physics answers, "
                        "expected at least 8; left out: 3 of programs"));
}

// Every device, writer and set is a place, with a rule from its own trials.
TEST(FitHybrid, WhatIsWrongOnOneDeviceIsNotBelievedOfAnother) {
  const Device other = hwdesc::load_device("tpu_v2");
  const auto half = [](const Estimate& e) { return by_size(e) / 2; };  // more would seem throttled
  const std::vector<SampleSet> sets{corrected_set(tpu_v3(), 12, 3, half, 0.02),
                                    synthetic_set(other, 12, 3, 0.02)};
  FittedHybrid fitted =
      fit_hybrid(kPhysics, small_hybrid(), sets, std::vector{tpu_v3(), other}, {});
  for (const SetApart& apart : fitted.apart) ADD_FAILURE() << apart.text();
  const std::vector<Place>& places = fitted.parts.known.places();
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].device, "tpu_v3");
  EXPECT_LT(places[0].same.c, kPhysicsAlone);
  EXPECT_EQ(places[1].device, "tpu_v2");
  EXPECT_EQ(places[1].same.c, kPhysicsAlone);
  EXPECT_THAT(fitted.card.devices, ElementsAre("tpu_v3", "tpu_v2"));
}

TEST(FitHybrid, TheCardSaysWhatItStandsOn) {
  const SampleSet set = corrected_set(tpu_v3(), 12, 4, by_size, 0.02);
  const FittedHybrid fitted = fit_to(set, tpu_v3());
  EXPECT_EQ(fitted.card.kind, "physics");
  EXPECT_THAT(fitted.card.op_classes, ElementsAre("loop_fusion"));
  ASSERT_EQ(fitted.card.data.size(), 1U);
  EXPECT_EQ(fitted.card.data.front().train, set.samples.size());
  ASSERT_EQ(fitted.card.metrics.size(), 2U);  // of all rows, of the class
  EXPECT_EQ(fitted.card.metrics.front().value, fitted.report.after / 100);
  EXPECT_EQ(fitted.card.metrics.front().baseline, fitted.report.before / 100);
  EXPECT_EQ(fitted.card.metrics.back().of, "groups left out, class loop_fusion");
}
}  // namespace
namespace {

HybridSpec read(const std::string& text) {
  return read_hybrid(hwdesc::read_config(text, "h.yaml"));
}

std::string message_of(const std::string& text) {
  return support::error_of([&] { return read(text); });
}

TEST(HybridSpec, ReadsEveryKey) {
  const HybridSpec spec =
      read("{name: mine, features: [prior, tile], trial_by: row, members: 4, guard: no, seed: 7}");
  EXPECT_EQ(spec.name, "mine");
  EXPECT_THAT(spec.features.value(), ElementsAre(FeatureGroup::kPrior, FeatureGroup::kTile));
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kRow);
  EXPECT_EQ(spec.members, 4U);
  EXPECT_EQ(spec.belief, Belief::kEverything);
  EXPECT_EQ(spec.seed, 7U);
}

TEST(HybridSpec, ANameIsEnough) {
  const HybridSpec spec = read("{name: mine}");
  EXPECT_FALSE(spec.features.has_value());
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kFamily);
  EXPECT_EQ(spec.members, BagSpec{}.members);
  EXPECT_EQ(spec.belief, Belief::kRules);
  EXPECT_EQ(read("{name: mine, guard: yes}").belief, Belief::kRules);
}

TEST(HybridSpec, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(message_of("[mine]"), HasSubstr("h.yaml:1:1: expected {name: ...}"));
  EXPECT_THAT(message_of("{seed: 1}"), HasSubstr("name is missing"));
  EXPECT_THAT(message_of("{name: ''}"), HasSubstr("h.yaml:1:2: name: expected a text"));
  EXPECT_THAT(message_of("{name: h, member: 5}"), HasSubstr("did you mean 'members'?"));
  EXPECT_THAT(message_of("{name: h, guard: maybe}"), HasSubstr("got 'maybe', expected no, yes"));
  EXPECT_THAT(message_of("{name: h, trial_by: moon}"),
              HasSubstr("got 'moon', expected family, kernel, row"));
  for (const char* members : {"3", "33", "nan", "1e300", "-4"}) {
    EXPECT_THAT(message_of(std::string("{name: h, members: ") + members + "}"),
                HasSubstr("expected a whole number from 4 to 32"));
  }
}

// Columns describe whole kernels, and are the same for every measurement set.
TEST(HybridSpec, RefusesGroupsThatAreNoColumnsOfKernels) {
  for (const char* group : {"node", "tokens", "parameters", "trees"}) {
    EXPECT_THAT(message_of(std::string("{name: h, features: [prior, ") + group + "]}"),
                HasSubstr(std::string("h.yaml:1:29: got '") + group));
  }
  EXPECT_THAT(message_of("{name: h, features: []}"), HasSubstr("features: expected a list"));
}
}  // namespace
}  // namespace tilecast::hybrid
