// Tests `tilecast evaluate` on a set of three invented rows.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class EvaluateCommand : public CommandTest {
 protected:
  EvaluateCommand() : CommandTest("evaluate") {
    write_manifest();
    write("set/measurements.csv",
          "op,dtype,m,n,k,runtime_ns,split\n"
          "matmul,bf16,1024,1024,1024,60000,train\n"
          "matmul,bf16,2048,2048,2048,400000,test\n"
          "matmul,bf16,4096,4096,4096,3000000,test\n"
          "matmul,bf16,4096,4096,4096,-5,test\n");
    write("fitted.yaml",
          "extends: tpu_v3\nname: fitted\ncalibration:\n  matrix: 0.9\n  source: a test\n");
  }
};

TEST_F(EvaluateCommand, ShowsRooflineAndAnalyticalOnTheSameRows) {
  const Answer answer = ok("-d tpu_v3 set");
  EXPECT_THAT(answer.out, HasSubstr("all (class matmul): n = 3 rows, 3 works"));
  EXPECT_THAT(answer.out, HasSubstr("roofline"));
  EXPECT_THAT(answer.out, HasSubstr("analytical"));
  EXPECT_THAT(answer.out, HasSubstr("1 left out"));
  EXPECT_THAT(run("-d tpu_v3 set --faults").out, HasSubstr("fault: made_up: line 5: not_positive"));
}

TEST_F(EvaluateCommand, PutsACalibratedDeviceBesideThePreset) {
  const auto json =
      nlohmann::json::parse(run("-d tpu_v3 -d fitted.yaml set --by split -f json").out);
  EXPECT_EQ(json["schema"], "tilecast.evaluate/1");
  std::vector<std::string> names;
  for (const auto& model : json["models"]) names.push_back(model["name"]);
  EXPECT_THAT(names, ::testing::ElementsAre("roofline", "analytical", "default", "fitted",
                                            "default fitted"));
  int test_rows = 0;
  for (const auto& score : json["scores"]) {
    if (score["by"] == "split" && score["stratum"] == "test") test_rows = score["rows"];
  }
  EXPECT_EQ(test_rows, 2);
}

TEST_F(EvaluateCommand, SaysWhenTheRowsAreOfAnotherMachine) {
  EXPECT_THAT(run("-d tpu_v4 set").out,
              HasSubstr("note: made_up: measured on tpu_v3, scored against a model of tpu_v4"));
  EXPECT_THAT(run("-d fitted.yaml set").out, ::testing::Not(HasSubstr("scored against")));
}

TEST_F(EvaluateCommand, AnswersTheSameForAnyNumberOfThreads) {
  for (const std::string format : {"table", "json", "csv"}) {
    EXPECT_EQ(run("-d tpu_v3 set -j 1 -f " + format).out,
              run("-d tpu_v3 set -j 3 -f " + format).out);
  }
}

TEST_F(EvaluateCommand, WritesAModelCardWithOthersNumbersMarked) {
  ok("-d tpu_v3 set --card card.md --references");
  EXPECT_THAT(read("card.md"), StartsWith("# Model card: roofline, analytical"));
  EXPECT_THAT(read("card.md"), HasSubstr("Others' published numbers"));
}

TEST_F(EvaluateCommand, RefusesWhatItCannotScore) {
  expect_failure("-d tpu_v3 nowhere", 1, "nowhere");
  expect_failure("-d tpu_v3", 2, "sets is required");
  expect_failure("set", 2, "--device is required");
  expect_failure("-d tpu_v3 set --by colour", 2, "expected class, size, split, family or kernel");
  expect_failure("-d tpu_v3 set --model magic", 2, "magic");
  expect_failure("-d tpu_v3 set --draws 0", 2, "draws");
  expect_failure("-d tpu_v3 set --references-from nowhere.yaml --references", 1, "nowhere.yaml");
  write("set/measurements.csv", "op,dtype,m,n,k,runtime_ns\nmatmul,bf16,64,64,64,-1\n");
  expect_failure("-d tpu_v3 set", 1, "1 not_positive");
}

TEST_F(EvaluateCommand, TellsSetsOfOneNameApartAndTakesNoneTwice) {
  expect_failure("-d tpu_v3 set set", 1, "give each set once");
  write("other/manifest.yaml", read("set/manifest.yaml"));
  write("other/measurements.csv", "op,dtype,m,n,k,runtime_ns\nmatmul,bf16,512,512,512,20000\n");
  const Answer answer = run("-d tpu_v3 set other");
  EXPECT_THAT(answer.out, HasSubstr("set made_up: n = 3"));
  EXPECT_THAT(answer.out, HasSubstr("set made_up ("));
}

TEST_F(EvaluateCommand, ExplainsItselfWithExamples) {
  EXPECT_THAT(run("--help").out, HasSubstr("Examples"));
}

}  // namespace
}  // namespace tilecast::sim
