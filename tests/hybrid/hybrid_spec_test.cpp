#include "hybrid/hybrid_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hwdesc/config_reader.h"

namespace tilecast::hybrid {
namespace {

using learned::FeatureGroup;
using learned::LearnerSpec;
using testing::HasSubstr;

std::vector<LearnerSpec> learners() {
  std::vector<LearnerSpec> all;
  for (const char* text :
       {"{name: trees, model: xgboost, target: residual, features: [static, prior]}",
        "{name: deep, model: xgboost, target: residual, features: [static], depth: 9}",
        "{name: times, model: xgboost, features: [static]}",
        "{name: rank, model: xgboost, features: [static], objective: pairwise}"}) {
    all.push_back(learned::read_learner(hwdesc::read_config(text, "learners.yaml")));
  }
  return all;
}

HybridSpec read(const std::string& text) {
  return read_hybrid(hwdesc::read_config(text, "h.yaml"), learners());
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HybridSpec, ReadsEveryKey) {
  const HybridSpec spec = read(
      "{name: mine, calibrate: no, try: [deep, trees], trial_by: row, folds: 3, guard: no, "
      "seed: 7}");
  EXPECT_EQ(spec.name, "mine");
  EXPECT_FALSE(spec.calibrate);
  EXPECT_EQ(spec.weight, full_weight);
  ASSERT_EQ(spec.candidates.size(), 2U);
  EXPECT_EQ(spec.candidates[0].name, "deep");
  EXPECT_EQ(spec.candidates[0].gbt.depth, 9);
  EXPECT_EQ(spec.candidates[1].name, "trees");
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kRow);
  EXPECT_EQ(spec.folds, 3U);
  EXPECT_EQ(spec.seed, 7U);
}

TEST(HybridSpec, WithoutLearnersItTriesAProcessThenTreesOnTheResidual) {
  const HybridSpec read_one = read("{name: mine}");
  const HybridSpec made = default_hybrid("mine");
  for (const HybridSpec& spec : {read_one, made}) {
    EXPECT_TRUE(spec.calibrate);
    EXPECT_EQ(spec.weight, weight_of_trials);
    EXPECT_FALSE(spec.trial_by.has_value());
    ASSERT_EQ(spec.candidates.size(), 2U);
    EXPECT_EQ(spec.candidates[0].name, "process");
    EXPECT_EQ(spec.candidates[0].kind, learned::LearnerKind::kGaussianProcess);
    EXPECT_EQ(spec.candidates[1].name, "trees");
    EXPECT_EQ(spec.candidates[1].kind, learned::LearnerKind::kXgboost);
    for (const LearnerSpec& candidate : spec.candidates) {
      EXPECT_TRUE(candidate.target.residual);
      EXPECT_FALSE(candidate.ranks_only());
      EXPECT_THAT(candidate.features.groups, testing::Contains(FeatureGroup::kPrior));
    }
  }
}

TEST(HybridSpec, RefusesLearnersThatCannotCorrectPhysics) {
  EXPECT_EQ(message_of("{name: h, try: [trees]}"), "no error");
  EXPECT_THAT(message_of("{name: h, try: [tree]}"),
              HasSubstr("got 'tree', expected one of the learners: trees, deep, times, rank"));
  EXPECT_THAT(message_of("{name: h, try: [times]}"), HasSubstr("times predicts no residuals"));
  EXPECT_THAT(message_of("{name: h, try: [rank]}"), HasSubstr("rank only ranks tiles"));
  EXPECT_THAT(message_of("{name: h, try: [trees, trees]}"), HasSubstr("trees is tried twice"));
  EXPECT_THAT(message_of("{name: h, try: []}"), HasSubstr("h.yaml:1:11: try: expected a list"));
}

TEST(HybridSpec, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(message_of("{try: [trees]}"), HasSubstr("name is missing"));
  EXPECT_THAT(message_of("{name: h, fold: 5}"), HasSubstr("did you mean 'folds'?"));
  EXPECT_THAT(message_of("{name: h, guard: maybe}"), HasSubstr("got 'maybe', expected no, yes"));
  EXPECT_THAT(message_of("{name: h, folds: 1}"), HasSubstr("folds: got '1', expected a whole"));
  EXPECT_THAT(message_of("{name: h, trial_by: moon}"),
              HasSubstr("got 'moon', expected family, kernel, row"));
}

}  // namespace
}  // namespace tilecast::hybrid
