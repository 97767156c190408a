// Networks learn to order the runs of graphs, and predict the same after saving.
#include "learned/training/graph_training.h"

#include <gmock/gmock.h>

#include "tests/learned/graph_set_folder.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

GraphTraining training(const GraphSetFolder& folder, const std::string& more = {},
                       const std::string& learner = {}, int epochs = 40) {
  folder.write("training.yaml",
               "format: tilecast.graph_training/1\nname: t\nsets: [.]\n" + more +
                   "learner: {name: net, model: network, hidden: 16, opcode_width: 4, hops: 1, "
                   "epochs: " +
                   std::to_string(epochs) + ", batch: 16, learning_rate: 5e-3" + learner + "}\n");
  return read_graph_training(folder.path() + "/training.yaml");
}

double tau(const TrainedGraphs& trained) {
  const std::pair<std::string, const GraphModel*> column("net", &trained.model);
  const measured::Evaluation scores =
      measured::evaluate(score_sheet(trained.test, std::span(&column, 1)));
  return scores.strata.front().columns.front()[measured::Metric::kTileTau].value.value();
}

std::string refusal(const std::function<void()>& act) {
  return support::error_of([&] { act(); }, "accepted");
}

TEST(GraphTraining, OrdersHeldOutRunsByTheirConfigurationUnderEveryLoss) {
  for (const bool configures_nodes : {false, true}) {
    const GraphSetFolder folder("graphs_to_learn", configures_nodes);
    for (const char* loss : {"log_time", "rank_hinge"}) {
      const GraphTraining spec = training(folder, {}, std::string(", loss: ") + loss);
      const TrainedGraphs trained = train_graphs(spec);
      EXPECT_GT(tau(trained), 0.8) << loss << " " << configures_nodes;
      EXPECT_EQ(trained.model.ranks_only, spec.learner.ranks_only());
      EXPECT_EQ(trained.graphs, 2U);
      EXPECT_EQ(trained.test_runs, 2 * 24U);
      EXPECT_EQ(trained.validation_runs, 2 * 12U);
      EXPECT_EQ(trained.train_runs, 2 * 84U);
    }
  }
}

TEST(GraphTraining, PredictsTheTimesOfGraphsItHasNotSeen) {
  const GraphSetFolder folder("unseen_graphs", /*configures_nodes=*/false, /*graphs=*/6, 40);
  const TrainedGraphs trained =
      train_graphs(training(folder,
                            "split: {by: graph, validation: 0 %, test: 20 %}\n"
                            "config: at_kernel\n"));
  ASSERT_EQ(trained.test.graphs.size(), 1U);
  const GraphRuns& runs = trained.test.graphs.front();
  EXPECT_EQ(trained.train_runs, 5 * 40U);
  const std::vector<double> predicted = trained.model.predict(runs);
  for (std::size_t i = 0; i < runs.times.size(); ++i) {
    EXPECT_NEAR(predicted[i], std::log(runs.times[i]), 0.3);
  }
}

TEST(GraphTraining, ASavedModelAnswersTheSameAndRefusesOtherCollections) {
  const GraphSetFolder layouts("saved_layouts", true), tiles("other_tiles", false);
  const TrainedGraphs trained = train_graphs(training(layouts, "runs: 40\n", "", 2));
  const std::string folder = layouts.path() + "/model";
  save_graph_model(trained.model, folder, /*force=*/false);
  EXPECT_THAT(refusal([&] { save_graph_model(trained.model, folder, false); }),
              HasSubstr("a model is there already"));
  save_graph_model(trained.model, folder, /*force=*/true);
  ASSERT_TRUE(is_graph_model(folder));
  const GraphModel loaded = load_graph_model(folder);
  EXPECT_EQ(loaded.trained_on, trained.model.trained_on);
  const GraphSet set = read_graph_set(layouts.path());
  EXPECT_EQ(loaded.predict(set.graphs[0]), trained.model.predict(set.graphs[0]));
  const GraphSet other = read_graph_set(tiles.path());
  EXPECT_THAT(refusal([&] { (void)loaded.predict(other.graphs[0]); }),
              HasSubstr("graph net_0 is of another collection"));
  layouts.write("model/weights.bin", "no weights");
  EXPECT_THAT(refusal([&] { (void)load_graph_model(folder); }), HasSubstr("weights"));
}

TEST(GraphTraining, RefusesWhatGraphsWithoutKernelsCannotHave) {
  const GraphSetFolder folder("refused", false);
  EXPECT_THAT(refusal([&] { (void)training(folder, {}, ", target: residual"); }),
              HasSubstr("target: is of kernels"));
  EXPECT_THAT(refusal([&] { (void)training(folder, "split: {by: moon}\n"); }),
              HasSubstr("by: got 'moon', expected"));
  EXPECT_THAT(
      refusal([&] {
        (void)train_graphs(training(folder, "split: {by: graph, validation: 50 %, test: 50 %}\n"));
      }),
      HasSubstr("no run is left to train on"));
}

}  // namespace
}  // namespace tilecast::learned
