// A predictor gives its model's output for any batch, with the prior that it needs.
#include "learned/predictor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "analytical/analytical_model.h"
#include "tests/learned/synthetic_set.h"

namespace tilecast::learned {
namespace {

// A network that sums its inputs: opcodes are ignored, all features count.
class Sum final : public GraphNetwork {
 public:
  void predict(std::span<const GraphInput> inputs, std::span<float> out) const override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      out[i] = 0;
      for (const float value : inputs[i].graph->features) out[i] += value;
      for (const float value : inputs[i].at_nodes) out[i] += 10 * value;
      for (const float value : inputs[i].at_kernel) out[i] += 100 * value;
    }
  }
  [[nodiscard]] std::string save() const override { return "sum"; }
};

std::vector<float> features_of(const TableFeatures& features, const Examples& examples,
                               const hwdesc::Device& device) {
  std::vector<float> rows(examples.queries.size() * features.width());
  features.extract(examples.queries, device, examples.priors, rows);
  return rows;
}

TEST(TreePredictor, IsItsTreesOnTheScaleOfLogTimes) {
  const SyntheticSet set;
  const Examples examples = set.examples();
  const Trained trained = train(small_trees(), examples);
  const GbtPredictorParts& parts = *trained.predictor->trees();
  const std::vector<float> rows =
      features_of(TableFeatures(parts.features), examples, set.device());
  std::vector<float> margins(examples.rows.size());
  parts.model.predict(rows, margins);
  const std::vector<double> out = predictions(*trained.predictor, examples, set.device());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], double{margins[i]} * parts.target.deviation + parts.target.mean);
  }
  EXPECT_EQ(trained.predictor->network(), nullptr);
}

// Predicts twice the analytical time.
class TwiceAsLong final : public analytical::CostModel {
 public:
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override {
    auto answers = analytical::AnalyticalModel().estimate(queries, device);
    for (auto& answer : answers) answer->time = Seconds{2 * answer->time.value};
    return answers;
  }
};

TEST(TreePredictor, ReadsThePriorItIsGiven) {
  const SyntheticSet set(9, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  LearnerSpec spec = small_trees();
  spec.features = {{FeatureGroup::kPrior}, {}};
  const Trained trained = train(spec, examples);
  const Predictor& predictor = *trained.predictor;
  ASSERT_TRUE(predictor.needs_prior());
  const auto priors =
      priors_for(predictor, analytical::AnalyticalModel(), examples.queries, set.device());
  std::vector<double> given(examples.rows.size()), without(examples.rows.size());
  predictor.predict(examples.queries, set.device(), priors, given);
  EXPECT_EQ(given, predictions(predictor, examples, set.device()));
  const std::vector<std::optional<analytical::Estimate>> none(examples.rows.size());
  predictor.predict(examples.queries, set.device(), none, without);
  EXPECT_NE(without, given) << "a prior that is absent is missing";
  EXPECT_EQ(without.front(), without.back()) << "nothing tells the rows apart";
}

TEST(OnPrior, MultipliesTheTimesOfThePriorThatIsHandedIn) {
  const SyntheticSet set(9, 2);
  const Examples examples = set.examples(/*with_priors=*/true);
  LearnerSpec spec = small_trees();  // features without the prior
  spec.target.residual = true;
  const Trained trained = train(spec, examples);
  const auto times = [&](const analytical::CostModel& prior) {
    std::vector<double> out(examples.rows.size());
    trained.predictor->predict(
        examples.queries, set.device(),
        priors_for(*trained.predictor, prior, examples.queries, set.device()), out);
    return out;
  };
  const std::vector<double> once = times(analytical::AnalyticalModel()),
                            twice = times(TwiceAsLong());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i] - once[i], std::log(2), 1e-9);
}

