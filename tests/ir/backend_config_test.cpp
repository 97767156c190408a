#include "ir/backend_config.h"

#include <gtest/gtest.h>

namespace tilecast::ir {
namespace {

TEST(BackendConfig, ReadsTheWindowBoundsWhetherNumbersAreStringsOrNot) {
  const BackendConfig config = read_backend_config(
      R"({"window_config":{"kernel_window_bounds":["3","3",2,"1"],"output_window_bounds":[4,8],)"
      R"("iteration_bounds":["2","5"],"estimated_cycles":"1234"},"flag":true})");
  ASSERT_TRUE(config.tile.has_value());
  EXPECT_EQ(config.tile->kernel_bounds, (Dims{3, 3, 2, 1}));
  EXPECT_EQ(config.tile->output_bounds, (Dims{4, 8}));
  EXPECT_TRUE(config.tile->input_bounds.empty());
  EXPECT_EQ(config.tile->iteration_bounds, (Dims{2, 5}));
  EXPECT_EQ(config.tile->estimated_cycles, 1234.0);
  EXPECT_FALSE(config.unreadable);
}

TEST(BackendConfig, ReadsTheCostEstimateOfACustomCallConfig) {
  const BackendConfig config =
      read_backend_config(R"({"custom_call_config":{"body":"abc","cost_estimate":)"
                          R"({"flops":"1000","transcendentals":8,"bytes_accessed":"4096"}}})");
  ASSERT_TRUE(config.cost.has_value());
  EXPECT_EQ(config.cost->flops, 1000);
  EXPECT_EQ(config.cost->transcendentals, 8);
  EXPECT_EQ(config.cost->bytes_accessed, 4096);
}

TEST(BackendConfig, ReadsAQuotedConfiguration) {
  const BackendConfig config =
      read_backend_config(R"("{\"window_config\":{\"output_window_bounds\":[\"7\"]}}")");
  ASSERT_TRUE(config.tile.has_value());
  EXPECT_EQ(config.tile->output_bounds, Dims{7});
}

TEST(BackendConfig, SaysNothingAboutOtherConfigurations) {
  const BackendConfig config = read_backend_config(R"({"known_trip_count":{"n":"8"}})");
  EXPECT_FALSE(config.tile.has_value());
  EXPECT_FALSE(config.cost.has_value());
  EXPECT_FALSE(config.unreadable);
}

TEST(BackendConfig, ReportsWhatItCannotRead) {
  for (const std::string text : {
           R"({"window_config":)",
           R"({"window_config":{"output_window_bounds":["-3"]}})",
           R"({"window_config":{"output_window_bounds":["1e400"]}})",
           R"({"window_config":{"output_window_bounds":"4"}})",
           R"({"cost_estimate":{"flops":"many"}})",
       }) {
    const BackendConfig config = read_backend_config(text);
    EXPECT_TRUE(config.unreadable) << text;
    EXPECT_FALSE(config.tile.has_value()) << text;
    EXPECT_FALSE(config.cost.has_value()) << text;
  }
}

TEST(BackendConfig, RefusesHostileNesting) {
  const std::string text = R"({"window_config":)" + std::string(100'000, '[');
  EXPECT_TRUE(read_backend_config(text).unreadable);
}

}  // namespace
}  // namespace tilecast::ir
