// The committed results match the current experiments: fails if a bar was changed without a run, or
// if a claim has no result.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
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

void expect_result_of(const Experiment& e, const Json& result) {
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

TEST(ResultFiles, EveryExperimentHasAResultWithItsColumnsMetricsAndBars) {
  const fs::path folder = support::source_dir() / "validation";
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string stem = entry.path().stem().string();
    files.insert(stem);
    std::ifstream file(folder / "results" / (stem + ".json"));
    ASSERT_TRUE(file) << stem << " has no results";
    std::map<std::string, Json> results;
    for (Json& result : Json::parse(file)) results.emplace(result["name"], std::move(result));
    const std::vector<Experiment> experiments = read_experiments(entry.path().string());
    EXPECT_EQ(results.size(), experiments.size()) << stem;
    for (const Experiment& e : experiments) {
      ASSERT_TRUE(results.contains(e.name)) << e.name << " has no result";
      expect_result_of(e, results.at(e.name));
    }
  }
  for (const auto& entry : fs::directory_iterator(folder / "results")) {
    EXPECT_TRUE(files.contains(entry.path().stem().string())) << entry.path();
  }
}

}  // namespace
}  // namespace tilecast::validation
