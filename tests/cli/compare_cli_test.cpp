// Tests `tilecast compare` on a module of three kernels, with invented measurements.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/texts.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

// copy.1 and copy.2 compute the same; add.3 and copy.1 have the compiler's estimate; copy.1's is
// the largest integer, which means "unknown".
constexpr const char* kModule = R"(HloModule small, is_scheduled=true

ENTRY %main (x: f32[1024,1024]) -> f32[1024,1024] {
  %x = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  %copy.1 = f32[1024,1024]{1,0:T(8,128)} copy(f32[1024,1024]{1,0:T(8,128)} %x), backend_config={"window_config":{"output_window_bounds":["16","8"],"estimated_cycles":"9223372036854775807"}}
  %copy.2 = f32[1024,1024]{1,0:T(8,128)} copy(f32[1024,1024]{1,0:T(8,128)} %copy.1), backend_config={"window_config":{"output_window_bounds":["16","8"],"estimated_cycles":"9223372036854775807"}}
  ROOT %add.3 = f32[1024,1024]{1,0:T(8,128)} add(f32[1024,1024]{1,0:T(8,128)} %copy.1, f32[1024,1024]{1,0:T(8,128)} %copy.2), backend_config={"window_config":{"output_window_bounds":["16","8"],"estimated_cycles":"47000"}}
}
)";
constexpr double kClockHz = 940e6;  // of the preset used here

class CompareCommand : public CommandTest {
 protected:
  CompareCommand() : CommandTest("compare") {
    write("small.hlo", kModule);
    write("set/small.hlo", kModule);
    write("set/manifest.yaml",
          "format: tilecast.measurements/1\nname: profile\nsource: nobody\nlicence: none\n"
          "timing: device\ndevice: tpu_v3\n");
    write("set/measurements.csv",
          "kernel,program,op,dtype,m,n,k,runtime_ns,x_run\n"
          "small.hlo#copy.1,,,,,,,30000,a\n"
          "small.hlo#copy.2,,,,,,,40000,b\n"
          "small.hlo#add.3,,,,,,,60000,b\n"
          ",small.hlo,,,,,,125000,c\n"
          ",,matmul,bf16,1024,1024,1024,60000,d\n");
    write("fitted.yaml",
          "extends: tpu_v3\nname: fitted\ncalibration:\n  memory_bandwidth: 0.5\n"
          "  source: a test\n");
  }

  Json run_json(const std::string& arguments) const {
    const Answer answer = ok(arguments + " --format json");
    return Json::parse(answer.out, nullptr, false);
  }
};

const Json& row_of(const Json& document, const std::string& name) {
  static const Json kNone;
  for (const Json& row : document["rows"]) {
    if (row["name"] == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kNone;
}

double time_of(const Json& row, const std::string& side) {
  for (const Json& cell : row["times"]) {
    if (cell["side"] == side) return cell["time_s"];
  }
  return -1;
}

const Json& total_of(const Json& document, const std::string& side) {
  static const Json kNone;
  for (const Json& total : document["totals"]) {
    if (total["side"] == side) return total;
  }
  ADD_FAILURE() << "no total of " << side;
  return kNone;
}

// Nothing overlaps in the module, so idle power applies to the same time in both.
TEST_F(CompareCommand, TotalsHaveTheEnergyThatSimulateTells) {
  const std::string one =
      tilecast("simulate -d tpu_v3 --model analytical small.hlo --format table").out;
  const std::size_t begin = one.find("energy    ") + 10;
  const std::string energy = one.substr(begin, one.find("  (", begin) - begin);
  EXPECT_THAT(energy, HasSubstr("J"));
  EXPECT_THAT(run("-d tpu_v3 --model analytical small.hlo").out, HasSubstr("  " + energy + "\n"));
}

TEST_F(CompareCommand, ReadsTheCompilersEstimateAtTheClockOfTheDevice) {
  const Json document = run_json("-d tpu_v3 small.hlo");
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "add.3"), "compiler"), 47000 / kClockHz);
  EXPECT_EQ(time_of(row_of(document, "copy.1"), "compiler"), -1);  // "unknown" is not a time
  EXPECT_EQ(total_of(document, "compiler")["rows"], 1);
  EXPECT_EQ(document["reference"], "default");
}

