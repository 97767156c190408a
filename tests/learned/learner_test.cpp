// Learners are read strictly, and training is reproducible and effective.
#include "learned/training/learner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "learned/learned_model.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string message(const std::string& yaml) {
  return support::error_of([&] { return learner(yaml); }, "read");
}

// The settings as YAML.
std::string yaml_of(const LearnerSpec& spec) {
  std::string yaml;
  for (const auto& [key, value] : settings_of(spec)) yaml += key + ": " + value + "\n";
  return yaml;
}

constexpr const char* kTrees = "name: t\nmodel: xgboost\nfeatures: [static]\n";
constexpr const char* kNetwork = "name: n\nmodel: network\n";

TEST(Learner, IsReadWithEveryKey) {
  const LearnerSpec trees = learner(
      "name: a-1\nmodel: xgboost\nfeatures: [tile, parameters]\nparameters: [block_x, y]\n"
      "validation: 20 %\nvalidate_by: family\nseed: 12\ndepth: 9\nobjective: pairwise\n"
      "search: {trials: 8, rounds: 3, depth: [3, 9], learning_rate: [1e-3, 0.1, 0.2]}\n");
  EXPECT_EQ(trees.name, "a-1");
  EXPECT_EQ(trees.kind, LearnerKind::kXgboost);
  EXPECT_EQ(trees.features,
            (FeatureSelection{{FeatureGroup::kTile, FeatureGroup::kParameters}, {"block_x", "y"}}));
  EXPECT_DOUBLE_EQ(trees.validation, 0.2);
  EXPECT_EQ(trees.validate_by, ValidateBy::kFamily);
  EXPECT_EQ(trees.seed, 12U);
  EXPECT_EQ(trees.gbt.depth, 9);
  EXPECT_TRUE(trees.ranks_only());
  EXPECT_EQ(trees.search.trials, 8);
  EXPECT_EQ(trees.search.rounds, 3);
  ASSERT_EQ(trees.search.ranges.size(), 2U);
  EXPECT_TRUE(trees.search.ranges[0].range);
  EXPECT_FALSE(trees.search.ranges[1].range) << "three values are a list";
  const LearnerSpec network = learner(
      "name: n\nmodel: network\nat_nodes: [static]\nat_kernel: [prior]\nscale: linear\n"
      "encoding: schedule\ngraph: gat\nhidden: 32\nheads: 2\nloss: rank_hinge\n");
  EXPECT_EQ(network.network_features.at_nodes.groups, std::vector{FeatureGroup::kStatic});
  EXPECT_EQ(network.network_features.at_kernel.groups, std::vector{FeatureGroup::kPrior});
  EXPECT_FALSE(network.network_features.logarithmic);
  EXPECT_EQ(network.network_features.encoding, GraphEncoding::kSchedule);
  EXPECT_EQ(network.network.graph, GraphLayer::kGat);
  EXPECT_EQ(network.network.hidden, 32);
  EXPECT_TRUE(network.ranks_only() && network.needs_prior());
  EXPECT_FALSE(learner(kNetwork).needs_prior());
}

TEST(Learner, SettingsReadBackEqual) {
  for (const std::string& yaml :
       {std::string(kTrees), std::string(kNetwork),
        std::string(kTrees) + "target: spills\ntarget_scale: log1p\n",
        std::string("name: 'null'\nmodel: xgboost\nfeatures: [parameters, ops]\n"
                    "parameters: ['a: b', \"\\\"\"]\nvalidation: 0.3\nseed: 4294967295\n"
                    "learning_rate: 0.07\nsearch: {trials: 3, depth: [2, 4, 6]}\n"),
        std::string("name: n\nmodel: network\nat_nodes: [tile, machine]\nscale: linear\n"
                    "reduction: lstm\nlearning_rate: 0.003\nsearch: {trials: 4, rounds: 1, "
                    "learning_rate: [1e-4, 1e-2], graph: [gat, sage]}\n")}) {
    const LearnerSpec spec = learner(yaml), again = learner(yaml_of(spec));
    EXPECT_EQ(settings_of(again), settings_of(spec)) << yaml;
    EXPECT_EQ(again.features, spec.features);
    EXPECT_EQ(again.network_features.at_nodes, spec.network_features.at_nodes);
    EXPECT_EQ(again.seed, spec.seed);
    EXPECT_EQ(again.validation, spec.validation);
    EXPECT_EQ(again.gbt.learning_rate, spec.gbt.learning_rate);
    EXPECT_EQ(again.training.learning_rate, spec.training.learning_rate);
    EXPECT_EQ(again.search.ranges.size(), spec.search.ranges.size());
  }
}

