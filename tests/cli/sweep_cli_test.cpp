// Tests `tilecast sweep` (threads, MPI ranks, journals) and `tilecast sensitivity`.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class SweepCommand : public CommandTest {
 protected:
  SweepCommand() : CommandTest("sweep") {
    write("s.yaml", "format: tilecast.study/1\nname: t\ndevices: [tpu_v3, tpu_v5e]\nprograms: [" +
                        support::source_dir().string() +
                        "/configs/programs/mlp_train.hlo]\nmodels: [analytical]\naxes:\n"
                        "  hbm.bandwidth: {log: [400 GB/s, 3.2 TB/s], points: 20}\n"
                        "  clock: {range: [0.8 GHz, 2 GHz], points: 5}\n"
                        "derive: {area: hbm.bandwidth / 1e9 + clock / 1e6}\n");
  }
  [[nodiscard]] std::string sweep(const std::string& options) const {
    const Answer answer = ok("s.yaml --format csv " + options);
    return answer.out;
  }
  // "" if this machine and this build can start ranks; else what is missing.
  [[nodiscard]] std::string no_ranks() const {
    const Answer answer =
        shell("mpirun --allow-run-as-root --oversubscribe -n 1 '" TILECAST_BINARY "' sweep s.yaml");
    constexpr int kNoCommand = 127;
    const bool missing = answer.exit_code == kNoCommand ||
                         answer.err.find("module of MPI was not found") != std::string::npos;
    return missing ? "cannot start ranks: " + answer.err : "";
  }
  // Runs a shell command in the folder of the test.
  Answer shell(const std::string& command) const {
    return tilecast("--version >version.txt; " + command);
  }
};

TEST_F(SweepCommand, GivesTheSameBytesForAnyNumberOfThreads) {
  const std::string one = sweep("--jobs 1");
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1 + 2 * 20 * 5);
  EXPECT_EQ(sweep("--jobs 2"), one);
  EXPECT_EQ(sweep("--jobs 5"), one);
}

TEST_F(SweepCommand, GivesTheSameBytesForAnyNumberOfRanks) {
  if (const std::string why = no_ranks(); !why.empty()) GTEST_SKIP() << why;
  const std::string one = sweep("--jobs 1");
  for (const std::string ranks : {"1", "2", "4"}) {
    const Answer answer = shell("mpirun --allow-run-as-root --oversubscribe -n " + ranks +
                                " '" TILECAST_BINARY "' sweep s.yaml --format csv --jobs 1");
    ASSERT_EQ(answer.exit_code, 0) << answer.err;
    EXPECT_EQ(answer.out, one) << ranks << " ranks";
  }
}

TEST_F(SweepCommand, GoesOnAfterItWasKilled) {
  const std::string whole = sweep("--jobs 1");
  for (const std::string wait : {"0.05", "0.15", "0.25"}) {
    shell("timeout -s KILL " + wait + " '" TILECAST_BINARY "' sweep s.yaml -j 2 -f csv -o out.csv");
    ok("s.yaml -f csv -o out.csv --resume");
    EXPECT_EQ(read("out.csv"), whole);
    EXPECT_FALSE(exists("out.csv.journal"));
  }
}

TEST_F(SweepCommand, GoesOnAfterARankWasKilled) {
  if (const std::string why = no_ranks(); !why.empty()) GTEST_SKIP() << why;
  const std::string whole = sweep("--jobs 1");
  shell("mpirun --allow-run-as-root --oversubscribe -n 1 '" TILECAST_BINARY
        "' sweep s.yaml --journal j -f csv -o out.csv : -n 1 timeout -s KILL 0.4 '" TILECAST_BINARY
        "' sweep s.yaml --journal j -f csv -o out.csv");
  ok("s.yaml -f csv --journal j -o out.csv --resume");
  EXPECT_EQ(read("out.csv"), whole);
}

TEST_F(SweepCommand, RefusesAJournalOfAnotherStudy) {
  EXPECT_NE(sweep("--journal j"), "");
  write("s.yaml", read("s.yaml") + "objectives: [time_s]\n");
  EXPECT_EQ(run("s.yaml --journal j --resume").exit_code, 1);
  expect_failure("s.yaml --resume", 2, "--journal");
}

TEST_F(SweepCommand, PrintsJsonAndFronts) {
  const Json all = Json::parse(run("s.yaml --format json").out);
  EXPECT_EQ(all.at("schema"), "tilecast.sweep/2");
  EXPECT_EQ(all.at("rows").size(), 200U);
  const Json front = Json::parse(run("s.yaml --format json --pareto time_s,area").out).at("rows");
  EXPECT_LT(front.size(), 200U);
  EXPECT_GT(front.size(), 2U);
  for (const Json& kept : front) {
    for (const Json& other : all.at("rows")) {
      EXPECT_FALSE(other.at("time_s") < kept.at("time_s") && other.at("area") < kept.at("area"));
    }
  }
  expect_failure("s.yaml --front", 2, "no objectives");
  write("o.yaml", read("s.yaml") + "objectives: [time_s, area]\n");
  EXPECT_EQ(run("o.yaml -f csv --front").out, sweep("--pareto time_s,area"));
  const Json study = Json::parse(run("o.yaml --format json").out);
  EXPECT_EQ(study.at("objectives"), (Json{"time_s", "area"}));
  for (const Json& axis : study.at("axes")) EXPECT_TRUE(study.at("rows")[0].contains(axis)) << axis;
  expect_failure("s.yaml --pareto time,area", 2, "did you mean 'time_s'");
}

