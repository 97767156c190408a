// Tests sets of quantities with the command: creating them, training on them, scoring, and errors
// where times are needed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

class LabelsCommand : public CommandTest {
 protected:
  LabelsCommand() : CommandTest("train") {
    write("set/manifest.yaml",
          "format: tilecast.measurements/1\nname: counted\nsource: nobody\nlicence: none\n"
          "timing: none\ndevice: tpu_v3\n"
          "quantities: {registers: {unit: registers, count: yes}, use: {unit: share}}\n");
    std::string rows = "op,dtype,m,n,k,q_registers,q_use\n";
    for (int i = 1; i <= 40; ++i) {
      const long size = 64L * i;
      rows += "matmul,bf16,1024," + std::to_string(size) + ",64," + std::to_string(3 + i / 4) +
              "," + (i % 5 == 0 ? "" : "0." + std::to_string(10 + i)) + "\n";
    }
    write("set/measurements.csv", rows);
    write("e.yaml",
          "format: tilecast.experiment/1\nname: e\nclaim: It counts.\ndevice: tpu_v3\n"
          "data: [{name: counted, importer: set, from: ./set}]\n"
          "split: {kind: held_out_works, share: 25 %, seeds: 1}\n"
          "learners:\n"
          "  - {name: counts, model: xgboost, features: [static, shape], trees: 60,\n"
          "     target: registers}\n"
          "  - {name: uses, model: xgboost, features: [static, shape], trees: 60, target: use}\n"
          "columns: [analytical, counts, uses]\nmetrics: [mape]\n");
  }
};

TEST_F(LabelsCommand, AQuantityIsLearnedScoredAndNeverTakenForATime) {
  const Answer trained = ok("e.yaml --learner counts --out model -f json");
  const auto json = nlohmann::json::parse(trained.out);
  EXPECT_EQ(json["quantity"]["quantity"], "registers");
  EXPECT_EQ(json["rows"], 10);
  const auto& scores = json["quantity"]["strata"].at(0)["scores"];
  ASSERT_EQ(scores.size(), 3U) << "mean, median, the model";
  EXPECT_LT(scores.at(2)["rmse"].get<double>(), scores.at(0)["rmse"].get<double>());
  EXPECT_GT(scores.at(2)["exact"].get<double>(), scores.at(0)["exact"].get<double>());
  EXPECT_THAT(read("model/model.yaml"), HasSubstr("predicts: {quantity: registers"));
  EXPECT_THAT(read("model/model.yaml"), HasSubstr("metric: \"rmse_of_range\""));

  const Answer evaluated = tilecast_ok("evaluate -d tpu_v3 --model model set");
  EXPECT_THAT(evaluated.out, HasSubstr("registers in registers; physics has no answer for it"));
  EXPECT_THAT(evaluated.out, HasSubstr("training mean of model"));
  EXPECT_THAT(evaluated.out, HasSubstr("model: trained on rows of set counted"));

  write_product("dot.hlo", 1024, 2048, 2048, "{1,0}");
  const Answer simulated = tilecast("simulate -d tpu_v3 --model model dot.hlo");
  EXPECT_EQ(simulated.exit_code, 1);
  EXPECT_THAT(simulated.err, HasSubstr("predicts registers in registers, no times"));
}

TEST_F(LabelsCommand, RowsWithoutTheQuantityAreLeftOutAndCounted) {
  const Answer trained = ok("e.yaml --learner uses --out model");
  EXPECT_THAT(trained.out, HasSubstr("held out: use in share"));
  EXPECT_THAT(trained.out, HasSubstr("8 rows have no use"));
}

TEST_F(LabelsCommand, WhatNeedsTimesRefusesASetWithoutThem) {
  for (const char* command : {"evaluate -d tpu_v3 set", "calibrate -d tpu_v3 set -o fitted.yaml"}) {
    const Answer answer = tilecast(command);
    EXPECT_EQ(answer.exit_code, 1) << command;
    EXPECT_THAT(answer.err, HasSubstr("holds no times (timing: none), only registers, use"))
        << command;
  }
  const Answer validated = validate("e.yaml");
  EXPECT_EQ(validated.exit_code, 1);
  EXPECT_THAT(validated.err, HasSubstr("columns are compared by times"));
}

TEST_F(LabelsCommand, TheCompilerMakesASet) {
  const Answer made = tilecast(
      "measure host --labels compile -d cpu_generic --out labels --sets tiles --limit 4 "
      "--tiles-per-kernel 2 "
      "--unroll 1,4 -j 2 -f json");
  if (made.exit_code != 0 && (made.err.find("llvm-mca: not found") != std::string::npos ||
                              made.err.find("expected gcc") != std::string::npos)) {
    GTEST_SKIP() << made.err;
  }
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(read("labels/manifest.yaml"), HasSubstr("timing: \"none\""));
  EXPECT_THAT(read("labels/manifest.yaml"), HasSubstr("vector_registers: {unit: \"registers\""));
  const std::string rows = read("labels/measurements.csv");
  const Answer again = tilecast_ok(
      "measure host --labels compile --out labels --sets tiles --limit 4 --tiles-per-kernel 2 "
      "--unroll 1,4 -j 1");
  EXPECT_THAT(again.err, HasSubstr("0 rows measured"));
  EXPECT_EQ(read("labels/measurements.csv"), rows);
}

}  // namespace
}  // namespace tilecast::sim
