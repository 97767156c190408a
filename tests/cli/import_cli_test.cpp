// `tilecast import` from the command line: exit codes, the summary, and importing our own traces.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/source_text.h"
#include "tests/cli/command_test.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// --- tilecast convert, and programs in other formats where HLO text was expected.

class Convert : public CommandTest {
 protected:
  Convert() : CommandTest("convert") {
    write("dot.hlo",
          "HloModule m\n\nENTRY main {\n  a = bf16[256,512] parameter(0)\n"
          "  b = bf16[512,1024] parameter(1)\n"
          "  ROOT dot.3 = bf16[256,1024] dot(a, b), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n}\n");
  }
};

TEST_F(Convert, HloReadsBackToTheSameModuleAndStablehloToTheSameWork) {
  ok("dot.hlo -o a.hlo");
  const Answer to_mlir = ok("dot.hlo -o b.mlir");
  EXPECT_THAT(to_mlir.err, HasSubstr("note: StableHLO keeps no layouts"));
  EXPECT_THAT(read("b.mlir"), AllOf(StartsWith("module @m attributes {mhlo.num_partitions = 1"),
                                    HasSubstr("stablehlo.dot_general")));
  ok("b.mlir -o c.hlo");
  EXPECT_THAT(read("c.hlo"), HasSubstr("lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  ok("a.hlo -o d.hlo");
  EXPECT_EQ(read("d.hlo"), read("a.hlo"));
}

// When read, StableHLO values are named by opcode and a number.
TEST_F(Convert, EveryFormSimulatesAlike) {
  ok("dot.hlo -o b.mlir");
  const std::string verb = "simulate --device tpu_v3 --model analytical --format csv ";
  const auto values = [&](const std::string& file) {
    return support::replaced_all(tilecast_ok(verb + file).out, file, "");
  };
  EXPECT_EQ(values("dot.hlo"), values("b.mlir"));
}

TEST_F(Convert, DashWritesToStdoutAndToChoosesTheForm) {
  EXPECT_THAT(run("dot.hlo -o -").out, StartsWith("HloModule m"));
  EXPECT_THAT(run("dot.hlo -o - --to stablehlo").out, StartsWith("module @m"));
  expect_failure("dot.hlo -o out.xyz", 2, "expected FILE.hlo or FILE.mlir");
  expect_failure("dot.hlo", 2, "--output is required");
}

TEST_F(Convert, ModulesOfAFolderAreChosenByName) {
  const std::string text = read("dot.hlo");
  write("dump/module_0001.f.cpu_after_optimizations.txt", text);
  write("dump/module_0001.f.before_optimizations.txt", text);
  ok("dump -o one.hlo");
  write("dump/module_0002.g.cpu_after_optimizations.txt", text);
  expect_failure("dump -o -", 1, "choose it with --module NAME");
  expect_failure("dump -o - --module h", 1, "module_0002.g.cpu_after_optimizations.txt");
  ok("dump -o two.hlo --module g");
  const Answer both = tilecast_ok("simulate --device tpu_v3 dump");
  EXPECT_THAT(both.err, AllOf(HasSubstr("2 modules simulated, 1 other files left out"),
                              HasSubstr("before_optimizations")));
}

TEST_F(Convert, ShapesAndBoundsAreCheckedBeforeFilesAreRead) {
  for (const char* shape : {"x", "=1x2", "x=1x", "x=1xx2", "x=a", "x=-1"}) {
    expect_failure("dot.hlo -o - --shape " + std::string(shape), 2, "expected NAME=SIZES");
  }
  expect_failure("dot.hlo -o - --bound 0", 2, "bound");
  ok("dot.hlo -o - --shape x=1x3x224x224 --bound 8");
}

TEST_F(Convert, UnknownFilesSayWhatWasTried) {
  write("data.json", "{}");
  expect_failure("data.json -o -", 1, "data.json: got JSON, expected one of: HLO protos");
}

// --- From a profile to results with the command: compare, then calibrate on the same file.

using Json = nlohmann::json;

struct RealProfile {
  const char* name;
  const char* device;
  double joined;  // minimum share of device time
};

class ProfileCommand : public CommandTest, public ::testing::WithParamInterface<RealProfile> {
 protected:
  [[nodiscard]] static std::string path() {
    const std::string file = std::string(GetParam().name) + ".xplane.pb";
    return (support::shared_dir() / "profiles" / file).string();
  }
};

TEST_P(ProfileCommand, ComparesByTheDeviceThatTheProfileNames) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is absent";
  const Json json = Json::parse(tilecast_ok("compare " + path() + " --format json").out);
  EXPECT_EQ(json["sides"][0]["device"], GetParam().device);
  const Json& profile = json["profile"];
  EXPECT_THAT(profile["guess"].get<std::string>(), StartsWith(GetParam().device));
  EXPECT_GE(profile["joined_s"].get<double>() / profile["device_time_s"].get<double>(),
            GetParam().joined);
  double left_s = 0;
  for (const Json& left : profile["left_over"]) left_s += left["time_s"].get<double>();
  EXPECT_NEAR(profile["joined_s"].get<double>() + left_s, profile["device_time_s"].get<double>(),
              1e-9 + 1e-6 * profile["device_time_s"].get<double>());
  // Rows that overlap no other row make up the joined time.
  double rows_s = 0;
  for (const Json& row : json["rows"]) {
    if (row["profile"]["overlaps"]) continue;
    for (const Json& cell : row["times"]) {
      if (cell["side"] == "measured") rows_s += cell["total_s"].get<double>();
    }
  }
  EXPECT_NEAR(rows_s / profile["joined_s"].get<double>(), 1, 1e-6);
}

TEST_P(ProfileCommand, IsImportedAsMeasuredOnTheDeviceThatItNames) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is absent";
  tilecast_ok("import xplane " + path() + " -o set");
  EXPECT_THAT(read("set/manifest.yaml"),
              HasSubstr("device: \"" + std::string(GetParam().device) + "\""));
  tilecast_ok("compare set --device " + std::string(GetParam().device));
}