TEST_F(SweepCommand, OptimisesUnderConstraintsAndGoesOnAfterItWasKilled) {
  write("o.yaml", read("s.yaml") + "constraints: [area <= 3000]\nobjectives: [time_s]\n");
  const std::string arguments = "o.yaml --optimise --evaluations 90 -f csv -o out.csv";
  const Answer whole = ok(arguments);
  EXPECT_THAT(whole.err, HasSubstr("least time_s "));
  EXPECT_THAT(whole.err, HasSubstr("found in 90 evaluations"));
  EXPECT_THAT(whole.err, HasSubstr("constraints active: area <= 3000"));
  const std::string rows = read("out.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 90);
  EXPECT_FALSE(exists("out.csv.journal"));
  for (const std::string wait : {"0.05", "0.15"}) {
    shell("timeout -s KILL " + wait + " '" TILECAST_BINARY "' sweep " + arguments);
    ok(arguments + " --resume");
    EXPECT_EQ(read("out.csv"), rows);
  }
  const Json json = Json::parse(run("o.yaml --optimise --evaluations 90 -f json").out).at("rows");
  double least_s = 1;
  const Json* best = nullptr;
  for (const Json& row : json) {
    if (row.at("feasible") == 1) least_s = std::min(least_s, row.at("time_s").get<double>());
    if (row.at("best") == 1) best = &row;
  }
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->at("time_s").get<double>(), least_s);
  const Json grid = Json::parse(run("o.yaml -f json").out).at("rows");
  for (const Json& row : grid) {
    EXPECT_FALSE(row.at("feasible") == 1 && row.at("time_s").get<double>() < least_s);
  }
  EXPECT_THAT(run("o.yaml --optimise --evaluations 90").out, HasSubstr("found in 90 evaluations"));
}

TEST_F(SweepCommand, OptimiseSaysWhatItNeeds) {
  expect_failure("s.yaml --optimise", 2, "no objectives");
  expect_failure("s.yaml --optimise tim_s", 2, "did you mean 'time_s'");
  expect_failure("s.yaml --evaluations 5", 2, "--optimise");
  write("l.yaml", read("s.yaml").substr(0, read("s.yaml").find("axes:")) +
                      "axes: {clock: {list: [1 GHz, 2 GHz]}}\nobjectives: [time_s]\n");
  expect_failure("l.yaml --optimise", 2, "no axis is a range");
  write("i.yaml", read("s.yaml") + "constraints: [area <= 10]\nobjectives: [time_s]\n");
  expect_failure("i.yaml --optimise --evaluations 20", 1, "none of 20 machines is feasible");
}

TEST_F(SweepCommand, SensitivityAgreesWithSet) {
  const std::string program = support::source_dir().string() + "/configs/programs/mlp_train.hlo";
  const auto json = [&](const std::string& arguments) {
    return Json::parse(tilecast(arguments + " -d tpu_v3 --format json " + program).out);
  };
  const Json all = json("sensitivity");
  EXPECT_EQ(all.at("schema"), "tilecast.sensitivity/1");
  const auto time_at = [&](const std::string& clock_hz) {
    return json("simulate --set 'clock=" + clock_hz + " Hz'")
        .at("programs")
        .at(0)
        .at("time_s")
        .get<double>();
  };
  bool seen = false;
  for (const Json& number : all.at("numbers")) {
    if (number.at("key") != "clock") continue;
    seen = true;
    const auto clock_hz = number.at("value_si").get<double>();
    const double slower_s = time_at(std::to_string(clock_hz)),
                 faster_s = time_at(std::to_string(clock_hz * 1.01));
    EXPECT_EQ(slower_s, all.at("time_s").get<double>());
    EXPECT_NEAR(number.at("elasticity_up").get<double>(),
                std::log(faster_s / slower_s) / std::log(1.01), 1e-9);
  }
  EXPECT_TRUE(seen);
  const std::string table = tilecast("sensitivity -d tpu_v3 " + program).out;
  EXPECT_THAT(table, HasSubstr(all.at("numbers").at(0).at("key").get<std::string>()));
  EXPECT_THAT(table, HasSubstr("What limits next"));
}

// --- Tests `validate` on invented measurements.

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
  EXPECT_THAT(
      answer.out,
      HasSubstr("fitted on 3 rows of 3 kernels of 3 programs, scored on 3 rows of 3 kernels"));
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