TEST(Learner, MistakesNameTheirPlace) {
  const std::string trees = kTrees, network = kNetwork;
  EXPECT_EQ(message(trees), "read");
  EXPECT_THAT(message(trees + "dept: 3\n"), HasSubstr("learner.yaml:4:1: dept: unknown key"));
  EXPECT_THAT(message(trees + "dept: 3\n"), HasSubstr("did you mean 'depth'?"));
  EXPECT_THAT(message(trees + "depth: 300\n"), HasSubstr("learner.yaml:4:1: depth: got '300'"));
  EXPECT_THAT(message(trees + "graph: sage\n"), HasSubstr("graph: unknown key"))
      << "a key of networks";
  EXPECT_THAT(message(network + "features: [static]\n"), HasSubstr("features: unknown key"));
  EXPECT_THAT(message("model: xgboost\n"), HasSubstr("name is missing"));
  EXPECT_THAT(message("name: a\n"), HasSubstr("model is missing; expected xgboost or network"));
  EXPECT_THAT(message("name: a\nmodel: forest\n"),
              HasSubstr("learner.yaml:2:1: model: got 'forest', expected xgboost, network"));
  EXPECT_THAT(message("name: a/../b\nmodel: network\n"), HasSubstr("learner.yaml:1:1: name"));
  EXPECT_THAT(message("name: a\nmodel: xgboost\n"), HasSubstr("features is missing"));
  EXPECT_THAT(message("name: a\nmodel: xgboost\nfeatures: [node]\n"),
              HasSubstr("learner.yaml:3:12: got 'node'"));
  EXPECT_THAT(message("name: a\nmodel: xgboost\nfeatures: [tile, tile]\n"),
              HasSubstr("learner.yaml:3:1: features: "));
  EXPECT_THAT(message(trees + "parameters: [x]\n"), HasSubstr("learner.yaml:4:1: parameters"));
  EXPECT_THAT(message(trees + "validation: 1\n"), HasSubstr("learner.yaml:4:1: validation"));
  EXPECT_THAT(message(trees + "seed: -1\n"), HasSubstr("learner.yaml:4:1: seed"));
  EXPECT_THAT(message(network + "graph: gat\nhidden: 64\nheads: 3\n"), HasSubstr("heads: got 3"));
  EXPECT_THAT(message(network + "pool_mean: no\npool_max: no\n"), HasSubstr("without a pool"));
}

TEST(Learner, MistakesInASearchNameTheirPlace) {
  const std::string trees = kTrees;
  EXPECT_THAT(message(trees + "search: {trials: 2}\n"), HasSubstr("no parameter to search"));
  EXPECT_THAT(message(trees + "search: {depth: [1, 2]}\n"), HasSubstr("trials is missing"));
  EXPECT_THAT(message(trees + "search: {trials: 2, dept: [1, 2]}\n"),
              HasSubstr("learner.yaml:4:21: dept: unknown key"));
  EXPECT_THAT(message(trees + "search: {trials: 2, depth: [2, 99]}\n"),
              HasSubstr("learner.yaml:4:32: got '99'"));
  EXPECT_THAT(message(trees + "search: {trials: 2, depth: [4, 2]}\n"), HasSubstr("that grows"));
  EXPECT_THAT(message(trees + "search: {trials: 2, trees: [4, 8]}\n"), HasSubstr("rounds"));
  EXPECT_THAT(message(trees + "search: {trials: 2, objective: [log_time, pairwise]}\n"),
              HasSubstr("do not compare"));
  EXPECT_THAT(message(trees + "validation: 0\nsearch: {trials: 2, depth: [4, 8]}\n"),
              HasSubstr("validation is 0"));
}

