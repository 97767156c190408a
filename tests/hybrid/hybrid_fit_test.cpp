// A fit learns the errors of the analytical model, and does not correct it if it is right.
#include "hybrid/hybrid_fit.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "hwdesc/config_reader.h"
#include "tests/hybrid/corrected_set.h"
#include "tests/support/errors.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using hwdesc::Device;
using measured::SampleSet;
using testing::ElementsAre;
using testing::HasSubstr;

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

using learned::FeatureGroup;

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
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kKernel);
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
