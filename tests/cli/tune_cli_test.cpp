// Tests `tilecast tune tiles` on an invented set and with commands that return at once.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;

class TuneCommand : public CommandTest {
 protected:
  TuneCommand() : CommandTest("tune tiles") {
    write_manifest();
    std::string rows = "op,dtype,m,n,k,output_bounds,runtime_ns,p_unroll,p_lanes\n";
    for (int unroll = 1; unroll <= 8; ++unroll) {
      for (int lanes = 1; lanes <= 8; ++lanes) {
        const int time_ns =
            100'000 + 1'000 * ((unroll - 5) * (unroll - 5) + (lanes - 3) * (lanes - 3));
        rows += "matmul,bf16,1024,1024,1024,16 4," + std::to_string(time_ns) + "," +
                std::to_string(unroll) + "," + std::to_string(lanes) + "\n";
      }
    }
    write("set/measurements.csv", rows);
    write_product("dot.hlo", 1024, 1024, 1024, "{1,0:T(8,128)(2,1)}");
  }
};

TEST_F(TuneCommand, FindsTheFastestOfASet) {
  const Answer answer = ok("-d tpu_v3 --from set --trials 40");
  EXPECT_THAT(answer.out, HasSubstr("best: unroll=5 lanes=3; measured 100.0"));
  EXPECT_THAT(answer.out, HasSubstr("40 trials\n"));
}

TEST_F(TuneCommand, KeepsTrialsAndGoesOnAfterATornLine) {
  ok("-d tpu_v3 --from set --trials 10 -o trials.csv");
  const std::string ten = read("trials.csv");
  EXPECT_EQ(std::count(ten.begin(), ten.end(), '\n'), 11);
  write("trials.csv", ten + "11,63,unroll=8 la");
  const Answer more = ok("-d tpu_v3 --from set --trials 20 -o trials.csv --format json");
  EXPECT_THAT(more.err, HasSubstr("trials.csv: going on after 10 trials"));
  const std::string twenty = read("trials.csv");
  EXPECT_EQ(twenty.substr(0, ten.size()), ten);
  EXPECT_EQ(std::count(twenty.begin(), twenty.end(), '\n'), 21);
  const auto json = Json::parse(more.out);
  EXPECT_EQ(json.at("schema"), "tilecast.tune/1");
  EXPECT_EQ(json.at("trials").size(), 20U);
  EXPECT_EQ(json.at("candidates"), 64);
}

TEST_F(TuneCommand, RefusesTrialsOfAnotherSearch) {
  write("trials.csv", "trial,index,tile,predicted_ns,measured_ns\n1,0,unroll=9 lanes=9,,100\n");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "the trials are of another search");
  write("trials.csv", "name,value\na,1\n");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "expected the columns trial,index,tile");
  write("trials.csv", "a text without an end of line");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "expected the columns trial,index,tile");
  EXPECT_EQ(read("trials.csv"), "a text without an end of line");
}

TEST_F(TuneCommand, MeasuresWithACommandAndCountsFailures) {
  const Answer answer =
      ok("-d tpu_v3 dot.hlo --trials 6 --batch 3 -f json --measure "
         "'test {index} -ne 0 && echo warm-up && echo \"1{index} us\" && echo \"{tile}\" >> asked'"
         " --strategy grid");
  const auto json = Json::parse(answer.out);
  EXPECT_EQ(json.at("failed"), 1);
  ASSERT_EQ(json.at("trials").size(), 6U);
  EXPECT_TRUE(json["trials"][0]["measured_s"].is_null());
  EXPECT_DOUBLE_EQ(json["trials"][1]["measured_s"].get<double>(), 11e-6);
  EXPECT_EQ(json["best"]["index"], 1);
  EXPECT_THAT(answer.err, HasSubstr("failed: out="));
  EXPECT_THAT(answer.err, HasSubstr("exit code 1"));
  EXPECT_THAT(read("asked"), HasSubstr(json["best"]["tile"].get<std::string>() + "\n"));
}

TEST_F(TuneCommand, TakesSecondsAndSaysWhyACommandHasNoTime) {
  const Answer answer =
      ok("-d tpu_v3 dot.hlo --trials 2 --measure "
         "'if [ {index} = 0 ]; then echo 0.000012; else echo soon; fi' --strategy grid");
  EXPECT_THAT(answer.out, HasSubstr("2 trials, 1 of them failed"));
  EXPECT_THAT(answer.out, HasSubstr("measured 12.0"));
  EXPECT_THAT(answer.err, HasSubstr("no time in 'soon'"));
}

TEST_F(TuneCommand, EndsACommandThatTakesTooLong) {
  const Answer answer = run("-d tpu_v3 dot.hlo --trials 1 --measure 'sleep 60' --timeout '100 ms'");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("no answer in 0.1 s"));
  EXPECT_THAT(answer.err, HasSubstr("every trial failed"));
}

