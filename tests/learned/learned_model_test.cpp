// A trained model as a cost model: predictions inside its domain, never faster than light.
#include "learned/learned_model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const analytical::AnalyticalModel kPhysics;

// Predicts the same log time for all queries.
class Constant final : public Predictor {
 public:
  explicit Constant(double log_seconds, bool ranks = false)
      : log_seconds_(log_seconds), ranks_(ranks) {}
  [[nodiscard]] bool ranks_only() const override { return ranks_; }
  [[nodiscard]] bool needs_prior() const override { return false; }
  void predict(std::span<const analytical::KernelQuery>, const hwdesc::Device&, Priors,
               std::span<double> out) const override {
    std::ranges::fill(out, log_seconds_);
  }

 private:
  double log_seconds_;
  bool ranks_;
};

LoadedModel constant(double log_seconds, bool ranks = false) {
  ModelCard card{.name = "constant", .kind = "xgboost"};
  card.op_classes = {"dot"};
  card.devices = {"tpu_v3"};
  return {std::move(card), std::make_unique<Constant>(log_seconds, ranks)};
}

TEST(LearnedModel, SaysWhatItsPredictorSays) {
  const SyntheticSet set(3, 2);
  const Examples examples = set.examples();
  const LearnedModel model(constant(std::log(0.25)), kPhysics);
  const auto answers = model.estimate(examples.queries, set.device());
  const auto roofs = analytical::RooflineModel().estimate(examples.queries, set.device());
  ASSERT_EQ(answers.size(), examples.queries.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]);
    EXPECT_NEAR(answers[i]->time.value, 0.25, 1e-12);
    EXPECT_EQ(answers[i]->model, "learned");
    EXPECT_EQ(answers[i]->speed_of_light, roofs[i]->time);
    EXPECT_EQ(answers[i]->bounds, roofs[i]->bounds);
    EXPECT_EQ(answers[i]->tile, *examples.queries[i].tile);
    EXPECT_DOUBLE_EQ(answers[i]->utilisation, roofs[i]->time.value / answers[i]->time.value);
    EXPECT_THAT(answers[i]->flags, Contains(HasSubstr("bounds are the roofline's")));
    EXPECT_THAT(answers[i]->flags, Not(Contains(HasSubstr("not trained on"))));
  }
}

TEST(LearnedModel, IsHeldAtTheSpeedOfLight) {
  const SyntheticSet set(3, 2);
  const Examples examples = set.examples();
  const LearnedModel model(constant(std::log(1e-12)), kPhysics);
  for (const auto& answer : model.estimate(examples.queries, set.device())) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->time, answer->speed_of_light);
    EXPECT_DOUBLE_EQ(answer->utilisation, 1);
    EXPECT_THAT(answer->flags, Contains(HasSubstr("speed of light")));
  }
}

TEST(LearnedModel, DoesNotAnswerClassesItNeverSaw) {
  const SyntheticSet set(2, 1);
  LoadedModel loaded = constant(0);
  loaded.card.op_classes = {"loop_fusion"};
  const Examples examples = set.examples();
  const LearnedModel model(std::move(loaded), kPhysics);
  for (const auto& answer : model.estimate(examples.queries, set.device())) {
    EXPECT_FALSE(answer);
  }
}

TEST(LearnedModel, SaysThatItWasNotTrainedOnADevice) {
  const SyntheticSet set(1, 1);
  const Examples examples = set.examples();
  const LearnedModel model(constant(0), kPhysics);
  const auto answers = model.estimate(examples.queries, hwdesc::load_device("tpu_v4"));
  ASSERT_TRUE(answers.at(0));
  EXPECT_THAT(answers[0]->flags, Contains("not trained on tpu_v4"));
}

TEST(LearnedModel, RefusesModelsThatOnlyRankAndTimesThatAreNone) {
  EXPECT_THAT(
      support::error_of([&] { const LearnedModel model(constant(0, /*ranks=*/true), kPhysics); }),
      HasSubstr("model constant: was trained to rank"));
  const SyntheticSet set(1, 1);
  const Examples examples = set.examples();
  for (const double log_seconds : {1e4, std::nan("")}) {
    const LearnedModel model(constant(log_seconds), kPhysics);
    EXPECT_THROW((void)model.estimate(examples.queries, set.device()), Error);
  }
}

TEST(RankModel, ScoresAsItsPredictorDoesAndOnlyWhatItKnows) {
  const SyntheticSet set(2, 3);
  const Examples examples = set.examples();
  const ir::Kernel& kernel = examples.queries.front().kernel;
  const std::vector<analytical::TileConfig> tiles(3);
  for (const bool ranks : {false, true}) {
    const RankModel model(constant(0.5, ranks), kPhysics);
    EXPECT_THAT(model.scores(kernel, tiles, set.device()), ::testing::Each(std::optional(0.5)));
    EXPECT_EQ(model.scores(kernel, tiles, set.device()).size(), 3U);
  }
  LoadedModel other = constant(0.5, true);
  other.card.op_classes = {"reduce"};
  EXPECT_THAT(RankModel(std::move(other), kPhysics).scores(kernel, tiles, set.device()),
              ::testing::Each(std::nullopt));
}

TEST(LearnedModel, OfATrainedLearnerIsCloserThanTheRoofline) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const Trained trained = train(small_trees("validation: 0\n"), examples);
  trained.save({}, set.path("model"), /*force=*/false);
  const LearnedModel model(load_model(set.path("model")), kPhysics);
  std::vector<double> learned, roofs;
  for (const auto& answer : model.estimate(examples.queries, set.device())) {
    learned.push_back(std::log(answer.value().time.value));
    roofs.push_back(std::log(answer->speed_of_light.value));
  }
  EXPECT_LT(rmse(learned, examples), 0.1 * rmse(roofs, examples));
}

}  // namespace
}  // namespace tilecast::learned
