// A hand-made profile compared with a model that predicts 1 us for every kernel.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "sim/compare_inputs.h"
#include "sim/views/compare.h"
#include "tests/support/errors.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr double kUs = 1e-6;

// add.1: 1024 x 1024 additions of f32, 12 MiB; the copy overlaps tanh.2.
constexpr const char* kModule = R"(HloModule jit_f, is_scheduled=true

ENTRY main {
  x = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  add.1 = f32[1024,1024]{1,0:T(8,128)} add(x, x)
  copy-start = (f32[1024,1024]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(add.1)
  tanh.2 = f32[1024,1024]{1,0:T(8,128)} tanh(add.1)
  copy-done = f32[1024,1024]{1,0:T(8,128)S(5)} copy-done(copy-start)
  ROOT out = (f32[1024,1024]{1,0:T(8,128)}, f32[1024,1024]{1,0:T(8,128)S(5)}) tuple(tanh.2, copy-done)
}
)";

class OneMicrosecond final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    analytical::Estimate estimate{.time = Seconds{kUs}};
    estimate.bound = analytical::Bound::kVector;
    return std::vector<std::optional<analytical::Estimate>>(queries.size(), estimate);
  }
};

measured::XplaneTimes times(std::int64_t occurrences, double total_us, std::string category) {
  return {.occurrences = occurrences,
          .total = Seconds{total_us * kUs},
          .median = Seconds{total_us / static_cast<double>(occurrences) * kUs},
          .category = std::move(category)};
}

class CompareProfile : public ::testing::Test {
 protected:
  CompareProfile()
      : file_(
            (fs::temp_directory_path() / ("tilecast_profile_" + std::to_string(getpid()) + ".hlo"))
                .string()) {
    std::ofstream(file_) << kModule;
    setup_.devices.push_back(hwdesc::load_device("tpu_v6e"));
    setup_.columns.push_back({.name = "unit", .model = "unit"});
    setup_.columns.back().answers = std::make_unique<OneMicrosecond>();
    setup_.load.fuse = false;
  }
  ~CompareProfile() override { fs::remove(file_); }

  // In us, all runs together:   measured   occurrences   predicted
  //   add.1                         30          10           10
  //   tanh.2                        15          10           10
  //   copy-start                     1          10            0   (its issue)
  //   copy-done                    100          10            0   (the wait)
  //   copy-start (transfer)        120          10           10   beside the others
  //   left over: mystery.7 2, memcpy 2
  measured::XplaneProfile profile() const {
    measured::XplaneProfile profile;
    profile.device = {.type = "TPU v6 Lite", .cores = 2};
    measured::XplaneModule module{.name = "jit_f", .program_id = 7};
    module.runs = times(10, 150, "");
    module.instructions["add.1"] = times(10, 30, "loop fusion");
    module.instructions["add.1"].flops = 1024 * 1024;
    module.instructions["add.1"].bytes_accessed = 1e6;
    module.instructions["tanh.2"] = times(10, 15, "loop fusion");
    module.instructions["copy-start"] = times(10, 1, "copy-start");
    module.instructions["copy-done"] = times(10, 100, "copy-done");
    module.instructions["mystery.7"] = times(1, 2, "");
    module.transfers["copy-start"] = times(10, 120, "copy-start");
    module.transfers["copy-start"].asynchronous = true;
    profile.modules.push_back(std::move(module));
    profile.left_over.push_back({"memcpy", "MemcpyD2D", 4, Seconds{2 * kUs}});
    profile.steps = times(5, 400, "");
    profile.device_time = Seconds{150 * kUs};
    return profile;
  }
  Comparison comparison() const {
    Comparison inputs = compare_profile({"run.xplane.pb", profile(), {file_}, "a reason"}, setup_);
    inputs.profile->next = "tilecast calibrate";
    return compare(std::move(inputs));
  }

  std::string file_;
  CompareSetup setup_;
};

const CompareRow& row_of(const Comparison& c, const std::string& name) {
  for (const CompareRow& row : c.rows) {
    if (row.name == name) return row;
  }
  throw Error("no row " + name);
}

TEST_F(CompareProfile, RowsAreInstructionsByMicrosecondsLost) {
  const Comparison c = comparison();
  std::vector<std::string> names;
  for (const CompareRow& row : c.rows) names.push_back(row.name);
  EXPECT_THAT(names, ElementsAre("copy-start (transfer)", "(idle between kernels)", "copy-done",
                                 "add.1", "tanh.2", "copy-start"));
  EXPECT_NEAR(lost(c, row_of(c, "add.1"), 0)->value, -20 * kUs, 1e-12);
  EXPECT_NEAR(lost(c, row_of(c, "copy-done"), 0)->value, -100 * kUs, 1e-12);
  EXPECT_EQ(row_of(c, "copy-start").cells[0]->time.value, 0);
}

