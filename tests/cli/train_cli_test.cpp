// Tests `tilecast train`, and `evaluate` with its models, on invented measurements.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;
using ::testing::Not;

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

// --- Tests sets of quantities with the command: creating them, training on them, scoring, and
// errors where times are needed.

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
  EXPECT_THAT(validated.err,
              HasSubstr("its target is registers, and other columns are about times"));
}

TEST_F(LabelsCommand, BarsOfQuantitiesAreCompared) {
  const auto met = [&](const std::string& bar) {
    std::string text = read("e.yaml");
    text = text.substr(0, text.find("columns:"));
    write("bars.yaml",
          text + "columns: [counts, uses]\nmetrics: [rmse_of_range, exact]\nbars:\n  - {" + bar +
              "}\n");
    const Answer answer = validate("bars.yaml --data . -f json");
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    const auto bars = Json::parse(answer.out)["experiments"].at(0)["bars"];
    EXPECT_EQ(bars.size(), 1U);
    return bars.at(0)["met"].get<bool>();
  };
  EXPECT_TRUE(met("metric: exact, column: counts, at_least: 0 %"));
  EXPECT_FALSE(met("metric: exact, column: counts, at_least: 100 %"));
  EXPECT_FALSE(met("metric: rmse_of_range, column: uses, at_most: 0 %"));
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

// --- Tests hybrids with every verb: fitted by `train` to invented measurements, then used by
// simulate, explain, tiles, compare and evaluate, by folder and as a shipped model.

constexpr const char* kDot =
    "HloModule near\n\nENTRY main {\n  a = bf16[1024,3072]{1,0} parameter(0)\n"
    "  b = bf16[3072,3072]{1,0} parameter(1)\n"
    "  ROOT d = bf16[1024,3072]{1,0} dot(a, b), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n}\n";

// A kernel unlike any measured one.
constexpr const char* kTranspose =
    "HloModule far\n\nENTRY main {\n  a = f32[512,1024]{1,0} parameter(0)\n"
    "  ROOT t = f32[1024,512]{1,0} transpose(a), dimensions={1,0}\n}\n";

// Products of matrices that take at least 1.3 times the analytical time, increasing with size.
class HybridCommand : public CommandTest {
 protected:
  HybridCommand() {
    setenv("TILECAST_MODELS", "shelf", 1);
    write("shelf/README", "folders of models\n");
    write_manifest();
    std::string rows = "op,dtype,m,n,k,runtime_ns\n";
    for (int i = 1; i <= 24; ++i) {
      const int size = 512 * i;
      const auto time_ns = static_cast<long>(8730.0 * i * i * (1.3 + 0.03 * i) + 8000);
      rows += "matmul,bf16,1024," + std::to_string(size) + "," + std::to_string(size) + "," +
              std::to_string(time_ns) + "\n";
    }
    write("set/measurements.csv", rows);
    write("e.yaml",
          "format: tilecast.experiment/1\nname: e\nclaim: It learns.\ndevice: tpu_v3\n"
          "data: [{name: made up, importer: set, from: ./set}]\n"
          "split: {kind: held_out_works, share: 25 %, seeds: 2}\n"
          "hybrids: [{name: hybrid}]\n"
          "columns: [analytical, hybrid]\nmetrics: [mape]\n");
    write("near.hlo", kDot);
    write("far.hlo", kTranspose);
  }
  ~HybridCommand() override { unsetenv("TILECAST_MODELS"); }

  Answer fit(const std::string& folder, const std::string& more = "") const {
    Answer answer = tilecast("train e.yaml --learner hybrid --out " + folder + " " + more);
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    return answer;
  }
  void expect_error(const std::string& arguments, int exit_code, const std::string& message) const {
    const Answer answer = tilecast(arguments);
    EXPECT_EQ(answer.exit_code, exit_code) << arguments << "\n" << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(answer.out, "") << arguments;
  }
  // Runs the command and expects success.
  std::string ask(const std::string& arguments) const {
    const Answer answer = tilecast_ok(arguments);
    return answer.out;
  }
};

TEST_F(HybridCommand, TrainFitsAHybridAndTellsItsHeldOutErrorsBesidePhysics) {
  EXPECT_THAT(ask("train e.yaml --learner hybrid --dry-run"),
              HasSubstr("would fit hybrid: a bag of 12 times trees on what physics leaves"));
  const Json json = Json::parse(fit("m", "-f json").out);
  EXPECT_EQ(json["schema"], "tilecast.train/1");
  EXPECT_EQ(json["name"], "hybrid");
  EXPECT_EQ(json["trials"]["left_out"], "groups");
  EXPECT_GT(json["trials"]["rows_corrected"], 9);
  EXPECT_LT(json["trials"]["mape"], json["trials"]["mape_physics"]);
  EXPECT_EQ(json["data"][0]["train"], 18);
  EXPECT_EQ(json["data"][0]["test"], 6);
  double analytical = 0, hybrid = 1;
  for (const Json& metric : json["metrics"]) {
    if (metric["metric"] != "mape") continue;
    if (metric["model"] == "analytical") analytical = metric["value"];
    if (metric["model"] == "hybrid") hybrid = metric["value"];
  }
  EXPECT_LT(hybrid, analytical);
  const std::string card = read("m/model.yaml");
  EXPECT_THAT(card, HasSubstr("hybrid: yes"));
  EXPECT_THAT(card, HasSubstr("coverage_90"));
  EXPECT_THAT(card, HasSubstr(json["data"][0]["hash"].get<std::string>()));
  EXPECT_TRUE(exists("m/known_0.csv") && exists("m/bands.csv") && exists("m/device_0.yaml"));
  expect_error("train e.yaml --learner hybrid --out m", 1, "--force replaces a model");
  expect_error("train e.yaml --learner hibrid --out x", 1, "there are: hybrid");
  EXPECT_THAT(fit("m", "--force").out, HasSubstr("groups left out"));
}

TEST_F(HybridCommand, SimulateShowsFactorIntervalAndBeliefOfEveryKernel) {
  fit("m");
  const std::string text = ask("simulate -d tpu_v3 --model m near.hlo");
  EXPECT_THAT(text, HasSubstr("model     hybrid m\n"));
  EXPECT_THAT(text, HasSubstr(", 90 %; sum over"));
  EXPECT_THAT(text, HasSubstr("believed  k above 0.5: 100.0 % of the time"));
  EXPECT_THAT(text, HasSubstr("x analytical [90 %] k"));
  const Json run = Json::parse(ask("simulate -d tpu_v3 --model m -f json near.hlo"))["programs"][0];
  const Json& kernel = run["kernels"][0];
  EXPECT_NEAR(kernel["analytical_s"].get<double>() * kernel["factor"].get<double>(),
              kernel["time_s"].get<double>(), 1e-12);
  EXPECT_EQ(kernel["verdict"], "in");
  EXPECT_GT(kernel["factor"], 1.1);
  EXPECT_LT(run["low_s"], run["time_s"]);
  EXPECT_GT(run["high_s"], run["time_s"]);
  EXPECT_EQ(run["believed"]["above_half"]["kernels"], 1);
  EXPECT_GT(kernel["weight"], 0.5);
  EXPECT_THAT(ask("simulate -d tpu_v3 --model m -f csv near.hlo"),
              HasSubstr(",analytical_s,factor,weight,verdict,low_s,high_s\n"));
  const std::string far = ask("simulate -d tpu_v3 --model m far.hlo");
  EXPECT_THAT(far, HasSubstr("believed  no correction: physics alone, "));
  EXPECT_THAT(far, Not(HasSubstr("x analytical")));
}

TEST_F(HybridCommand, ExplainTellsWhatMeasurementsChangedAndWhy) {
  fit("m");
  const std::string text = ask("explain -d tpu_v3 --model m near.hlo");
  for (const char* part :
       {"model           hybrid m", "analytical      ", "correction      x ", "90 % interval   ",
        "where           among the kernels of made up", "nearest         matmul"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json json = Json::parse(ask("explain -d tpu_v3 --model m -f json near.hlo"));
  const Json& correction = json["correction"];
  EXPECT_FALSE(correction["nearest"].empty());
  EXPECT_FALSE(correction["drivers"].empty());
  EXPECT_EQ(correction["factor"], json["estimate"]["factor"]);
  EXPECT_THAT(ask("explain -d tpu_v3 --model m far.hlo"),
              HasSubstr("where           away from the kernels of made up"));
}

TEST_F(HybridCommand, TilesCompareAndEvaluateTakeItToo) {
  fit("m");
  write("tiles.csv", "output_bounds\n8 8\n1 2 3\n\"\"\n");
  const std::string tiles = ask("tiles -d tpu_v3 --model m near.hlo tiles.csv");
  EXPECT_THAT(tiles, HasSubstr("reason,analytical_ns,factor,verdict,low_ns,high_ns,energy_uJ\n"));
  EXPECT_THAT(tiles, HasSubstr("output tile has 3 dimensions, this kernel has 2"));
  EXPECT_THAT(ask("tiles -d tpu_v3 near.hlo tiles.csv"), Not(HasSubstr("analytical_ns")));

  const std::string compared =
      ask("compare -d tpu_v3 --model roofline --model analytical --model m set");
  EXPECT_THAT(compared, HasSubstr("side    m: hybrid m on tpu_v3"));
  EXPECT_THAT(compared, HasSubstr("x analytical [90 %] k"));
  const Json row =
      Json::parse(ask("compare -d tpu_v3 --model analytical --model m -f json set"))["rows"][0];
  EXPECT_FALSE(row["times"][0].contains("factor"));
  EXPECT_LE(row["times"][1]["low_s"], row["times"][1]["time_s"]);
  EXPECT_GE(row["times"][1]["high_s"], row["times"][1]["time_s"]);
  EXPECT_TRUE(row["times"][1].contains("verdict"));

  const std::string scored = ask("evaluate -d tpu_v3 --model analytical --model m set");
  EXPECT_THAT(scored, HasSubstr("in 90 % interval %"));
  EXPECT_THAT(scored, HasSubstr("m: trained on rows of set made_up"));
}

TEST_F(HybridCommand, AShippedHybridIsUsedWhereItFitsAndSaysSo) {
  fit("shelf/tpu");
  const std::string text = ask("simulate -d tpu_v3 near.hlo");
  EXPECT_THAT(text, HasSubstr("model     hybrid tpu (shelf/tpu)"));
  EXPECT_EQ(ask("simulate -d tpu_v3 --model hybrid near.hlo"), text);
  EXPECT_THAT(ask("explain -d tpu_v3 near.hlo"), HasSubstr("hybrid tpu (shelf/tpu)"));
  EXPECT_THAT(ask("simulate -d tpu_v2 near.hlo"), Not(HasSubstr("hybrid")));
  expect_error("simulate -d tpu_v2 --model hybrid near.hlo", 1,
               "no shipped model fits device tpu_v2; there are: shelf/tpu (trained on tpu_v3)");
  EXPECT_THAT(ask("simulate -d tpu_v3 -d tpu_v2 near.hlo"),
              HasSubstr("analytical for all devices, so that they compare: no shipped model fits "
                        "tpu_v2"));
  EXPECT_THAT(ask("simulate -d tpu_v3 --model learned far.hlo"),
              HasSubstr("corrections are believed everywhere"));
  const Json compared = Json::parse(
      ask("compare -d tpu_v3 --model roofline --model analytical --model learned --model hybrid "
          "-f json set"));
  EXPECT_EQ(compared["sides"].size(), 5U);
  EXPECT_EQ(compared["sides"][3]["model"], "hybrid tpu (shelf/tpu)");
}

TEST_F(HybridCommand, WithoutAShippedModelPhysicsAnswers) {
  EXPECT_EQ(ask("simulate -d tpu_v3 near.hlo"),
            ask("simulate -d tpu_v3 --model analytical near.hlo"));
  EXPECT_EQ(ask("explain -d tpu_v3 near.hlo"),
            ask("explain -d tpu_v3 --model analytical near.hlo"));
  expect_error("simulate -d tpu_v3 --model hybrid near.hlo", 1, "none is shipped");
  expect_error("simulate -d tpu_v3 --model nothing near.hlo", 2, "expected analytical, roofline");
  setenv("TILECAST_MODELS", "nowhere", 1);
  expect_error("simulate -d tpu_v3 near.hlo", 1, "TILECAST_MODELS: got 'nowhere'");
}

TEST_F(HybridCommand, AFolderThatWasTamperedWithIsRefusedByEveryVerb) {
  fit("m");
  write("tiles.csv", "output_bounds\n8 8\n");
  write("m/bands.csv", read("m/bands.csv") + "\n");
  for (const std::string verb :
       {"simulate -d tpu_v3 --model m near.hlo", "explain -d tpu_v3 --model m near.hlo",
        "tiles -d tpu_v3 --model m near.hlo tiles.csv", "compare -d tpu_v3 --model m set",
        "evaluate -d tpu_v3 --model m set"}) {
    expect_error(verb, 1, "m/bands.csv: is not the file that was saved");
  }
}
}  // namespace
}  // namespace tilecast::sim
