// Do the corrections that are shipped act on real programs? Those of third parties are not ours:
// without them the test is skipped.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;

class ShippedModels : public CommandTest {
 protected:
  ShippedModels() : CommandTest("simulate") {}

  // Of the program's time on TPU v3, the share in the domain or at its edge.
  double share_known(const fs::path& program) const {
    const Answer answer = run("--device tpu_v3 --model " + support::source_dir().string() +
                              "/configs/models/tpu --format json " + program.string());
    if (answer.exit_code != 0) ADD_FAILURE() << program << answer.err;
    const auto simulated = nlohmann::json::parse(answer.out);
    double known = 0, all = 0;
    for (const auto& part : simulated["programs"].at(0)["domain"]) {
      const double time_s = part["time_s"];
      all += time_s;
      if (part["verdict"] != "out") known += time_s;
    }
    EXPECT_GT(all, 0) << program;
    return known / all;
  }
};

TEST_F(ShippedModels, KnowMostOfTheTimeOfRealTpuPrograms) {
  const fs::path folder = support::shared_dir() / "hlo" / "public";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  double sum = 0, programs = 0;
  for (const fs::path& from : {folder, support::source_dir() / "configs" / "programs"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".hlo" || name.starts_with("xlaunit")) continue;
      const double share = share_known(entry.path());
      std::printf("%-50s %5.1f %% in or at the edge\n", name.c_str(), 100 * share);
      sum += share;
      ++programs;
    }
  }
  std::printf("mean %.1f %% (n = %.0f programs)\n", 100 * sum / programs, programs);
  ASSERT_GE(programs, 19);
  EXPECT_GE(sum / programs, 0.7);
}

}  // namespace
}  // namespace tilecast::sim
