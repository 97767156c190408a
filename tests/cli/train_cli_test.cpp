// Tests `tilecast train`, and `evaluate` with its models, on invented measurements.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;

class TrainCommand : public CommandTest {
 protected:
  TrainCommand() : CommandTest("train") {
    write_manifest();
    std::string rows = "op,dtype,m,n,k,runtime_ns\n";
    for (int i = 1; i <= 24; ++i) {
      const long size = 512L * i;
      const long time_ns = 60'000L * i * i * i / 8 + 10'000;
      rows += "matmul,bf16,1024," + std::to_string(size) + "," + std::to_string(size) + "," +
              std::to_string(time_ns) + "\n";
    }
    write("set/measurements.csv", rows);
    write("e.yaml",
          "format: tilecast.experiment/1\nname: e\nclaim: It learns.\ndevice: tpu_v3\n"
          "data: [{name: made up, importer: set, from: ./set}]\n"
          "split: {kind: held_out_works, share: 25 %, seeds: 3}\n"
          "learners:\n"
          "  - {name: trees, model: xgboost, features: [static, shape], trees: 40}\n"
          "  - {name: few, model: xgboost, features: [static], trees: 10}\n"
          "columns: [analytical, trees, few]\nmetrics: [mape]\n");
  }
};

TEST_F(TrainCommand, WritesAModelWhoseCardTellsDataSplitAndHeldOutErrors) {
  const Json json = Json::parse(ok("e.yaml --learner trees --out model -f json").out);
  EXPECT_EQ(json["schema"], "tilecast.train/1");
  const auto& data = json["data"].at(0);
  EXPECT_EQ(data["train"].get<int>() + data["validation"].get<int>(), 18);
  EXPECT_EQ(data["test"], 6);
  EXPECT_EQ(json["metrics"].size(), 3U);
  EXPECT_THAT(read("model/model.yaml"), HasSubstr(data["hash"].get<std::string>()));
  EXPECT_THAT(read("model/model.yaml"), HasSubstr("trained on the first of 3"));
  EXPECT_TRUE(exists("model/training.csv"));
  EXPECT_FALSE(exists("model.checkpoint"));
  expect_failure("e.yaml --learner trees --out model", 1, "--force replaces a model");
  ok("e.yaml --learner trees --out model --force");
}

TEST_F(TrainCommand, AModelOfAQuantileTellsWhatAKernelCouldReach) {
  write("q.yaml",
        "format: tilecast.experiment/1\nname: q\nclaim: It learns the fastest.\ndevice: tpu_v3\n"
        "data: [{name: made up, importer: set, from: ./set}]\n"
        "split: {kind: held_out_works, share: 25 %, seeds: 3}\n"
        "learners:\n"
        "  - {name: best, model: xgboost, features: [static, shape], trees: 40,\n"
        "     objective: quantile, quantile: 0.2}\n"
        "columns: [analytical, best]\nmetrics: [mape]\n");
  ok("q.yaml --learner best --out best");
  ok("e.yaml --learner trees --out mean");
  write_product("dot.hlo", 1024, 2048, 2048, "{1,0}");
  const Answer text = tilecast_ok("explain -d tpu_v3 --model analytical --headroom best dot.hlo");
  EXPECT_THAT(text.out, HasSubstr("could reach"));
  EXPECT_THAT(text.out, HasSubstr("left on the table (20.0 % of its like, best)"));
  const auto json =
      Json::parse(tilecast("explain -d tpu_v3 --model mean --headroom best -f json dot.hlo").out);
  const double time = json["estimate"]["time_s"].get<double>();
  const double reachable = json["headroom"]["reachable_s"].get<double>();
  EXPECT_LE(reachable, time);
  EXPECT_GE(reachable, std::min(time, json["estimate"]["speed_of_light_s"].get<double>()));
  EXPECT_NEAR(json["headroom"]["left_s"].get<double>(), time - reachable, 1e-15);
  const Answer refused = tilecast("explain -d tpu_v3 --headroom mean dot.hlo");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("expected one trained with objective"));
}

