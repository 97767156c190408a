// Networks through all steps of a learner: trained, saved and loaded, with equal predictions.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "learned/training/learner.h"
#include "measured/measurement_set.h"
#include "tests/learned/synthetic_set.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

LearnerSpec small_network(const std::string& more = {}, int epochs = 3) {
  return learner(
      fmt::format("name: net\nmodel: network\nhidden: 8\nopcode_width: 4\nhops: 1\nat_nodes: "
                  "[static]\nat_kernel: [tile]\nepochs: {}\nbatch: 16\n{}",
                  epochs, more));
}

std::string weights_of(const Trained& trained) {
  return trained.predictor->network()->network->save();
}

// The model saved and loaded again; it predicts the same.
LoadedModel reloaded(const Trained& trained, const SyntheticSet& set, const Examples& examples) {
  trained.save({}, set.path("model"), /*force=*/true);
  LoadedModel loaded = load_model(set.path("model"));
  EXPECT_EQ(predictions(*loaded.predictor, examples, set.device()),
            predictions(*trained.predictor, examples, set.device()));
  return loaded;
}

TEST(NetworkLearner, PredictsTheSameAfterItWasSavedAndLoaded) {
  const SyntheticSet set(12, 3);
  const Examples examples = set.examples();
  const LoadedModel loaded = reloaded(train(small_network(), examples), set, examples);
  EXPECT_EQ(loaded.card.kind, "network");
  EXPECT_EQ(loaded.card.settings, settings_of(small_network()));
  EXPECT_EQ(loaded.card.versions.at(0).first, "LibTorch");
  EXPECT_EQ(loaded.predictor->network()->spec.hidden, 8);
}

// Every text network, as listed in docs/learning.md.
TEST(TextLearner, PredictsTheSameAfterItWasSavedAndLoaded) {
  const SyntheticSet set(12, 3);
  const Examples examples = set.examples();
  const std::string text =
      "name: text\nmodel: network\nencoding: text\nhidden: 8\nopcode_width: 8\nepochs: 2\n";
  for (const std::string network :
       {"graph: none\nhops: 0\npool_max: no\nhead_layers: 3\n",
        "graph: conv1d\nhops: 6\npool_mean: no\nhead_layers: 2\ntext_tokens: operands\n"
        "wide_filter: 4\ntext_numbers: value\ntext_shapes: dimensions\n",
        "graph: none\nhops: 0\nreduction: lstm\ntext: loops\n",
        "graph: none\nhops: 0\nreduction: transformer\npositions: yes\nat_kernel: [static]\n"}) {
    SCOPED_TRACE(network);
    const Trained trained = train(learner(text + network), examples);
    const LoadedModel loaded = reloaded(trained, set, examples);
    EXPECT_EQ(weights_of(train(learner(text + network), examples)), weights_of(trained));
    ASSERT_NE(vocabulary_of(*loaded.predictor), nullptr);
  }
}

// Trees of schedules: a graph per tile.
TEST(NetworkLearner, ReadsSchedulesAndPredictsTheSameAfterItWasLoaded) {
  const SyntheticSet set(8, 3);
  const Examples examples = set.examples();
  const LearnerSpec spec = learner(
      "name: gcn\nmodel: network\nencoding: schedule\ngraph: gcn\ntop_down: yes\nencoder: no\n"
      "hops: 1\naggregate: max\nhidden: 8\nopcode_width: 4\npool_max: no\nhead_layers: 2\n"
      "head_width: 16\nloss: huber\nplateau: 2\nepochs: 4\nbatch: 8\nvalidate_by: row\n");
  const Trained trained = train(spec, examples);
  EXPECT_EQ(reloaded(trained, set, examples).card.settings, settings_of(spec));
  const std::vector<double> once = predictions(*trained.predictor, examples, set.device());
  EXPECT_NE(once[0], once[1]) << "tiles of one kernel";
  EXPECT_EQ(weights_of(train(spec, examples, {.threads = 2})), weights_of(trained));
}

TEST(NetworkLearner, ReadsCurvesAloneAndPredictsTheSameAfterItWasLoaded) {
  const SyntheticSet set(8, 3);
  const Examples examples = set.examples();
  const Trained trained = train(
      learner("name: curve\nmodel: network\nat_kernel: [curve]\nreduction: none\nscale: linear\n"
              "head_layers: 2\nhead_width: 16\nepochs: 3\nbatch: 8\nvalidate_by: row\n"),
      examples);
  (void)reloaded(trained, set, examples);
}

TEST(NetworkLearner, IsTheSameFromTheSameSeedAndAnotherFromAnother) {
  const SyntheticSet set(12, 3);
  const Examples examples = set.examples();
  const auto weights = [&](const std::string& more, int threads) {
    return weights_of(train(small_network(more), examples, {.threads = threads}));
  };
  const std::string one = weights("seed: 3\n", 1);
  EXPECT_EQ(weights("seed: 3\n", 2), one);
  EXPECT_NE(weights("seed: 4\n", 1), one);
}

TEST(NetworkLearner, RanksOnTopOfPhysics) {
  const SyntheticSet set(12, 4);
  const Examples examples = set.examples(/*with_priors=*/true);
  const Trained trained = train(
      small_network("target: residual\nloss: rank_hinge\nvalidation: 0\nlearning_rate: 1e-7\n", 1),
      examples);
  EXPECT_TRUE(trained.predictor->ranks_only());
  const std::vector<double> scores = predictions(*trained.predictor, examples, set.device());
  LearnerSpec alone = trained.spec;
  alone.target.residual = false;
  const std::vector<double> network =
      predictions(*train(alone, examples).predictor, examples, set.device());
  for (std::size_t i = 0; i < scores.size(); ++i) {  // hardly trained: the score is analytical
    EXPECT_NEAR(scores[i] - network[i], std::log(examples.priors[i]->time.value), 1e-3);
  }
}

