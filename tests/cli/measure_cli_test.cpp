// Tests `tilecast measure` end to end with a few small kernels; needs a C compiler.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTiny =
    "host --out set -d cpu_generic --limit 3 --tiles-per-kernel 4 --longest 20ms "
    "--configurations 2 ";

class MeasureCommand : public CommandTest {
 protected:
  MeasureCommand() : CommandTest("measure") {
    write("two.hlo",
          "HloModule two\n\nENTRY main {\n"
          "  x = f32[64,256]{1,0} parameter(0)\n  y = f32[256,128]{1,0} parameter(1)\n"
          "  d = f32[64,128]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "  ROOT e = f32[64,128]{1,0} tanh(d)\n}\n");
  }
  [[nodiscard]] std::ptrdiff_t rows(const std::string& set = "set",
                                    const std::string& file = "measurements.csv") const {
    const std::string text = read(set + "/" + file);
    return std::count(text.begin(), text.end(), '\n') - 1;
  }
  // Rows measured or skipped: on a busy machine a row with an unstable time is skipped.
  [[nodiscard]] std::ptrdiff_t settled(const std::string& set = "set") const {
    return rows(set) + rows(set, "skipped.csv");
  }
};

TEST_F(MeasureCommand, MeasuresASetThatEvaluateReadsAndGoesOnWithout) {
  const Json json = Json::parse(ok(std::string(kTiny) + "-f json").out);
  EXPECT_EQ(json["schema"], "tilecast.measure.host/1");
  std::map<std::string, std::int64_t> tried, measured;  // by set
  for (const auto& row : json["rows"]) {
    const std::string set = row["set"], what = row["what"];
    if (set != "tiles" && set != "fusion") continue;
    const auto count = row["rows"].get<std::int64_t>();
    tried[set] += count;
    if (!what.starts_with("skipped")) measured[set] += count;
  }
  EXPECT_EQ(measured["tiles"] + measured["fusion"], rows());
  EXPECT_EQ(tried["tiles"] + tried["fusion"], settled());
  EXPECT_GT(measured["tiles"], 0);
  EXPECT_GT(tried["fusion"], 0);  // few rows: on a busy machine all of them may be unstable
  EXPECT_LE(settled(), 3 * 4 + 3);
  const Answer scored = tilecast_ok("evaluate -d cpu_generic set --doubted");
  EXPECT_THAT(scored.out, HasSubstr("measured on cpu_generic"));
  const std::ptrdiff_t before = rows();
  const Answer second = ok(kTiny);
  EXPECT_THAT(second.err, HasSubstr("0 rows measured"));
  EXPECT_EQ(rows(), before);
}

TEST_F(MeasureCommand, MeasuresOnlyTheKernelsOfAFileThatIsGiven) {
  const Answer answer = ok("host --out set -d cpu_generic --tiles-per-kernel 3 two.hlo");
  EXPECT_THAT(answer.out, HasSubstr("files"));
  EXPECT_THAT(answer.out, HasSubstr("matmul_fusion"));
  EXPECT_THAT(read("set/measurements.csv"), Not(HasSubstr("resnet18")));
  EXPECT_THAT(read("set/manifest.yaml"), HasSubstr("device: \"cpu_generic\""));
}

TEST_F(MeasureCommand, DropsATornLastLine) {
  const std::string command = "host --out set -d cpu_generic --tiles-per-kernel 3 two.hlo";
  ok(command);
  const std::ptrdiff_t before = settled();
  const std::string whole = read("set/measurements.csv");
  write("set/measurements.csv", whole.substr(0, whole.size() - 20));
  const Answer again = ok(command);
  EXPECT_THAT(again.err, HasSubstr("dropped a torn last line"));
  EXPECT_EQ(settled(), before);
}

TEST_F(MeasureCommand, StopsAtCtrlCAndKeepsItsRows) {
  // Interrupted as soon as there is a row.
  write("stop.sh",
        "'" TILECAST_BINARY
        "' measure host --out set -d cpu_generic --sets tiles >out.txt 2>err.txt & p=$!\n"
        "for i in $(seq 2000); do\n"
        "  [ -f set/measurements.csv ] && [ $(wc -l <set/measurements.csv) -gt 1 ] "
        "&& break\n  sleep 0.02\ndone\nkill -INT $p\nwait $p\necho code $?\n");
  EXPECT_THAT(tilecast("--version && sh stop.sh").out, HasSubstr("code 130"));
  EXPECT_THAT(read("err.txt"), HasSubstr("stopped: "));
  EXPECT_THAT(read("err.txt"), HasSubstr("the same command resumes set"));
  EXPECT_THAT(read("out.txt"), HasSubstr("all"));
  EXPECT_GT(rows(), 0);
  tilecast_ok("evaluate -d cpu_generic set --doubted");
}