TEST(Learner, TreesBeatTheMean) {
  const SyntheticSet set(100, 2);
  const Examples examples = set.examples();
  const Trained trained = train(small_trees(), examples);
  const Examples held = examples.subset(trained.split.validation);
  double mean = 0;
  for (const std::size_t row : trained.split.train) {
    mean += examples.rows[row].target / static_cast<double>(trained.split.train.size());
  }
  const double got = rmse(predictions(*trained.predictor, held, set.device()), held);
  EXPECT_LT(got, 0.5 * rmse(std::vector<double>(held.rows.size(), mean), held));
}

TEST(Learner, AnotherQuantityIsAnsweredInItsUnit) {
  const SyntheticSet set(60, 3);
  for (const char* scale : {"identity", "log1p"}) {
    const LearnerSpec spec =
        small_trees(fmt::format("target: registers\ntarget_scale: {}\nvalidation: 0\n", scale));
    const Examples examples = set.examples(false, 1, spec.target);
    const Trained trained = train(spec, examples);
    EXPECT_EQ(trained.predictor->target(), examples.target);
    EXPECT_EQ(trained.card.predicts.unit, "registers");
    const std::vector<double> got = predictions(*trained.predictor, examples, set.device());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], unscaled(examples.target, examples.rows[i].target), 0.5) << scale;
    }
  }
}

TEST(Learner, ExamplesOfAnotherQuantityAreRefused) {
  const SyntheticSet set(4, 3);
  EXPECT_THAT(
      support::error_of([&] { return train(small_trees("target: registers\n"), set.examples()); }),
      HasSubstr("target: got registers, but the examples are of time"));
}

TEST(Learner, ATargetThatCannotBeLearnedIsRefused) {
  EXPECT_EQ(learner(std::string(kTrees) + "target: runtime\n").target, Target{});
  EXPECT_EQ(learner(std::string(kTrees) + "target: spills\ntarget_scale: log1p\n").target,
            (Target{.quantity = "spills", .unit = "", .scale = TargetScale::kLog1p}));
  EXPECT_THAT(message(std::string(kTrees) + "target: residual\ntarget_scale: log1p\n"),
              HasSubstr("times are learned as logarithms"));
  EXPECT_THAT(message(std::string(kTrees) + "target: spills\nobjective: pairwise\n"),
              HasSubstr("a loss that ranks tiles by time cannot learn 'spills'"));
}

TEST(Learner, AResidualIsAddedToThePhysicsThatGoesWithIt) {
  const SyntheticSet set(100, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  const LearnerSpec spec = small_trees("target: residual\nvalidation: 0\n");
  ASSERT_TRUE(spec.needs_prior());
  Examples ratios = examples;
  for (std::size_t i = 0; i < ratios.rows.size(); ++i) {
    ratios.rows[i].target -= std::log(examples.priors[i]->time.value);
  }
  const Trained residual = train(spec, examples);
  const Trained of_ratios = train(small_trees("validation: 0\n"), ratios);
  const std::vector<double> got = predictions(*residual.predictor, examples, set.device());
  const std::vector<double> corrections = predictions(*of_ratios.predictor, examples, set.device());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_DOUBLE_EQ(got[i], corrections[i] + std::log(examples.priors[i]->time.value));
  }
  const std::vector<std::optional<analytical::Estimate>> none(examples.rows.size());
  std::vector<double> without(examples.rows.size());
  residual.predictor->predict(examples.queries, set.device(), none, without);
  EXPECT_TRUE(std::ranges::all_of(without, [](double x) { return std::isnan(x); }));
}