TEST(NetworkLearner, ScalesByItsTrainingRowsAlone) {
  const SyntheticSet set(16, 2);
  const Examples examples = set.examples();
  const Trained trained = train(small_network(), examples);
  ASSERT_GT(trained.validation_rows, 0U);
  const NetworkPredictorParts& parts = *trained.predictor->network();
  std::vector<float> nodes;
  const Examples seen = examples.subset(trained.split.train);
  for (const analytical::KernelQuery& query : seen.queries) {
    const KernelGraph graph = make_graph(query.kernel, parts.features.encoding);
    nodes.insert(nodes.end(), graph.features.begin(), graph.features.end());
  }
  const FeatureSchema& schema = node_schema(parts.features.encoding);
  EXPECT_EQ(parts.node_scaler.to_csv(schema),
            FeatureScaler(nodes, schema.columns.size(), true).to_csv(schema));
  const TableFeatures features(parts.features.at_nodes);
  std::vector<float> rows(seen.rows.size() * features.width());
  features.extract(seen.queries, set.device(), {}, rows);
  EXPECT_EQ(parts.at_nodes_scaler.to_csv(features.schema()),
            FeatureScaler(rows, features.width(), true).to_csv(features.schema()));
}

TEST(NetworkLearner, LearnsTimes) {
  const SyntheticSet set(24, 2);
  const Examples examples = set.examples();
  const Trained trained = train(
      small_network("validation: 0\nlearning_rate: 0.02\ndecay: 1\nl2_norm: no\n", 60), examples);
  double mean = 0;
  for (const Example& row : examples.rows) mean += row.target / 48;
  EXPECT_LT(rmse(predictions(*trained.predictor, examples, set.device()), examples),
            0.3 * rmse(std::vector<double>(48, mean), examples));
}

TEST(NetworkLearner, WithoutKernelFeaturesHasNoScalersOfThem) {
  const SyntheticSet set(10, 2);
  const Trained trained =
      train(learner("name: bare\nmodel: network\nhidden: 8\nepochs: 1\nloss: rank_hinge\n"),
            set.examples());
  EXPECT_TRUE(trained.predictor->ranks_only());
  trained.save({}, set.path("model"), /*force=*/false);
  EXPECT_TRUE(std::filesystem::exists(set.path("model/scaler_node.csv")));
  EXPECT_FALSE(std::filesystem::exists(set.path("model/scaler_at_nodes.csv")));
  EXPECT_TRUE(load_model(set.path("model")).predictor->ranks_only());
}

TEST(NetworkLearner, SearchesAndLogsEpochs) {
  const SyntheticSet set(12, 2);
  const Trained trained = train(
      small_network("search: {trials: 2, rounds: 1, hidden: [4, 8, 12]}\n", 2), set.examples());
  EXPECT_THAT(trained.training_csv, HasSubstr("\n1,1,1,"));
  EXPECT_THAT(trained.training_csv, HasSubstr("\n2,1,2,"));
  EXPECT_EQ(trained.predictor->network()->spec.hidden, trained.spec.network.hidden);
}

TEST(NetworkLearner, ResumesFromItsCheckpointToTheSameBits) {
  const SyntheticSet set(12, 2);
  const Examples examples = set.examples();
  const std::string whole = weights_of(train(small_network(), examples));
  const std::string checkpoint = set.path("checkpoint");
  const LearnerHooks stopping{.step =
                                  [](const LearnerProgress& progress) {
                                    if (progress.what == "epoch 2 of 3") throw Error("stop");
                                  },
                              .checkpoint = checkpoint};
  EXPECT_THROW((void)train(small_network(), examples, stopping), Error);
  ASSERT_TRUE(std::filesystem::exists(checkpoint));
  const LearnerHooks resuming{.checkpoint = checkpoint};
  const Trained resumed = train(small_network(), examples, resuming);
  EXPECT_EQ(weights_of(resumed), whole);
  EXPECT_EQ(std::ranges::count(resumed.training_csv, '\n'), 1 + 3) << "past epochs are told again";
  EXPECT_THROW((void)train(small_network("seed: 2\n"), examples, resuming), Error)
      << "of another training";
}

TEST(NetworkLearner, DamagedFilesAreNamed) {
  const SyntheticSet set(10, 1);
  const Trained trained = train(small_network({}, 1), set.examples());
  trained.save({}, set.path("model"), /*force=*/false);
  const auto message = [&] {
    return support::error_of([&] { return load_model(set.path("model")); }, "loaded");
  };
  const std::string card = support::bytes_of(set.path("model/model.yaml"));
  for (const std::string name : {"weights.bin", "scaler_node.csv", "scaler_at_kernel.csv"}) {
    const std::string path = set.path("model/" + name), bytes = support::bytes_of(path);
    std::string changed = bytes;
    changed.resize(changed.size() - 3);
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_THAT(message(), HasSubstr(name + ": is not the file that was saved"));
    std::string fitting = card.substr(0, card.rfind("check: "));
    const std::string hash = measured::content_hash(bytes);
    fitting.replace(fitting.find(hash), hash.size(), measured::content_hash(changed));
    std::ofstream(set.path("model/model.yaml"))
        << fitting << "check: " << measured::content_hash(fitting) << "\n";
    EXPECT_THAT(message(), HasSubstr(name)) << "the reader of the file refuses it";
    std::ofstream(path, std::ios::binary) << bytes;
    std::ofstream(set.path("model/model.yaml")) << card;
    EXPECT_EQ(message(), "loaded");
  }
}

}  // namespace
}  // namespace tilecast::learned
