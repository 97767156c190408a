// A search draws from its ranges, halves as specified, and is reproducible.
#include "learned/training/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "learned/training/learner_parameters.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

TEST(Search, DrawsFromItsRanges) {
  const LearnerSpec spec = small_trees(
      "search: {trials: 401, depth: [2, 5], learning_rate: [1e-3, 1e-1], lambda: [1, 2, 4]}\n");
  std::vector<LearnerSpec> trials = draw_trials(spec);
  ASSERT_EQ(trials.size(), 401U);
  EXPECT_EQ(settings_of(trials.front()), settings_of(spec)) << "the first as it is written";
  trials.erase(trials.begin());
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

TEST(Search, HalvesTheStepsOfNetworksThatTrainByThem) {
  LearnerSpec spec = learner("name: n\nmodel: network\nepochs: 7\nsteps: 50\n");
  EXPECT_EQ(resource_of(spec), 50);
  set_resource(spec, 12);
  EXPECT_EQ(spec.training.steps, 12);
  EXPECT_EQ(spec.training.epochs, 7);
}

// Kaufman et al., MLSys 2021: Table 5, then the rows of Tables 6 (tiles) and 7 (fusion). A network
// without a graph has module layers instead of hops.
constexpr const char* kTable5 =
    "name: n\nmodel: network\nopcode_width: 256\nneighbours: 20\naggregate: mean\n"
    "final_layers: 3\npool_mean: yes\npool_max: yes\nbiases: no\nsteps: 1000000\n";
constexpr const char* kTables6And7[] = {
    "graph: none, hops: 0, reduction: per_node, hidden: 512, l2_norm: no, module_layers: 3, "
    "learning_rate: 0.000802, decay: 1.0, clip: 0, dropout: 0.1, loss: rank_hinge",
    "graph: none, hops: 0, reduction: column_wise, hidden: 1024, l2_norm: no, module_layers: 3, "
    "learning_rate: 0.000642, decay: 1.0, clip: 0, dropout: 0.1, loss: rank_hinge",
    "graph: none, hops: 0, reduction: lstm, hidden: 512, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000434, decay: 0.99, clip: 1, dropout: 0.1, loss: rank_hinge",
    "graph: none, hops: 0, reduction: transformer, hidden: 1024, l2_norm: no, module_layers: 0, "
    "reduction_layers: 3, heads: 4, learning_rate: 0.000424, decay: 0.99, clip: 1, dropout: 0.1, "
    "loss: rank_hinge",
    "graph: sage, hops: 3, reduction: per_node, hidden: 512, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.001526, decay: 1.0, clip: 0, dropout: 0.1, loss: rank_hinge",
    "graph: sage, hops: 3, reduction: column_wise, hidden: 1024, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000642, decay: 1.0, clip: 0, dropout: 0.1, loss: rank_logistic",
    "graph: sage, hops: 3, reduction: lstm, hidden: 1024, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000386, decay: 0.98, clip: 1, dropout: 0.1, loss: rank_hinge",
    "graph: sage, hops: 3, reduction: transformer, hidden: 1024, l2_norm: no, module_layers: 0, "
    "reduction_layers: 1, heads: 4, learning_rate: 0.000466, decay: 1.0, clip: 1, dropout: 0.1, "
    "loss: rank_hinge",
    "graph: gat, hops: 3, reduction: per_node, hidden: 512, l2_norm: no, module_layers: 0, heads: "
    "2, learning_rate: 0.00001, decay: 1.00, clip: 1, dropout: 0.1, loss: rank_hinge",
    "graph: gat, hops: 3, reduction: column_wise, hidden: 512, l2_norm: no, module_layers: 0, "
    "heads: 4, learning_rate: 0.00001, decay: 1.00, clip: 1, dropout: 0.1, loss: rank_hinge",
    "graph: gat, hops: 3, reduction: lstm, hidden: 512, l2_norm: no, module_layers: 0, heads: 4, "
    "learning_rate: 0.00001, decay: 0.99, clip: 1, dropout: 0.1, loss: rank_hinge",
    "graph: gat, hops: 3, reduction: transformer, hidden: 512, l2_norm: no, module_layers: 0, "
    "reduction_layers: 2, heads: 4, learning_rate: 0.00001, decay: 1.00, clip: 1, dropout: 0.1, "
    "loss: rank_hinge",
    "graph: none, hops: 0, reduction: per_node, hidden: 512, l2_norm: no, module_layers: 3, "
    "learning_rate: 0.000214, decay: 0.95, clip: 0, dropout: 0.2, loss: log_time",
    "graph: none, hops: 0, reduction: column_wise, hidden: 512, l2_norm: no, module_layers: 3, "
    "learning_rate: 0.000102, decay: 1.0, clip: 0, dropout: 0.25, loss: log_time",
    "graph: none, hops: 0, reduction: lstm, hidden: 512, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000144, decay: 1.0, clip: 0, dropout: 0.25, loss: log_time",
    "graph: none, hops: 0, reduction: transformer, hidden: 512, l2_norm: yes, module_layers: 0, "
    "reduction_layers: 1, heads: 4, learning_rate: 0.000862, decay: 1.0, clip: 1, dropout: 0.25, "
    "loss: log_time",
    "graph: sage, hops: 3, reduction: per_node, hidden: 512, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000664, decay: 0.9, clip: 0, dropout: 0.2, loss: log_time",
    "graph: sage, hops: 3, reduction: column_wise, hidden: 1024, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000469, decay: 0.9, clip: 0, dropout: 0.2, loss: log_time",
    "graph: sage, hops: 3, reduction: lstm, hidden: 1024, l2_norm: no, module_layers: 0, "
    "learning_rate: 0.000962, decay: 0.9, clip: 0, dropout: 0.2, loss: log_time",
    "graph: sage, hops: 3, reduction: transformer, hidden: 512, l2_norm: yes, module_layers: 0, "
    "reduction_layers: 2, heads: 4, learning_rate: 0.000768, decay: 1.0, clip: 0, dropout: 0.2, "
    "loss: log_time",
    "graph: gat, hops: 3, reduction: per_node, hidden: 1024, l2_norm: no, module_layers: 0, heads: "
    "2, learning_rate: 0.000002, decay: 0.90, clip: 0, dropout: 0.25, loss: log_time",
    "graph: gat, hops: 3, reduction: column_wise, hidden: 1024, l2_norm: no, module_layers: 0, "
    "heads: 2, learning_rate: 0.000004, decay: 0.95, clip: 0, dropout: 0.2, loss: log_time",
    "graph: gat, hops: 3, reduction: lstm, hidden: 1024, l2_norm: no, module_layers: 0, heads: 2, "
    "learning_rate: 0.000006, decay: 0.95, clip: 0, dropout: 0.25, loss: log_time",
    "graph: gat, hops: 3, reduction: transformer, hidden: 512, l2_norm: no, module_layers: 0, "
    "reduction_layers: 2, heads: 2, reduction_heads: 4, learning_rate: 0.000001, decay: 1.00, "
    "clip: 1, dropout: 0.2, "
    "loss: log_time"};

TEST(Search, EverySettingOfThePublishedTablesCanBeWritten) {
  for (const std::string row : kTables6And7) {
    std::string yaml = kTable5;
    for (std::size_t at = 0; at < row.size();) {
      const std::size_t end = std::min(row.find(", ", at), row.size());
      yaml += row.substr(at, end - at) + "\n";
      at = end + 2;
    }
    const LearnerSpec spec = learner(yaml);
    EXPECT_EQ(spec.network.final_layers, 3) << row;
    EXPECT_FALSE(spec.network.biases);
    EXPECT_GE(spec.network.hidden, 512);
    EXPECT_EQ(spec.training.steps, 1'000'000);
    const std::map<std::string, std::string> settings = settings_of(spec);
    EXPECT_EQ(settings.at("module_layers"), spec.network.module_layers == 3 ? "3" : "0") << row;
  }
}

TEST(Search, DrawsWhatTheSeedSays) {
  const std::string yaml = "search: {trials: 6, learning_rate: [1e-3, 1e-1]}\n";
  const auto rates = [&](const std::string& seed) {
    std::vector<double> drawn;
    for (const LearnerSpec& trial : draw_trials(small_trees(yaml + "seed: " + seed + "\n"))) {
      drawn.push_back(trial.gbt.learning_rate);
    }
    drawn.erase(drawn.begin());  // the unchanged spec
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
  EXPECT_THAT(support::error_of([&] {
                return draw_trials(learner(network + "search: {trials: 3, hidden: [6, 10, 14]}\n"));
              }),
              HasSubstr("learner n: search: none of 100 draws can be trained"));
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

// A fitter whose validation is a formula: |depth - 7|, plus a term that decreases with more trees.
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
