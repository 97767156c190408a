// Checks that the model still predicts measurements on a processor. The sets are shipped, so this
// runs everywhere; the bars are in the experiments.
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

class HostAccuracy : public CommandTest {
 protected:
  Answer run(const std::string& arguments) const override { return validate(arguments); }

  // Every bar of the shipped experiment is met, and there is at least one.
  void expect_bars_met(const std::string& experiment) const {
    const Answer answer = ok("--format json " + support::source_dir().string() +
                             "/validation/experiments/calibrated.yaml#" + experiment);
    const auto bars = nlohmann::json::parse(answer.out)["experiments"].at(0)["bars"];
    ASSERT_FALSE(bars.empty());
    for (const auto& bar : bars) EXPECT_TRUE(bar["met"]) << bar.dump(2);
  }
};

TEST_F(HostAccuracy, TilesAreRankedOnAProcessorCalibratedOnOtherKernels) {
  expect_bars_met("host_tiles");
}

TEST_F(HostAccuracy, KernelsOfAProgramArePredictedByKernelsOfOthers) {
  expect_bars_met("host_fusion");
}

}  // namespace
}  // namespace tilecast::sim
