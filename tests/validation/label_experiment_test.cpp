// Learners of labels are trained on one side and scored on the other, with the stated formulas.
#include "validation/label_experiment.h"

#include <gmock/gmock.h>

#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::validation {
namespace {

using ::testing::HasSubstr;

std::string yaml(const std::string& set, const std::string& more = {}) {
  return fmt::format(
      "format: tilecast.label_experiment/1\nname: n\nclaim: c\ndevice: tpu_v3\nset: {}\n"
      "split: {{by: kernel, test: 25 %, seed: 3, seeds: 2}}\n"
      "targets: [{{name: registers}}, {{name: runtime}}]\nphysics: [prior]\n"
      "learners:\n"
      "  - {{name: counts, model: xgboost, features: [tokens, tile], trees: 80, depth: 4}}\n"
      "  - {{name: size, model: xgboost, features: [static], trees: 10}}\n{}",
      set, more);
}

TEST(LabelErrors, AreSharesOfTheRangeAndOfRowsThatRoundToTheLabel) {
  const std::vector<double> predicted = {1.2, 4.6, 3.0, 8.0}, labels = {1, 3, 4, 9};
  learned::Target target{.quantity = "registers", .unit = "registers", .count = true};
  const LabelErrors errors = label_errors(target, 8, predicted, labels);
  const double mean_square = (0.2 * 0.2 + 1.6 * 1.6 + 1 + 1) / 4;
  EXPECT_NEAR(errors.rmse, std::sqrt(mean_square) / 8, 1e-12);
  EXPECT_DOUBLE_EQ(*errors.exact, 1.0 / 4);
  EXPECT_DOUBLE_EQ(*errors.spearman, 1 - 6 * (1 + 1) / (4.0 * (16 - 1)));  // the middle two swapped
  target.count = false;
  EXPECT_FALSE(label_errors(target, 8, predicted, labels).exact);
  EXPECT_FALSE(label_errors(target, 8, predicted, std::vector<double>(4, 2.0)).spearman);
}

TEST(LabelExperiment, SaysWhatIsWrongAndWhere) {
  const auto message = [](const std::string& text) -> std::string {
    return support::error_of([&] { return parse_label_experiment(text, "e.yaml"); }, "read");
  };
  EXPECT_EQ(message(yaml("x")), "read");
  EXPECT_THAT(message(yaml("x", "other: 1\n")), HasSubstr("other"));
  EXPECT_THAT(message(yaml("x",
                           "bars: [{target: spills, learner: size, metric: rmse, at_most: 7 "
                           "%}]\n")),
              HasSubstr("none of the targets"));
  EXPECT_THAT(message(yaml("x",
                           "bars: [{target: registers, learner: no, metric: rmse, at_most: 7 "
                           "%}]\n")),
              HasSubstr("none of the learners"));
  EXPECT_THAT(message(yaml("x",
                           "bars: [{target: registers, learner: size, metric: exact, at_most: "
                           "7 %}]\n")),
              HasSubstr("at_least"));
}

TEST(LabelExperiment, ScoresEveryLearnerOnEveryTargetWithAndWithoutPhysics) {
  const learned::SyntheticSet set(40, 3);
  const LabelExperiment experiment = parse_label_experiment(
      yaml(set.path("."),
           "bars: [{target: registers, learner: counts, metric: rmse, at_most: 20 %},\n"
           "       {target: registers, learner: counts, metric: rmse, at_most: 20 %, physics: "
           "yes}]\n"),
      "e.yaml");
  const LabelResult result = run_label_experiment(experiment, {.threads = 2}).value();
  ASSERT_EQ(result.scores.size(), 2U * (1 + 2 * 2) + 1)
      << "targets x (the mean + learners x physics), and physics alone of times";
  const LabelScore& mean = result.scores[0];
  const LabelScore& counts = result.scores[1];
  EXPECT_EQ(mean.learner, "mean");
  EXPECT_EQ(counts.learner, "counts");
  EXPECT_FALSE(counts.physics);
  EXPECT_TRUE(result.scores[2].physics);
  EXPECT_LT(counts.rmse, mean.rmse);
  EXPECT_TRUE(counts.exact.has_value());
  ASSERT_TRUE(counts.unknown_tokens.has_value());
  EXPECT_GT(*counts.unknown_tokens, 0) << "sizes that no training kernel has";
  EXPECT_FALSE(mean.unknown_tokens.has_value());
  EXPECT_EQ(result.scores[5].target, "runtime");
  EXPECT_EQ(result.scores[6].learner, "analytical");
  EXPECT_GT(result.scores[6].spearman.value(), 0.5) << "its times are physics' with noise";
  EXPECT_FALSE(result.scores[7].exact.has_value()) << "times are no counts";
  ASSERT_EQ(result.bars.size(), 2U);
  EXPECT_EQ(*result.bars[1].value, result.scores[2].rmse);
  EXPECT_EQ(*result.bars[0].value, std::min(counts.rmse, result.scores[2].rmse));
  EXPECT_EQ(result.bars[0].met, *result.bars[0].value <= 0.2);

  base::Jobs how{.threads = 1, .journal = ::testing::TempDir() + "labels.journal"};
  std::filesystem::remove(how.journal);
  std::size_t done = 0;
  how.stop = [&] { return done >= 4; };
  (void)run_label_experiment(  // stops at some point
      experiment, how, nullptr, [&](std::size_t now, std::size_t) { done = now; });
  EXPECT_GE(done, 4U);
  how.stop = {};
  how.resume = true;
  const LabelResult again = run_label_experiment(experiment, how).value();
  ASSERT_EQ(again.scores.size(), result.scores.size());
  for (std::size_t i = 0; i < result.scores.size(); ++i) {
    EXPECT_EQ(again.scores[i].rmse, result.scores[i].rmse) << "whatever the threads";
    EXPECT_EQ(again.scores[i].spearman, result.scores[i].spearman);
    EXPECT_EQ(again.scores[i].unknown_tokens, result.scores[i].unknown_tokens);
    EXPECT_EQ(again.scores[i].test_rows, result.scores[i].test_rows);
  }
}

}  // namespace
}  // namespace tilecast::validation
