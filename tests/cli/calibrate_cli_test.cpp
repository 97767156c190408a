// Tests `tilecast calibrate` on the synthetic set shipped with Tilecast.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;

const std::string kSet = support::source_dir().string() + "/configs/measurements/example_matmul";

class CalibrateCommand : public CommandTest {};

TEST_F(CalibrateCommand, WritesADeviceThatOtherVerbsTake) {
  const Answer answer = ok("calibrate --device tpu_v3 " + kSet + " -o mine.yaml");
  EXPECT_THAT(answer.out, HasSubstr("accepted: held-out kernels are predicted better"));
  EXPECT_THAT(read("mine.yaml"), HasSubstr("extends: \"tpu_v3\""));
  EXPECT_THAT(read("mine.yaml"),
              HasSubstr("source: \"tilecast calibrate on example_matmul (16 rows"));
  const Answer scored = ok("evaluate --device tpu_v3 --device ./mine.yaml " + kSet);
  EXPECT_THAT(scored.out, HasSubstr("mine "));
}

TEST_F(CalibrateCommand, CalibratesACalibratedDeviceFurther) {
  ok("calibrate --device tpu_v3 " + kSet + " -o one.yaml");
  const Json json = Json::parse(ok("calibrate --device ./one.yaml " + kSet + " --format json").out);
  EXPECT_EQ(json.at("schema"), "tilecast.calibrate/1");
  for (const auto& constant : json.at("constants")) {  // a second calibration changes nothing
    if (constant.at("name") != "matrix") continue;
    EXPECT_NEAR(constant.at("fitted").get<double>() / constant.at("described").get<double>(), 1,
                0.05);
  }
}

TEST_F(CalibrateCommand, DoesNotWriteOverTheDescriptionItExtends) {
  write("mine.yaml", "extends: tpu_v3\nname: mine\n");
  const Answer answer = run("calibrate --device ./mine.yaml " + kSet + " -o mine.yaml");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("would be lost"));
  EXPECT_EQ(read("mine.yaml"), "extends: tpu_v3\nname: mine\n");
}

TEST_F(CalibrateCommand, SaysWhatTheSelectionLeaves) {
  const Answer answer = run("calibrate --device tpu_v3 --class softmax " + kSet + " -o mine.yaml");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("got 0 usable rows for device tpu_v3, expected at least 3"));
  EXPECT_FALSE(exists("mine.yaml"));
}

TEST_F(CalibrateCommand, NamesTheRowsThatItSetsApart) {
  const Answer once = run("calibrate --device tpu_v3 " + kSet + " --format json");
  const Answer twice = ok("calibrate --device tpu_v3 " + kSet + " " + kSet + " --format json");
  const auto apart = Json::parse(twice.out).at("set_apart");
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_EQ(apart.at(0).at("rows").size(), 16U);
  EXPECT_THAT(apart.at(0).at("reason").get<std::string>(), HasSubstr("counted once"));
  EXPECT_EQ(Json::parse(twice.out).at("constants"), Json::parse(once.out).at("constants"));
  const Answer text = run("calibrate --device tpu_v3 " + kSet + " " + kSet);
  EXPECT_THAT(text.out, HasSubstr("16 rows set apart (example_matmul line 2, 3, "));
}

TEST_F(CalibrateCommand, HintsAtMisspelledConstants) {
  const Answer answer = run("calibrate --device tpu_v3 --fix matirx " + kSet);
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("did you mean 'matrix'?"));
}

TEST_F(CalibrateCommand, WritesNothingWhenNothingMayMove) {
  const Answer answer = ok(
      "calibrate --device tpu_v3 -o mine.yaml --fix memory_bandwidth,memory_write,memory_latency,"
      "transfer_setup,iteration_overhead,matrix,vector,transcendental,cross_lane,network,"
      "kernel_overhead,dispatch " +
      kSet);
  EXPECT_THAT(answer.out, HasSubstr("kept: "));
  EXPECT_FALSE(exists("mine.yaml"));
}

TEST_F(CalibrateCommand, TrainsAHybridAfterTheConstants) {
  const Answer answer =
      ok("calibrate --device tpu_v3 " + kSet + " -o mine.yaml --then-train model --format json");
  const auto hybrid = Json::parse(answer.out).at("hybrid");
  EXPECT_EQ(hybrid.at("rows"), 16);
  const auto& trials = hybrid.at("trials");  // corrected is not worse than analytical
  EXPECT_LE(trials.at("mape").get<double>(), trials.at("mape_physics").get<double>());
  EXPECT_THAT(read("model/model.yaml"), HasSubstr("all rows fitted; errors are of trials"));
  EXPECT_THAT(read("model/model.yaml"), HasSubstr("example_matmul"));
  EXPECT_TRUE(exists("model/correction.yaml"));
  ok("evaluate --device ./mine.yaml --model ./model " + kSet);
}

// A description with a higher clock than the machine's, e.g. of a power-limited machine.
TEST_F(CalibrateCommand, DoesNotWriteADescriptionThatTheRowsContradict) {
  const std::string command = "calibrate --device tpu_v3 --set clock=1500MHz -o mine.yaml " + kSet;
  const Answer refused = ok(command);
  EXPECT_THAT(refused.out, HasSubstr("suspicious: matrix: 0."));
  EXPECT_THAT(refused.out, HasSubstr("such constants say that the description is wrong"));
  EXPECT_THAT(refused.err, HasSubstr("mine.yaml not written: the fit is suspicious"));
  EXPECT_FALSE(exists("mine.yaml"));
  const Answer taken = ok(command + " --accept-suspicious");
  EXPECT_THAT(taken.out, HasSubstr("suspicious: matrix: 0."));
  EXPECT_TRUE(exists("mine.yaml"));
}

TEST_F(CalibrateCommand, FitsNoHybridToThreeRows) {
  write("set/manifest.yaml",
        "format: tilecast.measurements/1\nname: three\nsource: nobody\nlicence: none\n"
        "timing: device\ndevice: tpu_v3\n");
  write("set/measurements.csv",
        "op,dtype,m,n,k,runtime_ns\nmatmul,bf16,1024,1024,1024,60000\n"
        "matmul,bf16,2048,1024,1024,110000\nmatmul,bf16,2048,2048,1024,210000\n");
  const Answer answer = run("calibrate --device tpu_v3 set --then-train model");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err,
              HasSubstr("got 3 rows of single kernels that physics answers, expected at "
                        "least 8"));
  EXPECT_FALSE(exists("model/model.yaml"));
}

TEST_F(CalibrateCommand, DoesNotReplaceAModelUnlessForced) {
  write("model/model.yaml", "mine\n");
  const Answer refused = run("calibrate --device tpu_v3 " + kSet + " --then-train model");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("model: exists; --force replaces a model"));
}

}  // namespace
}  // namespace tilecast::sim
