// Models and constants are scored on the same rows.
#include "learned/training/quantity_report.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/learned/synthetic_set.h"

namespace tilecast::learned {
namespace {

using ::testing::ElementsAre;

TEST(QuantityReport, ScoresAllColumnsOnTheSameRows) {
  const SyntheticSet set(20, 3);
  const Examples examples =
      set.examples(false, 1, {.quantity = "registers", .scale = TargetScale::kLog1p});
  const std::vector<double> values = quantity_values(examples);
  std::vector<double> right = values, off = values;
  for (double& value : off) value += 2;
  right[4] = std::nan("");
  const QuantityReport report = quantity_report(examples, {{"right", right}, {"off", off}});
  EXPECT_EQ(report.unanswered, 1U);
  EXPECT_THAT(report.columns, ElementsAre("right", "off"));
  ASSERT_EQ(report.strata.size(), 1U) << "one op class: no table of classes";
  const QuantityStratum& all = report.strata.front();
  EXPECT_EQ(all.rows, values.size() - 1);
  EXPECT_EQ(all.works, 20U);
  EXPECT_NEAR(all.scores[0]->rmse, 0, 1e-9);
  EXPECT_EQ(all.scores[0]->exact, 1);
  EXPECT_NEAR(all.scores[1]->rmse, 2, 1e-9);
  EXPECT_NEAR(all.scores[1]->mean_absolute, 2, 1e-9);
  EXPECT_EQ(all.scores[1]->exact, 0);
}

TEST(QuantityReport, AsksAPredictorInItsUnit) {
  const SyntheticSet set(40, 3);
  const LearnerSpec spec = small_trees("target: registers\ntarget_scale: log1p\nvalidation: 0\n");
  const Examples examples = set.examples(false, 1, spec.target);
  const Trained trained = train(spec, examples);
  EXPECT_EQ(quantity_answers(*trained.predictor, examples),
            predictions(*trained.predictor, examples, set.device()));
  const QuantityReport report =
      quantity_report(examples, {{"trees", quantity_answers(*trained.predictor, examples)}});
  EXPECT_LT(report.strata.front().scores[0]->mean_absolute, 0.5);
}

}  // namespace
}  // namespace tilecast::learned
