// The committed results match the current experiments: fails if a bar was changed without a run, or
// if a claim has no result.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/folders.h"
#include "validation/experiment.h"

namespace tilecast::validation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool is_about(const Bar& bar, const std::string& stratum) {
  constexpr std::string_view kEvery = "every ";
  if (!bar.stratum.starts_with(kEvery)) return bar.stratum == stratum;
  return stratum.starts_with(bar.stratum.substr(kEvery.size()) + " ");
}

// The bars of the result that belong to this bar of the experiment: one per stratum.
std::size_t explained(const Bar& bar, const Json& result, std::vector<bool>& taken) {
  std::set<std::string> strata;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Json& found = result["bars"][i];
    const bool same = found["metric"] == measured::name(bar.metric) &&
                      found["column"] == bar.column &&
                      found["kind"] == kLimits[static_cast<std::size_t>(bar.kind)] &&
                      is_about(bar, found["stratum"]);
    if (!taken[i] && same) taken[i] = strata.insert(found["stratum"]).second;
  }
  return strata.size();
}

TEST(ResultFiles, EveryExperimentHasAResultWithItsColumnsMetricsAndBars) {
  std::set<std::string> experiments;
  for (const fs::path& path :
       support::files_below(support::source_dir() / "validation/experiments", ".yaml")) {
    const Experiment e = read_experiment(path.string());
    experiments.insert(e.name);
    std::ifstream file(support::source_dir() / "validation/results" / (e.name + ".json"));
    ASSERT_TRUE(file) << e.name << " has no result";
    const Json result = Json::parse(file);
    EXPECT_EQ(result["name"], e.name);
    EXPECT_EQ(result["columns"].get<std::vector<std::string>>(), e.columns) << e.name;
    ASSERT_EQ(result["metrics"].size(), e.metrics.size()) << e.name;
    for (std::size_t i = 0; i < e.metrics.size(); ++i) {
      EXPECT_EQ(result["metrics"][i], measured::name(e.metrics[i])) << e.name;
    }
    std::vector<bool> taken(result["bars"].size());
    for (const Bar& bar : e.bars) {
      EXPECT_GT(explained(bar, result, taken), 0U)
          << e.name << ": no result for a bar on " << bar.column << ", " << bar.stratum;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      EXPECT_TRUE(taken[i]) << e.name << " has no such bar: " << result["bars"][i].dump();
    }
  }
  for (const auto& entry : fs::directory_iterator(support::source_dir() / "validation/results")) {
    EXPECT_TRUE(experiments.contains(entry.path().stem().string())) << entry.path();
  }
}

}  // namespace
}  // namespace tilecast::validation