TEST(Learner, TreesFitWhatTheyAreTrainedOn) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const Trained trained = train(small_trees("validation: 0\n"), examples);
  EXPECT_EQ(trained.train_rows, examples.rows.size());
  EXPECT_LT(rmse(predictions(*trained.predictor, examples, set.device()), examples), 0.05);
}

TEST(Learner, ValidatesOnRowsItDoesNotTrainOn) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const Trained trained = train(small_trees("validation: 0.25\n"), examples);
  EXPECT_EQ(trained.train_rows + trained.validation_rows, examples.rows.size());
  EXPECT_GE(trained.validation_rows, examples.rows.size() / 4);
  std::set<std::uint32_t> kernels;
  for (const std::size_t row : trained.split.train) kernels.insert(examples.rows[row].kernel);
  for (const std::size_t row : trained.split.validation) {
    EXPECT_FALSE(kernels.contains(examples.rows[row].kernel));
  }
}

TEST(Learner, TheTimesOfValidationRowsDoNotChangeTheScaleOfTargets) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const LearnerSpec spec = small_trees("early_stopping: 0\n");
  const Trained trained = train(spec, examples);
  Examples other = examples;
  for (const std::size_t row : trained.split.validation) other.rows[row].target += 3;
  const Trained again = train(spec, other);
  EXPECT_EQ(again.split.train, trained.split.train);
  EXPECT_EQ(again.predictor->trees()->target.mean, trained.predictor->trees()->target.mean);
  EXPECT_EQ(again.predictor->trees()->target.deviation,
            trained.predictor->trees()->target.deviation);
}

TEST(Learner, GivesTheSameTreesOnAnyNumberOfThreads) {
  const SyntheticSet set;
  const Examples examples = set.examples(/*with_priors=*/true);
  LearnerSpec spec = small_trees();
  spec.features.groups.push_back(FeatureGroup::kPrior);
  const Trained one = train(spec, examples, {.threads = 1});
  const Trained two = train(spec, examples, {.threads = 2});
  EXPECT_EQ(one.predictor->trees()->model.save(), two.predictor->trees()->model.save());
}

TEST(Learner, TwoAtOnceAreAsAlone) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const LearnerSpec first = small_trees("seed: 4\n"), second = small_trees("seed: 9\n");
  const std::string alone[] = {train(first, examples).predictor->trees()->model.save(),
                               train(second, examples).predictor->trees()->model.save()};
  std::string together[2];
  std::thread other(
      [&] { together[1] = train(second, examples).predictor->trees()->model.save(); });
  together[0] = train(first, examples).predictor->trees()->model.save();
  other.join();
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], alone[1]);
}

TEST(Learner, RanksTilesWithoutTimes) {
  const SyntheticSet set(24, 6);
  const Examples examples = set.examples();
  const Trained trained = train(small_trees("objective: pairwise\n"), examples);
  EXPECT_TRUE(trained.predictor->ranks_only());
  EXPECT_EQ(trained.predictor->trees()->target.mean, 0);
  EXPECT_EQ(trained.predictor->trees()->target.deviation, 1);
  const std::vector<double> scores = predictions(*trained.predictor, examples, set.device());
  int in_order = 0, pairs = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (examples.rows[i].kernel != examples.rows[i - 1].kernel) continue;
    ++pairs;
    if (scores[i] < scores[i - 1]) ++in_order;  // larger tiles are faster
  }
  EXPECT_GT(in_order, 0.9 * pairs);
}