TEST_F(CompareCommand, JoinsKernelsWithTheirOwnMeasurements) {
  const Json document = run_json("-d tpu_v3 small.hlo --measured set");
  EXPECT_EQ(document["reference"], "measured");
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "copy.1"), "measured"), 30e-6);
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "copy.2"), "measured"), 40e-6);  // equal work
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "add.3"), "measured"), 60e-6);
  EXPECT_DOUBLE_EQ(document["groups"][0]["whole_runs"][0]["time_s"], 125e-6);
  ASSERT_EQ(document["unmatched"].size(), 1U);
  EXPECT_THAT(document["unmatched"][0]["name"], HasSubstr("matmul"));
}

TEST_F(CompareCommand, TotalsAreSumsOverKernels) {
  const Json document = run_json("-d tpu_v3 small.hlo --measured set");
  double lost_s = 0, difference_s = 0;
  for (const Json& row : document["rows"]) {
    const double difference = time_of(row, "default") - time_of(row, "measured");
    lost_s += std::abs(difference);
    difference_s += difference;
  }
  EXPECT_NEAR(total_of(document, "default")["lost_s"], lost_s, 1e-15);
  EXPECT_NEAR(total_of(document, "default")["difference_s"], difference_s, 1e-15);
  EXPECT_NEAR(total_of(document, "measured")["time_s"], 130e-6, 1e-15);
}

TEST_F(CompareCommand, JoinsByNameWhereTheModuleMeasuredDiffers) {
  write("set/small.hlo", support::replaced_all(kModule, "1024,1024", "512,1024"));
  const Answer answer = ok("-d tpu_v3 small.hlo --measured set");
  EXPECT_THAT(answer.out, HasSubstr("profile: 3 kernels joined by name only"));
  EXPECT_THAT(answer.out, HasSubstr("the run of small is of a module that differs"));
}

TEST_F(CompareCommand, TakesTheTileTheCompilerChoseElseTheFastest) {
  write("set/measurements.csv",
        "kernel,output_bounds,runtime_ns\nsmall.hlo#copy.1,16 8,40000\n"
        "small.hlo#copy.1,8 8,35000\nsmall.hlo#add.3,8 8,80000\nsmall.hlo#add.3,4 8,70000\n");
  const Json document = run_json("-d tpu_v3 small.hlo --measured set");
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "copy.1"), "measured"), 40e-6);
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "add.3"), "measured"), 70e-6);
  EXPECT_THAT(document["notes"].dump(), HasSubstr("1 kernel with the fastest tile measured"));
}

TEST_F(CompareCommand, JoinsATraceOfTheProgram) {
  write("trace.json", R"({"traceEvents": [
    {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 30, "name": "copy.1"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 40, "dur": 50, "name": "copy.1"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 100, "dur": 60, "name": "add.3"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 170, "dur": 7, "name": "stray.9"}]})");
  const Json document = run_json("-d tpu_v3 --trace trace.json small.hlo");
  EXPECT_EQ(document["reference"], "measured");
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "copy.1"), "measured"), 40e-6);  // mean of both
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "add.3"), "measured"), 60e-6);
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "copy.2"), "measured"), 40e-6);  // equal to copy.1
  EXPECT_THAT(document["notes"].dump(), HasSubstr("1 kernel with the time of equal work"));
  EXPECT_THAT(document["notes"].dump(), HasSubstr("stray.9"));
  expect_failure("-d tpu_v3 small.hlo small.hlo --trace trace.json", 2, "expected one HLO file");
  expect_failure("-d tpu_v3 small.hlo --trace missing.json", 1, "missing.json");
}

TEST_F(CompareCommand, ComparesDevicesAndModels) {
  const Json devices = run_json("-d tpu_v3 -d fitted.yaml small.hlo");
  EXPECT_EQ(devices["sides"][0]["name"], "tpu_v3");
  EXPECT_EQ(devices["sides"][1]["name"], "fitted");
  const Json& copy = row_of(devices, "copy.1");
  EXPECT_GT(time_of(copy, "fitted"), time_of(copy, "tpu_v3"));  // half the bandwidth
  const Json models =
      run_json("-d tpu_v3 --model analytical --model roofline small.hlo --reference roofline");
  EXPECT_EQ(models["reference"], "roofline");
  const Json both = run_json("-d tpu_v3 -d tpu_v3 --model analytical --model roofline small.hlo");
  EXPECT_EQ(both["sides"][2]["name"], "analytical tpu_v3 #2");
}

