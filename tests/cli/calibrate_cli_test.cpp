// Drives `tilecast calibrate` on the synthetic set that comes with Tilecast.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

const std::string kSet = TILECAST_SOURCE_DIR "/configs/measurements/example_matmul";

class CalibrateCommand : public CommandTest {};

TEST_F(CalibrateCommand, WritesADeviceThatOtherVerbsTake) {
  const Answer answer = run("calibrate --device tpu_v3 " + kSet + " -o mine.yaml");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("accepted: kernels that were left out are predicted no worse"));
  EXPECT_THAT(read("mine.yaml"), HasSubstr("extends: \"tpu_v3\""));
  EXPECT_THAT(read("mine.yaml"),
              HasSubstr("source: \"tilecast calibrate on example_matmul (16 rows"));
  const Answer scored = run("evaluate --device tpu_v3 --device ./mine.yaml " + kSet);
  EXPECT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_THAT(scored.out, HasSubstr("mine "));
}

TEST_F(CalibrateCommand, CalibratesACalibratedDeviceFurther) {
  ASSERT_EQ(run("calibrate --device tpu_v3 " + kSet + " -o one.yaml").exit_code, 0);
  const Answer again = run("calibrate --device ./one.yaml " + kSet + " --format json");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json.at("schema"), "tilecast.calibrate/1");
  for (const auto& constant : json.at("constants")) {  // what it found the first time stays
    if (constant.at("name") != "matrix") continue;
    EXPECT_NEAR(constant.at("fitted").get<double>() / constant.at("described").get<double>(), 1,
                0.05);
  }
}

TEST_F(CalibrateCommand, SaysWhatTheSelectionLeaves) {
  const Answer answer = run("calibrate --device tpu_v3 --class softmax " + kSet + " -o mine.yaml");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("got 0 usable rows for device tpu_v3, expected at least 3"));
  EXPECT_FALSE(exists("mine.yaml"));
}

TEST_F(CalibrateCommand, HintsAtMisspelledConstants) {
  const Answer answer = run("calibrate --device tpu_v3 --fix matirx " + kSet);
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("did you mean 'matrix'?"));
}

TEST_F(CalibrateCommand, WritesNothingWhenNothingMayMove) {
  const Answer answer = run(
      "calibrate --device tpu_v3 -o mine.yaml --fix memory_bandwidth,memory_write,memory_latency,"
      "transfer_setup,iteration_overhead,matrix,vector,transcendental,cross_lane,network,"
      "kernel_overhead,dispatch " +
      kSet);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("kept: "));
  EXPECT_FALSE(exists("mine.yaml"));
}

}  // namespace
}  // namespace tilecast::sim
