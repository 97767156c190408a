// Tests `validate` on invented measurements.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ValidateCommand : public CommandTest {
 protected:
  Answer run(const std::string& arguments) const override { return validate(arguments); }

  ValidateCommand() {
    write("data/ops.csv",
          "m,n,k,us\n1024,1024,1024,60\n2048,2048,2048,400\n4096,4096,4096,3000\n"
          "1024,2048,2048,210\n2048,4096,2048,800\n8192,2048,2048,1600\n");
    write("validation/ops.yaml",
          "name: ops\nsource: nobody\nlicence: none\ntiming: device\nhow_timed: by hand\n"
          "device: tpu_v3\ndtype: bf16\ntables:\n  - columns:\n      op: {constant: matmul}\n"
          "      m: m\n      n: n\n      k: k\n      runtime: {column: us, unit: us}\n");
    write("validation/experiments/folds.yaml",
          "format: tilecast.experiment/1\nname: folds\nclaim: It fits.\ndevice: tpu_v3\n"
          "data: [{name: made up, importer: operators, from: ops.csv, mapping: ../ops.yaml}]\n"
          "split: {kind: k_fold, folds: 2}\ncolumns: [roofline, analytical, calibrated]\n"
          "metrics: [mape, geometric_bias]\n"
          "bars:\n  - {metric: mape, column: calibrated, at_most: 1000 %}\n"
          "  - {metric: mape, column: roofline, at_most: 0.001 %}\n");
  }
};

TEST_F(ValidateCommand, RunsAllExperimentsOfTheFolderAndSaysWhichBarsAreMet) {
  const Answer answer = ok("--data data");
  EXPECT_THAT(answer.out, HasSubstr("folds: It fits.\n"));
  EXPECT_THAT(answer.out, HasSubstr("set     made up: 6 rows, 0 left out, measured on tpu_v3"));
  EXPECT_THAT(answer.out, HasSubstr("fitted on 3 rows of 3 kernels, scored on 3"));
  EXPECT_THAT(answer.out, HasSubstr("bar     met: mape of calibrated, all"));
  EXPECT_THAT(answer.out, HasSubstr("bar     not met: mape of roofline, all"));
}

TEST_F(ValidateCommand, JsonHoldsSetsRoundsScoresAndBarsWhateverTheJobs) {
  const Answer answer = ok("--data data --format json --jobs 1");
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["schema"], "tilecast.validate/1");
  const auto& experiment = json["experiments"].at(0);
  EXPECT_EQ(experiment["sets"].at(0)["rows"], 6);
  EXPECT_EQ(experiment["rounds"].size(), 2U);
  EXPECT_EQ(experiment["scores"].size(), 3U * 2U);
  EXPECT_EQ(experiment["bars"].at(0)["met"], true);
  EXPECT_EQ(experiment["bars"].at(1)["met"], false);
  EXPECT_EQ(run("--data data --format json --jobs 4").out, answer.out);
}

TEST_F(ValidateCommand, GoesOnWithItsJournal) {
  write("validation/experiments/again.yaml", read("validation/experiments/folds.yaml"));
  const std::string whole = run("--data data --format json").out;
  EXPECT_EQ(run("--data data --format json --journal j").out, whole);
  const std::string journal = read("j");
  ASSERT_EQ(std::count(journal.begin(), journal.end(), '\n'), 3);  // header + one per experiment
  write("j", journal.substr(0, journal.rfind('\n', journal.size() - 2) + 20));  // truncated
  EXPECT_EQ(run("--data data --format json --journal j --resume").out, whole);
  EXPECT_EQ(read("j"), journal);
  ok("--data data --format json -o out.json");
  EXPECT_EQ(read("out.json"), whole);
  EXPECT_FALSE(exists("out.json.journal"));
  expect_failure("--data data --journal j --resume", 1, "j");  // journal of the other format
  expect_failure("--data data --resume", 2, "--journal");
}

TEST_F(ValidateCommand, SkipsExperimentsWithoutTheirDataAndFailsOnlyWhenNothingRan) {
  write("validation/experiments/other.yaml",
        "format: tilecast.experiment/1\nname: other\nclaim: None.\ndevice: tpu_v3\n"
        "data: [{name: nothing, importer: set, from: not_there}]\n"
        "split: {kind: none}\ncolumns: [analytical]\nmetrics: [mape]\n");
  const Answer some = ok("--data data");
  EXPECT_THAT(some.err, HasSubstr("skipped: other: data/not_there not found"));
  const Answer none = run("--data elsewhere");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("error: nothing ran"));
}

TEST_F(ValidateCommand, AFailingExperimentDoesNotHideTheOthers) {
  write("validation/experiments/other.yaml",
        "format: tilecast.experiment/1\nname: other\nclaim: None.\ndevice: tpu_v3\n"
        "data: [{name: ops, importer: operators, from: ops.csv, mapping: ../ops.yaml}]\n"
        "split: {kind: fixed}\nfit: [{class: softmax}]\ncolumns: [analytical, calibrated]\n"
        "metrics: [mape]\n");
  const Answer answer = run("--data data");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr("folds: It fits."));
  EXPECT_THAT(answer.out, Not(HasSubstr("other:")));
  EXPECT_THAT(answer.err, HasSubstr("failed: other: "));
  EXPECT_THAT(answer.err, HasSubstr("fit: entry 1 selects no row of the data"));
  EXPECT_THAT(answer.err, HasSubstr("error: 1 of 2 experiments failed"));
}

}  // namespace
}  // namespace tilecast::sim