TEST_F(CompareCommand, TakesTheDispatchOffHostTimesOfKernels) {
  write("set/manifest.yaml",
        "format: tilecast.measurements/1\nname: profile\nsource: nobody\nlicence: none\n"
        "timing: host\ndevice: tpu_v3\ndispatch:\n  copy: 10 us\n  add: 61 us\n  matmul: 10 us\n");
  const Json document = run_json("-d tpu_v3 small.hlo --measured set");
  EXPECT_NEAR(time_of(row_of(document, "copy.2"), "measured"), 30e-6, 1e-15);
  EXPECT_EQ(time_of(row_of(document, "add.3"), "measured"), -1);  // its 60 us are below the floor
  EXPECT_THAT(document["notes"].dump(), HasSubstr("1 row left out: shorter than the dispatch"));
}

TEST_F(CompareCommand, FindsTheErrorsThatEvaluateFinds) {
  const Json document = run_json("-d tpu_v3 set");
  const Json evaluated =
      Json::parse(tilecast_ok("evaluate -d tpu_v3 --model default set --draws 1 -f json").out);
  for (const Json& score : evaluated["scores"]) {
    if (score["by"] != "all" || score["metric"] != "median_ape") continue;
    EXPECT_NEAR(score["value"], total_of(document, "default")["median_ape"], 1e-12);
    return;
  }
  ADD_FAILURE() << evaluated["scores"].dump();
}

TEST_F(CompareCommand, ComparesRowsOfMeasurements) {
  const Json document = run_json("-d tpu_v3 -d fitted.yaml set");
  EXPECT_EQ(document["rows"].size(), 5U);
  EXPECT_EQ(document["sides"].size(), 4U);  // two devices, compiler, measured (once)
  EXPECT_EQ(document["reference"], "measured");
  EXPECT_DOUBLE_EQ(time_of(row_of(document, "add.3"), "compiler"), 47000 / kClockHz);
  const Json some = run_json("-d tpu_v3 set --where x_run=b");
  EXPECT_EQ(some["rows"].size(), 2U);
}

TEST_F(CompareCommand, WritesTablesAndCsv) {
  const Answer table = ok("-d tpu_v3 small.hlo --measured set --top 1");
  EXPECT_THAT(table.out, HasSubstr("measured us"));
  EXPECT_THAT(table.out, HasSubstr("... 2 more rows"));
  EXPECT_THAT(run("-d tpu_v3 small.hlo --measured set --top 1 --all").out,
              Not(HasSubstr("more rows")));
  EXPECT_THAT(run("-d tpu_v3 small.hlo --format csv").out,
              StartsWith("group,name,class,tile,launches,line,side,"));
}

TEST_F(CompareCommand, OptionsDoNotSwallowTheFilesBehindThem) {
  ok("--measured set --model roofline -d tpu_v3 small.hlo");
  ok("--where x_run=b -d tpu_v3 set");
}

TEST_F(CompareCommand, RefusesWhatItCannotCompare) {
  expect_failure("small.hlo", 2, "--device is required");
  expect_failure("-d tpu_v3 small.hlo set", 2, "expected one kind; --measured SET");
  expect_failure("-d tpu_v3 set --measured set", 2, "--measured");
  expect_failure("-d tpu_v3 small.hlo --where x_run=b", 2, "--where");
  expect_failure("-d tpu_v3 set --where x_run", 2, "--where: got 'x_run', expected column=value");
  expect_failure("-d tpu_v3 set --where run=b", 1, "no column is called 'run'");
  expect_failure("-d tpu_v3 set --where x_run=z", 1, "nothing to compare");
  expect_failure("-d tpu_v3 set set", 1, "the same data as a set before it");
  expect_failure("-d tpu_v3 small.hlo --reference me", 2, "--reference: got 'me', expected one of");
  expect_failure("-d tpu_v3 small.hlo --top -1", 2, "--top");
  expect_failure("-d tpu_v3 missing.hlo", 1, "missing.hlo");
}

}  // namespace
}  // namespace tilecast::sim
