#include <gmock/gmock.h>

#include "hwdesc/device_yaml.h"
#include "sim/tables.h"
#include "tests/support/errors.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

// Counts its queries; a kernel takes a second.
class CountingModel final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& /*device*/) const override {
    asked += queries.size();
    analytical::Estimate estimate;
    estimate.time = Seconds{1};
    return {queries.size(), estimate};
  }
  mutable std::size_t asked = 0;
};

TEST(OpTable, IsReadToItsEndBeforeAnythingIsComputed) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const std::string good = "op,dtype,elements\nadd,f32,64\nadd,f32,128\n";
  const auto table = [](const std::string& text) {
    return measured::read_csv(base::SourceText("ops.csv", text));
  };
  const CountingModel model;
  EXPECT_THAT(support::error_of([&] {
                return estimate_operators(table(good + "add,f32,none\n"), device, model,
                                          {.jobs = 1});
              }),
              HasSubstr("ops.csv:4"));
  EXPECT_EQ(model.asked, 0U);
  (void)estimate_operators(table(good), device, model, {.jobs = 1});
  EXPECT_EQ(model.asked, 2U);
}

}  // namespace
}  // namespace tilecast::sim