TEST_P(ProfileCommand, TheNextCommandCalibratesOnTheSameFile) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is absent";
  const Answer compared = tilecast_ok("compare " + path() + " --top 3");
  const std::string start = "next: tilecast ";
  const std::size_t at = compared.out.rfind(start);
  ASSERT_NE(at, std::string::npos) << compared.out;
  std::string next = compared.out.substr(at + start.size());
  next.pop_back();
  const Answer calibrated = tilecast(next);
  EXPECT_THAT(calibrated.err, HasSubstr("rows of"));
  // Three rows are needed; for a profile with fewer instructions an error says so.
  if (calibrated.exit_code != 0) {
    EXPECT_THAT(calibrated.err, HasSubstr("expected at least"));
  }
}

INSTANTIATE_TEST_SUITE_P(Real, ProfileCommand,
                         ::testing::Values(RealProfile{"mi300x_jax_attention", "mi300x", 0.95},
                                           RealProfile{"mi300x_jax_conv3d", "mi300x", 0.95},
                                           RealProfile{"mi300x_jax_gemm", "mi300x", 0.95},
                                           RealProfile{"tpu_v6e_host_offload", "tpu_v6e", 0.99}),
                         [](const auto& each) { return std::string(each.param.name); });

class ShippedProfile : public CommandTest {};

TEST_F(ShippedProfile, IsComparedAndCalibratedWithTheModuleThatItDoesNotHold) {
  const std::filesystem::path examples = support::source_dir() / "configs/examples";
  const auto bytes = base::SourceText::read_file((examples / "step.xplane.pb").string());
  write("step.bin", std::string(bytes.text()));  // the name does not reveal the format
  const std::string module = (examples / "step.hlo").string();
  const Answer compared = tilecast_ok("compare step.bin --module " + module);
  EXPECT_THAT(compared.out, HasSubstr("joined  100.0 %"));
  EXPECT_THAT(compared.out, HasSubstr("device  tpu_v3"));
  const std::string next =
      "calibrate --device tpu_v3 step.bin --module " + module + " -o tpu_v3_calibrated.yaml";
  EXPECT_THAT(compared.out, HasSubstr("next: tilecast " + next));
  tilecast_ok(next);
}

class ProfileFaults : public CommandTest {
 protected:
  ProfileFaults() : CommandTest("compare") { write("bad.xplane.pb", "no profile"); }
};

TEST_F(ProfileFaults, AreErrorsThatSayWhatToDo) {
  expect_failure("bad.xplane.pb", 1, "bad.xplane.pb");
  expect_failure("bad.xplane.pb bad.xplane.pb", 2, "expected one");
  expect_failure("bad.xplane.pb --where split=test", 2, "--where");
  write("small.hlo", "HloModule m\nENTRY e {\n  ROOT p = f32[8] parameter(0)\n}\n");
  expect_failure("small.hlo", 2, "--device is required");
  expect_failure("small.hlo --device tpu_v3 --module small.hlo", 2, "--module: expected a profile");
}
}  // namespace
}  // namespace tilecast::sim
