// Is a search drawn from its ranges, halved as said, and the same every time?
#include "learned/training/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "tests/learned/synthetic_set.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

TEST(Search, DrawsFromItsRanges) {
  const std::vector<LearnerSpec> trials = draw_trials(small_trees(
      "search: {trials: 400, depth: [2, 5], learning_rate: [1e-3, 1e-1], lambda: [1, 2, 4]}\n"));
  ASSERT_EQ(trials.size(), 400U);
  std::map<int, int> depths;
  std::set<double> lambdas;
  int below_middle = 0;
  for (const LearnerSpec& trial : trials) {
    ++depths[trial.gbt.depth];
    lambdas.insert(trial.gbt.lambda);
    ASSERT_GE(trial.gbt.learning_rate, 1e-3);
    ASSERT_LE(trial.gbt.learning_rate, 1e-1);
    if (trial.gbt.learning_rate < 1e-2) ++below_middle;
  }
  EXPECT_EQ(lambdas, (std::set<double>{1, 2, 4}));
  ASSERT_EQ(depths.size(), 4U);
  // Binomial: five deviations.
  EXPECT_NEAR(depths.at(2), 100, 5 * std::sqrt(400 * 0.25 * 0.75));
  EXPECT_NEAR(below_middle, 200, 5 * std::sqrt(400 * 0.5 * 0.5)) << "uniform in the logarithm";
}

TEST(Search, DrawsWhatTheSeedSays) {
  const std::string yaml = "search: {trials: 6, learning_rate: [1e-3, 1e-1]}\n";
  const auto rates = [&](const std::string& seed) {
    std::vector<double> drawn;
    for (const LearnerSpec& trial : draw_trials(small_trees(yaml + "seed: " + seed + "\n"))) {
      drawn.push_back(trial.gbt.learning_rate);
    }
    return drawn;
  };
  EXPECT_EQ(rates("1"), rates("1"));
  EXPECT_NE(rates("1"), rates("2"));
}

TEST(Search, DrawsAgainWhatCannotBeTrained) {
  const std::string network = "name: n\nmodel: network\ngraph: gat\nheads: 4\n";
  for (const LearnerSpec& trial : draw_trials(
           learner(network + "hidden: 8\nsearch: {trials: 30, hidden: [6, 8, 10, 12]}\n"))) {
    EXPECT_EQ(trial.network.hidden % trial.network.heads, 0);
  }
  try {
    static_cast<void>(draw_trials(learner(network + "search: {trials: 3, hidden: [6, 10, 14]}\n")));
    FAIL() << "drew what cannot be trained";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("learner n: search: none of 100 draws can be trained"));
  }
}

TEST(Search, HalvesTrialsAndDoublesWhatTheyGet) {
  const std::vector<HalvingRound> plan = halving(9, 3, 60);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].trials, 9);
  EXPECT_EQ(plan[1].trials, 5);
  EXPECT_EQ(plan[2].trials, 3);
  EXPECT_EQ(plan[0].resource, 15);
  EXPECT_EQ(plan[1].resource, 30);
  EXPECT_EQ(plan[2].resource, 60);
  EXPECT_EQ(halving(1, 4, 2).front().resource, 1);
  EXPECT_EQ(halving(1, 4, 2).back().trials, 1);
}

// A fitter whose validation is a formula: the distance of depth from 7, less the more trees.
class Formula final : public Fitter {
 public:
  FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    const double validation = std::abs(spec.gbt.depth - 7) + 1.0 / spec.gbt.trees;
    if (hooks.step) hooks.step({spec.gbt.trees, 0, validation});
    fitted.emplace_back(spec.gbt.depth, spec.gbt.trees);
    return {nullptr, spec.gbt.depth == 12 ? std::nan("") : validation};
  }
  mutable std::vector<std::pair<int, int>> fitted;  // depth, trees
};

TEST(Search, KeepsTheBetterHalfAndReturnsTheBest) {
  const LearnerSpec spec =
      small_trees("search: {trials: 12, rounds: 2, depth: [3, 5, 6, 7, 9, 12]}\n");
  const Formula fitter;
  std::vector<SearchStep> steps;
  const SearchResult best =
      run_search(spec, fitter, 1, [&](const SearchStep& step) { steps.push_back(step); });
  ASSERT_EQ(fitter.fitted.size(), 12U + 6U);
  std::vector<int> first, second;
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(fitter.fitted[i].second, i < 12 ? 30 : 60);
    (i < 12 ? first : second).push_back(std::abs(fitter.fitted[i].first - 7));
  }
  std::ranges::sort(first);
  std::ranges::sort(second);
  for (std::size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second[i], first[i]);
  EXPECT_EQ(std::abs(best.spec.gbt.depth - 7), first.front());
  EXPECT_EQ(best.spec.gbt.trees, 60);
  EXPECT_DOUBLE_EQ(steps.back().done, 1);
  EXPECT_EQ(steps.back().round, 2);
}

TEST(Search, OfTreesIsLoggedAndTheSameAgain) {
  const SyntheticSet set;
  const LearnerSpec spec = small_trees(
      "early_stopping: 0\n"
      "search: {trials: 4, rounds: 2, depth: [2, 6], learning_rate: [0.01, 0.4]}\n",
      16);
  std::string last;
  const Trained one =
      train(spec, set.examples(), {.step = [&](const LearnerProgress& p) { last = p.what; }});
  const Trained two = train(spec, set.examples());
  EXPECT_EQ(one.predictor->trees()->model.save(), two.predictor->trees()->model.save());
  EXPECT_EQ(settings_of(one.spec), settings_of(two.spec));
  EXPECT_THAT(last, HasSubstr("of 4, round 2 of 2, tree 16"));
  EXPECT_EQ(std::ranges::count(one.training_csv, '\n'), 1 + 4 * 8 + 2 * 16);
  EXPECT_THAT(one.training_csv, HasSubstr("seconds,depth,learning_rate\n"));
}

}  // namespace
}  // namespace tilecast::learned
