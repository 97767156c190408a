// `tilecast import` from the command line: exit codes, the summary, and importing our own traces.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

class ImportVerb : public CommandTest {
 protected:
  ImportVerb() {
    write("map.yaml",
          "name: t\nsource: a test\nlicence: none\ntiming: device\nhow_timed: by hand\n"
          "device: tpu_v3\ndtype: bf16\ntables:\n  - columns:\n      op: {constant: matmul}\n"
          "      m: m\n      n: 64\n      k: 64\n      runtime: {column: t, unit: us}\n");
  }
};

TEST_F(ImportVerb, SaysWhatItTookAndWhatItLeftOut) {
  write("a.csv", "m,t\n64,5\nx,6\n");
  const Answer refused = run("import operators -m ./map.yaml -o set a.csv");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.err, "error: a.csv:3: column 'm': got 'x', expected a number\n");
  EXPECT_FALSE(exists("set"));
  const Answer taken = ok("import operators -m ./map.yaml -o set --keep-going --format json a.csv");
  EXPECT_EQ(taken.err, "left out: a.csv:3: column 'm': got 'x', expected a number\n");
  EXPECT_FALSE(nlohmann::json::parse(taken.out).empty());
  const Answer again = run("import operators -m ./map.yaml -o set a.csv");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("--force replaces it"));
}

TEST_F(ImportVerb, WrongUsageIsTwoAndNamesWhatThereIs) {
  EXPECT_EQ(run("import").exit_code, 2);
  EXPECT_EQ(run("import operators a.csv").exit_code, 2);
  EXPECT_EQ(run("import trace --module m.hlo -o set t.json").exit_code, 2);
  const Answer unknown = run("import operators -m no_such_mapping -o set a.csv");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("neusight"));
  EXPECT_THAT(run("import trace --help").out, HasSubstr("Examples"));
}

// The output of ops with an added column of times is a measurement set.
TEST_F(ImportVerb, TheTableOfOpsWithTimesIsASet) {
  write("ops.csv",
        "op,dtype,m,n,k,elements,runtime_ns\nmatmul,bf16,512,512,512,,20000\n"
        "add,f32,,,,1048576,30000\n");
  ok("ops -d tpu_v3 ops.csv");
  write("mine.yaml", "extends: tpu_v3\nname: mine\n");
  ok("import operators -d ./mine.yaml --name lab -o set ops.csv");
  EXPECT_THAT(read("set/manifest.yaml"), HasSubstr("name: \"lab\""));
  EXPECT_THAT(read("set/manifest.yaml"), HasSubstr("device: \"devices/mine.yaml\""));
  const Answer score = ok("evaluate -d ./mine.yaml --model analytical set");
  EXPECT_THAT(score.out, HasSubstr("n = 2 rows"));
  EXPECT_THAT(score.out, testing::Not(HasSubstr("scored against")));
  write("none.yaml", "clock: fast\n");
  EXPECT_EQ(run("import operators -d ./none.yaml -o other ops.csv").exit_code, 1);
  EXPECT_FALSE(exists("other"));
}

TEST_F(ImportVerb, OurOwnTraceComesBackAsTheTimesOfTheSimulation) {
  const std::string module =
      support::source_dir().string() + "/configs/programs/mlp_train_loop.hlo";
  ASSERT_EQ(
      run("simulate -d tpu_v3 --model analytical -f trace -o t.json '" + module + "'").exit_code,
      0);
  ok("import trace -d tpu_v3 --module '" + module + "' -o set t.json");
  // The analytical model has no error on its own times, up to the set's rounding (1 ps).
  const Answer score = run("evaluate -d tpu_v3 --model analytical --draws 10 -f csv set");
  const std::string row = "all,all,analytical,mape,";
  const std::size_t at = score.out.find(row);
  ASSERT_NE(at, std::string::npos) << score.out << score.err;
  EXPECT_LT(std::stod(score.out.substr(at + row.size())), 1e-5);
}

}  // namespace
}  // namespace tilecast::sim