TEST_F(TuneCommand, SearchesOnlyTheTilesOfATableThatRun) {
  write("mine.csv", "output_bounds\n4 8\n1 1 1 1\n8 8\n");
  const Answer answer = ok(
      "-d tpu_v3 dot.hlo --among mine.csv -f json --measure 'echo \"{tile}\" >> asked; echo 1 us'");
  EXPECT_THAT(answer.err, HasSubstr("mine.csv: 1 of 3 tiles cannot run on tpu_v3"));
  const auto json = Json::parse(answer.out);
  EXPECT_EQ(json.at("candidates"), 2);
  const std::string asked = read("asked");
  EXPECT_TRUE(asked == "out=4x8\nout=8x8\n" || asked == "out=8x8\nout=4x8\n") << asked;
  write("mine.csv", "output_bounds\n1 1 1 1\n");
  expect_failure("-d tpu_v3 dot.hlo --among mine.csv --measure 'echo 1 us'", 1,
                 "none of 1 tiles offered can run on tpu_v3: output tile has 4 dimensions, this "
                 "kernel has 2; d keeps its default (out=");
}

TEST_F(TuneCommand, ComparesStrategiesOnASet) {
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 3 --budgets 5,64 --format json").out);
  EXPECT_EQ(json.at("schema"), "tilecast.tune_compare/1");
  EXPECT_EQ(json.at("rows").size(), 10U);
  for (const auto& row : json.at("rows")) {
    if (row.at("trials") == 64) {
      EXPECT_DOUBLE_EQ(row.at("best_in_top").get<double>(), 1.0);
    }
  }
  const Answer table = run("-d tpu_v3 --from set --compare --seeds 2 --budgets 5");
  EXPECT_THAT(table.out, HasSubstr("64 tiles measured on tpu_v3"));
  EXPECT_THAT(table.out, HasSubstr("5 trials %"));
}

TEST_F(TuneCommand, ComparesAllKernelsOfASetAndAsksWhichOne) {
  std::string rows = read("set/measurements.csv");
  for (int lanes = 1; lanes <= 8; ++lanes) {
    rows += "matmul,bf16,2048,1024,1024,16 4," + std::to_string(200'000 + 1'000 * lanes) + ",1," +
            std::to_string(lanes) + "\n";
  }
  write("set/measurements.csv", rows);
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 2 --budgets 4,64 -f json").out);
  EXPECT_EQ(json.at("kernels"), 2);
  EXPECT_EQ(json.at("candidates"), 64 + 8);
  EXPECT_TRUE(json.at("kernel").is_null());
  expect_failure("-d tpu_v3 --from set", 1, "2 kernels, expected one; choose it with --kernel");
  expect_failure("-d tpu_v3 --from set --compare --budgets 100", 1,
                 "no kernel has more than 100 tiles measured");
}

TEST_F(TuneCommand, ComparesOneStrategyUnderTheBaselineOnDrawnKernels) {
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 2 --strategy model --model bottleneck "
                     "--most-kernels 1 --format json")
                      .out);
  EXPECT_EQ(json.at("model"), "bottleneck");
  ASSERT_EQ(json.at("rows").size(), 2U);
  EXPECT_EQ(json.at("rows")[0].at("strategy"), "model");
}

TEST_F(TuneCommand, SaysThatAMachineWithoutBlocksHasNoSchedules) {
  const std::string why =
      "of the list 'schedules' on tpu_v3; stages and warps are of machines that "
      "run thread blocks; try --list ladder";
  const Answer tiles = run("-d tpu_v3 dot.hlo --list schedules --measure 'echo 1 us'");
  EXPECT_EQ(tiles.exit_code, 1);
  EXPECT_THAT(tiles.err, HasSubstr("dot.hlo: d has no tiles " + why));
}

TEST_F(TuneCommand, SaysWhatIsKeptWhereEveryTrialFails) {
  const Answer answer = run("-d tpu_v3 dot.hlo --trials 2 --measure false");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("the kernel keeps the tile that it has by default"));
}

TEST_F(TuneCommand, AsksForWhatItNeeds) {
  expect_failure("-d tpu_v3", 2, "expected an HLO file with --measure");
  expect_failure("-d tpu_v3 dot.hlo", 2, "--measure is required");
  expect_failure("-d tpu_v3 --from set --measure true", 2, "expected one of them");
  expect_failure("-d tpu_v3 dot.hlo --measure true --compare", 2, "--compare needs --from");
  expect_failure("-d tpu_v3 --from set --kernel nothing", 1, "no kernel is called 'nothing'");
  expect_failure("-d tpu_v3 dot.hlo --measure true --timeout long", 2, "--timeout");
}

}  // namespace
}  // namespace tilecast::sim