TEST_F(TrainCommand, ATrainedModelIsAColumnAndSaysWhenItHasSeenTheSet) {
  ok("e.yaml --learner trees --out model");
  const Answer answer = tilecast_ok("evaluate -d tpu_v3 --model analytical --model model set");
  EXPECT_THAT(answer.out, HasSubstr("model: trained on rows of set made_up"));
  EXPECT_EQ(tilecast("evaluate -d tpu_v3 --model nothing set").exit_code, 2);
  write("again/manifest.yaml", read("set/manifest.yaml") + "description: the same rows\n");
  write("again/measurements.csv", read("set/measurements.csv"));
  const Answer other = tilecast("evaluate -d tpu_v3 --model analytical --model model again");
  EXPECT_THAT(other.out, HasSubstr("model: 24 rows of families it was trained on"));
}

TEST_F(TrainCommand, SaysWhatItWouldTrainAndRefusesWhatItCannot) {
  const Answer plan = ok("e.yaml --learner few --dry-run");
  EXPECT_THAT(plan.out, HasSubstr("would train few: xgboost"));
  EXPECT_THAT(plan.out, HasSubstr("6 held out"));
  expect_failure("e.yaml --out model", 1, "choose it with --learner: trees, few");
  expect_failure("e.yaml --learner tres --out model", 1, "no learner is called 'tres'");
  expect_failure("e.yaml --learner trees", 2, "--out is required");
  expect_failure("e.yaml --learner trees --out model --resume", 1, "nothing to resume");
  EXPECT_THAT(run("--help").out, HasSubstr("Examples"));
}

TEST_F(TrainCommand, OfGraphsSaysWhatIsMissingAndWhatCannotAnswerThem) {
  write("graphs_set/manifest.yaml", read("set/manifest.yaml") + "subject: graph\n");
  write("graphs_set/measurements.csv", "graph,runtime_ns,x_normalizer_ns,x_config\nnet,5,,1 2\n");
  write("graphs_set/graphs/net.nodes.csv", "node,opcode,config_node,feature_0\n0,2,,1\n");
  write("graphs_set/graphs/net.edges.csv", "edge_index_0,edge_index_1\n");
  write("g.yaml",
        "format: tilecast.graph_training/1\nname: g\nsets: [graphs_set]\n"
        "split: {by: run, validation: 0 %, test: 60 %}\n"
        "learner: {name: net, model: network, hidden: 8}\n");
  expect_failure("g.yaml", 2, "--out is required");
  expect_failure("g.yaml --out model --dry-run", 2, "--dry-run: not of graphs");
  expect_failure("g.yaml --out model", 1, "no run is left to train on; the sets have 1 runs");
  const Answer none = tilecast("evaluate -d tpu_v3 graphs_set");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--model is required for graphs"));
  const Answer physics = tilecast("evaluate -d tpu_v3 --model analytical graphs_set");
  EXPECT_EQ(physics.exit_code, 1);
  EXPECT_THAT(physics.err, HasSubstr("graphs hold no kernels"));
}

TEST_F(TrainCommand, ValidateShowsLearnersOverSeedsTheSameForAnyNumberOfThreads) {
  const Answer one = validate("e.yaml --data . -f json --jobs 1");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const auto json = Json::parse(one.out)["experiments"].at(0);
  EXPECT_EQ(json["learners"].size(), 2U);
  EXPECT_EQ(json["rounds"].size(), 3U);
  EXPECT_EQ(json["scores"].at(1)["by_seed"].size(), 3U);
  EXPECT_TRUE(json["scores"].at(1).contains("interval_95"));
  EXPECT_EQ(validate("e.yaml --data . -f json --jobs 3").out, one.out);
}

}  // namespace
}  // namespace tilecast::sim