TEST(Learner, RanksBesideSquaresCorrectPhysicsToTimes) {
  const SyntheticSet set(40, 6);
  const Examples examples = set.examples(/*with_priors=*/true);
  for (const char* objective : {"pairwise", "all_pairs"}) {
    const LearnerSpec spec = small_trees(std::string("target: residual\nrank_weight: 0.5\n"
                                                     "validation: 0\nobjective: ") +
                                         objective + "\n");
    EXPECT_TRUE(spec.ranks() && !spec.ranks_only());
    const Trained trained = train(spec, examples);
    EXPECT_FALSE(trained.predictor->ranks_only());
    EXPECT_FALSE(trained.card.ranks_only);
    const std::vector<double> got = predictions(*trained.predictor, examples, set.device());
    std::vector<double> physics;
    for (const auto& prior : examples.priors) physics.push_back(std::log(prior->time.value));
    EXPECT_LT(rmse(got, examples), 0.3 * rmse(physics, examples)) << objective;
    int in_order = 0, pairs = 0;
    for (std::size_t i = 1; i < got.size(); ++i) {
      if (examples.rows[i].kernel != examples.rows[i - 1].kernel) continue;
      ++pairs;
      if ((got[i] < got[i - 1]) == (examples.rows[i].target < examples.rows[i - 1].target)) {
        ++in_order;
      }
    }
    EXPECT_GT(in_order, 0.9 * pairs) << objective;
  }
}

TEST(Learner, RefusesTooFewRows) {
  const SyntheticSet set(7, 1);
  EXPECT_THAT(support::error_of([&] { return train(small_trees(), set.examples()); }),
              HasSubstr("got 7 rows"));
}

TEST(Learner, ReadsParametersOnlyByTheNamesOfTheData) {
  SyntheticSet set;
  Examples examples = set.examples();
  const std::vector<float> values{1, 2};
  std::vector<analytical::KernelQuery> queries;
  for (const analytical::KernelQuery& query : examples.queries) {
    queries.push_back({.kernel = query.kernel, .tile = query.tile, .parameters = values});
  }
  examples.queries.swap(queries);
  examples.parameter_names = {{"unroll", "block"}};
  LearnerSpec spec = small_trees();
  spec.features = {{FeatureGroup::kParameters, FeatureGroup::kStatic}, {"unroll", "block"}};
  EXPECT_GT(train(spec, examples).predictor->trees()->model.trees(), 0);
  spec.features.parameters = {"block", "unroll"};
  EXPECT_THAT(support::error_of([&] { return train(spec, examples); }),
              HasSubstr("learner trees: parameters: got [block, unroll], but the "
                        "data has [unroll, block]"));
}

TEST(Learner, TellsItsProgressAndLogsEveryStep) {
  const SyntheticSet set;
  std::vector<LearnerProgress> told;
  const Trained trained =
      train(small_trees("early_stopping: 0\n", 20), set.examples(),
            {.step = [&](const LearnerProgress& step) { told.push_back(step); }});
  ASSERT_EQ(told.size(), 20U);
  EXPECT_EQ(told[11].what, "tree 12 of 20");
  EXPECT_DOUBLE_EQ(told[11].done, 12.0 / 20);
  EXPECT_GT(told.front().validation, told.back().validation);
  EXPECT_EQ(std::ranges::count(trained.training_csv, '\n'), 21);
  EXPECT_THAT(trained.training_csv, ::testing::StartsWith("trial,round,step,loss,validation,"));
}

TEST(Learner, KnowsWhatItWasTrainedOn) {
  const SyntheticSet set;
  const Trained trained = train(small_trees("seed: 5\n"), set.examples());
  EXPECT_EQ(trained.card.kind, "xgboost");
  EXPECT_EQ(trained.card.seed, 5U);
  EXPECT_EQ(trained.card.op_classes, std::vector<std::string>{"dot"});
  EXPECT_EQ(trained.card.devices, std::vector<std::string>{"tpu_v3"});
  EXPECT_EQ(trained.card.families.size(), 5U);
  EXPECT_EQ(trained.card.settings, settings_of(small_trees("seed: 5\n")));
}

// --- A trained model as a cost model: predictions inside its domain, never faster than light.

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