TEST_F(MeasureCommand, DescriptionsGivenByPathAreKeptWithTheSet) {
  write("mine.yaml", "extends: cpu_generic\nname: mine\ndescription: of a test\n");
  const std::string command = "host --out set -d mine.yaml --tiles-per-kernel 2 two.hlo";
  ok(command);
  EXPECT_THAT(read("set/manifest.yaml"), HasSubstr("device: \"device.yaml\""));
  tilecast_ok("evaluate -d set/device.yaml set --doubted");
  EXPECT_EQ(run("host --out set --tiles-per-kernel 2 two.hlo").exit_code, 0) << "without -d too";
  write("mine.yaml", "extends: cpu_generic\nname: other\ndescription: of a test\n");
  expect_failure(command, 1, "differs from set/device.yaml");
  expect_failure("host --out set -d cpu_generic two.hlo", 1,
                 "another device description: got cpu_generic, expected device.yaml");
}

TEST_F(MeasureCommand, AProbedDescriptionInTheFolderIsUsed) {
  write("set/host.yaml", "extends: cpu_generic\nname: probed\ndescription: of a test\n");
  ok("host --out set --tiles-per-kernel 2 two.hlo");
  EXPECT_THAT(read("set/manifest.yaml"), HasSubstr("device: \"host.yaml\""));
}

TEST_F(MeasureCommand, MeasuresASetAgainAndComparesTheTimes) {
  ok("host --out set -d cpu_generic --tiles-per-kernel 4 two.hlo");
  const Json json = Json::parse(ok("repeat set --out again -f json").out);
  EXPECT_EQ(json["schema"], "tilecast.measure.repeat/1");
  EXPECT_EQ(json["rows"][0]["quantity"], "rows");
  EXPECT_EQ(json["rows"][0]["value"], rows("again"));
  EXPECT_EQ(settled("again"), rows("set"));
  expect_failure("repeat set --out set", 2, "expected another folder");
  expect_failure("repeat nowhere --out other", 1, "nowhere: no measurement set");
}

TEST_F(MeasureCommand, SaysWhatIsWrong) {
  expect_failure("host", 2, "--out is required");
  expect_failure("host --out set -d nothing_known", 1, "nothing_known");
  expect_failure("host --out set -d cpu_generic --budget soon", 2,
                 "--budget: got 'soon', expected a time such as 90s, 10m or 1h");
  expect_failure("host --out set -d cpu_generic --longest 5", 2, "--longest");
  expect_failure("host --out set -d cpu_generic --sets music", 2, "music");
  expect_failure("host --out set -d cpu_generic nowhere.hlo", 2, "nowhere.hlo");
  expect_failure("host --out two.hlo/set -d cpu_generic two.hlo", 1, "two.hlo/set");
  write("other/manifest.yaml", "format: tilecast.measurements/1\n");
  expect_failure("host --out other -d cpu_generic two.hlo", 1, "did not begin");
}

TEST_F(MeasureCommand, ABudgetOfNothingMeasuresNothing) {
  const Answer answer = ok("host --out set -d cpu_generic --budget 0s two.hlo");
  EXPECT_THAT(answer.err, HasSubstr("out of time: 0 rows measured"));
  EXPECT_EQ(rows(), 0);
}

TEST_F(MeasureCommand, SaysWhichPackageHasTheCompiler) {
  ASSERT_EQ(setenv("CC", "no_such_compiler", 1), 0);
  expect_failure("host --out set -d cpu_generic two.hlo", 1, "apt-get install");
  unsetenv("CC");
}

TEST_F(MeasureCommand, ExplainsItselfWithExamples) {
  EXPECT_THAT(run("host --help").out, HasSubstr("Examples"));
  EXPECT_THAT(run("repeat --help").out, HasSubstr("Example"));
}

// --- Tests `tilecast hw probe` on this machine, without checking the numbers.

class ProbeCommand : public CommandTest {};

TEST_F(ProbeCommand, WritesADeviceThatOtherVerbsTake) {
  const Json json = Json::parse(ok("hw probe --seconds 0.1 -o mine.yaml --format json").out);
  EXPECT_EQ(json.at("schema"), "tilecast.hw.probe/1");
  EXPECT_FALSE(json.at("rows").empty());
  EXPECT_THAT(read("mine.yaml"), HasSubstr("name: \"mine\""));
  ok("hw check mine.yaml");
  ok("simulate --device ./mine.yaml " + support::source_dir().string() +
     "/configs/programs/mlp_train.hlo");
}

TEST_F(ProbeCommand, NamesTheDeviceAsAsked) {
  const Answer probed = ok("hw probe --seconds 0.1 --name 'it: \"here\"' --format yaml");
  EXPECT_THAT(probed.out, HasSubstr(R"(name: "it: \"here\"")"));
}

TEST_F(ProbeCommand, RefusesATimeThatIsNone) {
  const Answer answer = run("hw probe --seconds 0");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("--seconds"));
}
}  // namespace
}  // namespace tilecast::sim