TEST(OnPrior, TakesAQueryWithoutATileForThatWithThePriorsTile) {
  const SyntheticSet set(9, 2);
  LearnerSpec spec = small_trees();
  spec.features = {{FeatureGroup::kTile}, {}};
  spec.target.residual = true;
  const Examples examples = set.examples(/*with_priors=*/true);
  const Trained trained = train(spec, examples);
  const analytical::KernelQuery open{examples.queries.front().kernel};
  const auto priors = analytical::AnalyticalModel().estimate({&open, 1}, set.device());
  const analytical::KernelQuery stated{open.kernel, &priors.front()->tile};
  double of_open = 0, of_stated = 0;
  trained.predictor->predict({&open, 1}, set.device(), priors, {&of_open, 1});
  trained.predictor->predict({&stated, 1}, set.device(), priors, {&of_stated, 1});
  EXPECT_EQ(of_open, of_stated);
}

TEST(TreePredictor, SaysTheSameInAnyBatchAndOnAnyThread) {
  const SyntheticSet set(90, 15);  // more rows than one chunk of features
  const Examples examples = set.examples();
  ASSERT_GT(examples.rows.size(), 1024U);
  const Trained trained = train(small_trees({}, 10), examples);
  const std::vector<double> all = predictions(*trained.predictor, examples, set.device());
  for (const std::size_t i : {std::size_t{0}, std::size_t{700}, std::size_t{1100}}) {
    double alone = 0;
    trained.predictor->predict(std::span(examples.queries).subspan(i, 1), set.device(), {},
                               std::span(&alone, 1));
    EXPECT_EQ(alone, all[i]);
  }
  std::array<std::vector<double>, 2> threads;
  std::thread other([&] { threads[0] = predictions(*trained.predictor, examples, set.device()); });
  threads[1] = predictions(*trained.predictor, examples, set.device());
  other.join();
  EXPECT_EQ(threads[0], all);
  EXPECT_EQ(threads[1], all);
  trained.predictor->predict({}, set.device(), {}, {});
}

TEST(NetworkPredictor, ShowsItsNetworkScaledGraphsAndFeatures) {
  const SyntheticSet set(6, 3);
  const Examples examples = set.examples();
  const NetworkFeatures features{.at_nodes = {{FeatureGroup::kStatic}, {}},
                                 .at_kernel = {{FeatureGroup::kTile}, {}}};
  const TableFeatures at_nodes(features.at_nodes), at_kernel(features.at_kernel);
  std::vector<float> nodes;
  for (const analytical::KernelQuery& query : examples.queries) {
    const KernelGraph graph = make_graph(query.kernel, features.encoding);
    nodes.insert(nodes.end(), graph.features.begin(), graph.features.end());
  }
  const std::size_t width = node_schema(features.encoding).columns.size();
  std::vector<float> low = features_of(at_nodes, examples, set.device());
  std::vector<float> high = features_of(at_kernel, examples, set.device());
  const FeatureScaler node_scaler(nodes, width, true);
  const FeatureScaler low_scaler(low, at_nodes.width(), true);
  const FeatureScaler high_scaler(high, at_kernel.width(), true);
  const std::unique_ptr<Predictor> predictor =
      make_predictor(NetworkPredictorParts{.features = features,
                                           .spec = {},
                                           .node_scaler = node_scaler,
                                           .at_nodes_scaler = low_scaler,
                                           .at_kernel_scaler = high_scaler,
                                           .network = std::make_unique<Sum>(),
                                           .target = {.mean = 2, .deviation = 3},
                                           .ranks_only = false});
  const std::vector<double> out = predictions(*predictor, examples, set.device());
  low_scaler.apply(low);
  high_scaler.apply(high);
  for (std::size_t i = 0; i < out.size(); ++i) {
    KernelGraph graph = make_graph(examples.queries[i].kernel, features.encoding);
    node_scaler.apply(graph.features);
    float expected = 0;
    const std::span<const float> rows[] = {
        std::span<const float>(low).subspan(i * at_nodes.width(), at_nodes.width()),
        std::span<const float>(high).subspan(i * at_kernel.width(), at_kernel.width())};
    for (const float value : graph.features) expected += value;
    for (const float value : rows[0]) expected += 10 * value;
    for (const float value : rows[1]) expected += 100 * value;
    EXPECT_EQ(out[i], double{expected} * 3 + 2);
  }
  EXPECT_NE(out[0], out[1]) << "tiles of one kernel";
  EXPECT_EQ(predictor->trees(), nullptr);
  EXPECT_FALSE(predictor->needs_prior());
}

}  // namespace
}  // namespace tilecast::learned
