// Tests `tilecast compare` on a module of three kernels, with invented measurements.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"
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

double sum_of(const Json& list, const std::string& key) {
  double sum = 0;
  for (const Json& one : list) sum += one.at(key).get<double>();
  return sum;
}

// Resources, kernels and the layers of depth 0 of a difference each add up to its time.
void expect_adds_up(const Json& difference) {
  const Json& time = difference.at("totals").at(0);
  ASSERT_EQ(time.at("name"), "time_s");
  for (const char* list : {"resources", "kernels"}) {
    EXPECT_NEAR(sum_of(difference.at(list), "before_s"), time.at("before"), 1e-12) << list;
    EXPECT_NEAR(sum_of(difference.at(list), "after_s"), time.at("after"), 1e-12) << list;
  }
  double layers_s = 0;
  for (const Json& layer : difference.at("layers")) {
    if (layer.at("depth") == 0) layers_s += layer.at("change_s").get<double>();
  }
  EXPECT_NEAR(layers_s, time.at("after").get<double>() - time.at("before").get<double>(), 1e-12);
  for (const Json& kernel : difference.at("kernels")) {
    double parts_s = 0;
    for (const Json& part : kernel.value("changes_s", Json::object())) {
      parts_s += part.get<double>();
    }
    EXPECT_NEAR(parts_s, kernel.at("change_s"), 1e-12);
  }
}

TEST_F(CompareCommand, SplitsTheDifferenceOfTwoDevicesByResourceLayerAndKernel) {
  const Json difference = run_json("-d tpu_v3 -d fitted.yaml small.hlo").at("difference");
  expect_adds_up(difference);
  EXPECT_EQ(difference.at("before").at("name"), "tpu_v3");
  EXPECT_EQ(difference.at("after").at("name"), "fitted");
  const Json& most = difference.at("resources").at(0);  // half the bandwidth
  EXPECT_THAT(most.at("name").get<std::string>(), StartsWith("hbm_"));
  EXPECT_GT(most.at("change_s"), 0);
}

TEST_F(CompareCommand, TakesAValueForTheSecondSideOnly) {
  write("wide.yaml", "extends: tpu_v3\nmemory:\n  hbm:\n    bandwidth: 900 GB/s\n    source: me\n");
  const Json with = run_json("-d tpu_v3 --with hbm.bandwidth=900GB/s small.hlo");
  const Json file = run_json("-d tpu_v3 -d wide.yaml small.hlo");
  EXPECT_EQ(with["sides"][1]["name"], "tpu_v3 with hbm.bandwidth=900GB/s");
  EXPECT_EQ(with["difference"]["resources"], file["difference"]["resources"]);
  EXPECT_EQ(with["difference"]["kernels"], file["difference"]["kernels"]);
  EXPECT_LT(with["difference"]["resources"][0]["change_s"], 0);
  const Json same = run_json("-d tpu_v3 --with hbm.bandwidth=450GB/s small.hlo");
  EXPECT_EQ(sum_of(same["difference"]["kernels"], "change_s"), 0);
}

TEST_F(CompareCommand, PairsTheKernelsOfTwoPrograms) {
  // Another copy in front, all names changed; sum.9 computes what add.3 does.
  std::string longer = support::replaced_all(kModule, "add.3", "sum.9");
  longer = support::replaced_all(longer, "copy.1 =",
                                 "copy.0 = f32[1024,1024]{1,0:T(8,128)} "
                                 "negate(f32[1024,1024]{1,0:T(8,128)} %x)\n  %copy.1 =");
  write("longer.hlo", longer);
  const Json difference = run_json("-d tpu_v3 small.hlo longer.hlo").at("difference");
  expect_adds_up(difference);
  ASSERT_EQ(difference.at("kernels").size(), 4U);
  for (const Json& kernel : difference.at("kernels")) {
    if (kernel.at("name_after") == "copy.0") {
      EXPECT_TRUE(kernel.at("name_before").is_null());
      EXPECT_EQ(kernel.at("change_s"), kernel.at("after_s"));
    } else {
      EXPECT_EQ(kernel.at("change_s"), 0);
    }
    if (kernel.at("name_after") == "sum.9") {
      EXPECT_EQ(kernel.at("name_before"), "add.3");
    }
  }
  const Answer table = ok("-d tpu_v3 small.hlo longer.hlo");
  EXPECT_THAT(table.out, HasSubstr("add.3 -> sum.9"));
  EXPECT_THAT(run("-d tpu_v3 small.hlo longer.hlo -f csv").out, StartsWith("of,name,depth,"));
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
  EXPECT_THAT(table.out, HasSubstr("measured"));
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
  expect_failure("-d fitted small.hlo", 1, "did you mean './fitted.yaml'?");
  expect_failure("-d tpu_v3 --with hbm.bandwith=1TB/s small.hlo", 1, "bandwith");
}

// --- Tests `tilecast evaluate` on a set of three invented rows.

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

TEST_F(EvaluateCommand, ShowsOthersNumbersMarked) {
  EXPECT_THAT(ok("-d tpu_v3 set --references").out, HasSubstr("Others' published numbers"));
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

// --- Tests `tilecast calibrate` on the synthetic set shipped with Tilecast.

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