TEST_F(CompareProfile, TransfersBesideOtherRowsAreInNoTotal) {
  const Comparison c = comparison();
  EXPECT_TRUE(row_of(c, "copy-start (transfer)").overlaps);
  EXPECT_NEAR(c.totals[c.reference].time.value, 146 * kUs, 1e-12);
  EXPECT_NEAR(c.totals[0].time.value, 20 * kUs, 1e-12);
  ASSERT_EQ(c.blamed[0].size(), 1U);
  EXPECT_NEAR(c.blamed[0][0].reference.value, 45 * kUs, 1e-12);
}

TEST_F(CompareProfile, CategoriesAddUpByTheProfilesOwnWords) {
  const Comparison c = comparison();
  ASSERT_EQ(c.categories.size(), 3U);
  EXPECT_EQ(c.categories[0].category, "copy-done");
  EXPECT_EQ(c.categories[1].category, "loop fusion");
  EXPECT_EQ(c.categories[1].rows, 2U);
  EXPECT_NEAR(c.categories[1].reference.value, 45 * kUs, 1e-12);
  EXPECT_NEAR(c.categories[1].time.value, 20 * kUs, 1e-12);
}

TEST_F(CompareProfile, CoverageIsTheShareOfDeviceTimeThatIsAnInstructionOfAModule) {
  const Comparison c = comparison();
  EXPECT_NEAR(c.profile->joined.value, 146 * kUs, 1e-12);
  ASSERT_EQ(c.profile->left_over.size(), 2U);
  EXPECT_NEAR(c.profile->left_over[0].time.value + c.profile->left_over[1].time.value, 4 * kUs,
              1e-12);
  ASSERT_EQ(c.profile->programs.size(), 1U);
  // The copy and tanh.2 overlap: only two of the three kernels are sequential.
  EXPECT_NEAR(c.profile->programs[0].predicted[0]->value, 2 * kUs, 1e-12);
}

TEST_F(CompareProfile, CountsStandBesideTheProfilesOwn) {
  const Comparison c = comparison();
  const ProfileCounts& counts = *row_of(c, "add.1").profile;
  EXPECT_EQ(*counts.flops, 1024 * 1024);
  EXPECT_EQ(*counts.profile_flops, 1024 * 1024);
  EXPECT_EQ(*counts.bytes, 3 * 4 * 1024 * 1024);
  EXPECT_EQ(*counts.profile_bytes, 1e6);
}

TEST_F(CompareProfile, TheTextBeginsWithTheAnswerAndEndsWithTheNextCommand) {
  const std::string text = views::compare_text(comparison());
  EXPECT_THAT(text,
              AllOf(HasSubstr("profile run.xplane.pb: 2 x TPU v6 Lite, 150.0 us of device "
                              "time, 5 steps of 80.00 us\n"),
                    HasSubstr("device  a reason\n"), HasSubstr("joined  97.3 % of device time"),
                    HasSubstr("total   measured 146.0 us, unit predicts 20.00 us (-86.3 %)"),
                    HasSubstr("copy-done 79.4 %, loop fusion 19.8 %")));
  EXPECT_THAT(text, HasSubstr("lost    126.0 us in all by unit"));
  // Bytes differ, FLOPs do not.
  EXPECT_THAT(text, testing::ContainsRegex("1\\.049 +1\\.049 +12\\.58 +1\\.000  \\*"));
  EXPECT_TRUE(text.ends_with("next: tilecast calibrate\n")) << text;
}

TEST_F(CompareProfile, JsonAndCsvHoldTheSame) {
  const Comparison c = comparison();
  const Json json = Json::parse(views::compare_json(c));
  EXPECT_NEAR(json["profile"]["joined_s"].get<double>(), 146 * kUs, 1e-12);
  EXPECT_EQ(json["profile"]["categories"].size(), 3U);
  EXPECT_EQ(json["rows"][0]["profile"]["overlaps"], true);
  EXPECT_EQ(json["rows"][3]["profile"]["profile_bytes"], 1e6);
  EXPECT_THAT(views::compare_csv(c),
              AllOf(HasSubstr("category,overlaps,median_s,flops,profile_flops,bytes"),
                    HasSubstr("loop fusion,false,3e-06,1048576,1048576,12582912,1000000")));
}

TEST_F(CompareProfile, WithoutAnyModuleSaysWhatToDo) {
  EXPECT_THAT(support::error_of([&] {
                return compare_profile({"run.xplane.pb", profile(), {}, ""}, setup_);
              }),
              HasSubstr("--module"));
}

}  // namespace
}  // namespace tilecast::sim
