// From a profile to results with the command: compare, then calibrate on the same file.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/source_text.h"
#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
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
