// compare() on hand-made rows, and its views.
#include "sim/compare.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/csv.h"
#include "sim/compare_inputs.h"
#include "sim/compare_torch.h"
#include "sim/views/compare.h"
#include "tests/support/errors.h"

namespace tilecast::sim {
namespace {

using analytical::Bound;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Kind = CompareSide::Kind;

constexpr double kUs = 1e-6;

CompareRow row(std::string name, double launches, std::vector<std::optional<CompareCell>> cells) {
  CompareRow result;
  result.name = std::move(name);
  result.op_class = "copy";
  result.launches = launches;
  result.cells = std::move(cells);
  return result;
}

CompareCell us(double time, std::optional<Bound> bound = {}) {
  return {Seconds{time * kUs}, bound};
}

// us per launch:   launches   fast  slow  compiler  measured      fast - measured, x launches
//   often               100      2     3         -         3                  -100
//   long                  1     60    90        40        50                   +10
//   exact                 1      7     7         7         7                     0
//   unmeasured            1     30     -         -         -
//   only slow             1      -     9         -         5                     -
Comparison example() {
  Comparison c;
  c.sides = {{"fast", Kind::kModel, "m", "d"},
             {"slow", Kind::kModel, "n", "d"},
             {"compiler", Kind::kCompiler},
             {"measured", Kind::kMeasured, "", "d"}};
  c.groups.push_back({.name = "program", .file = "program.hlo"});
  c.rows = {
      row("unmeasured", 1, {us(30, Bound::kHbmRead), {}, {}, {}}),
      row("exact", 1, {us(7, Bound::kMatrix), us(7, Bound::kMatrix), us(7), us(7)}),
      row("long", 1, {us(60, Bound::kMatrix), us(90, Bound::kHbmRead), us(40), us(50)}),
      row("only slow", 1, {{}, us(9, Bound::kMatrix), {}, us(5)}),
      row("often", 100, {us(2, Bound::kHbmRead), us(3, Bound::kHbmRead), {}, us(3)}),
  };
  c.notes = {"something to know"};
  return c;
}

std::vector<std::string> names(const Comparison& c) {
  std::vector<std::string> result;
  for (const CompareRow& each : c.rows) result.push_back(each.name);
  return result;
}

TEST(Compare, HoldsAgainstMeasurementsWhereThereAreAny) {
  const Comparison c = compare(example());
  EXPECT_EQ(c.sides[c.reference].name, "measured");
  EXPECT_EQ(c.sides[c.sorted_by].name, "fast");
}

TEST(Compare, OrdersByMicrosecondsLostOverAllLaunchesAndPutsRowsWithoutReferenceLast) {
  // |lost|: often 100, long 10, only slow 4 (by the next side), exact 0
  EXPECT_THAT(names(compare(example())),
              ElementsAre("often", "long", "only slow", "exact", "unmeasured"));
}

TEST(Compare, OrdersByTheSideAskedFor) {
  // |lost| by slow: long 40, only slow 4, often 0, exact 0 (in the order given)
  EXPECT_THAT(names(compare(example(), {.reference = {}, .sort = "slow"})),
              ElementsAre("long", "only slow", "exact", "often", "unmeasured"));
}

TEST(Compare, HoldsAgainstTheSideAskedFor) {
  const Comparison c = compare(example(), {.reference = "compiler", .sort = {}});
  EXPECT_EQ(c.rows.front().name, "long");
  EXPECT_NEAR(lost(c, c.rows.front(), 0)->value, 20 * kUs, 1e-15);
  EXPECT_NEAR(*relative(c, c.rows.front(), 0), 0.5, 1e-12);
  EXPECT_EQ(c.totals[0].shared, 2U);
}

TEST(Compare, HoldsModelsAgainstWhatTheirOwnMachineMeasured) {
  Comparison inputs;
  inputs.sides = {{"here", Kind::kModel, "m", "d", 2},
                  {"there", Kind::kModel, "m", "e", 3},
                  {"measured d", Kind::kMeasured, "", "d"},
                  {"measured e", Kind::kMeasured, "", "e"}};
  inputs.groups.push_back({.name = "set", .file = ""});
  inputs.rows = {row("x", 2, {us(11), us(33), us(10), us(30)})};
  const Comparison own = compare(inputs);
  EXPECT_THAT(own.references, ElementsAre(2, 3, 2, 2));
  EXPECT_NEAR(*relative(own, own.rows[0], 1), 0.1, 1e-12);
  EXPECT_NEAR(*relative(own, own.rows[0], 3), 2.0, 1e-12);  // machines against each other
  EXPECT_NEAR(own.totals[1].reference.value, 60 * kUs, 1e-12);
  EXPECT_THAT(views::compare_text(own), HasSubstr("(against measured e)"));
  const Comparison one = compare(inputs, {.reference = "measured d", .sort = {}});
  EXPECT_THAT(one.references, ElementsAre(2, 2, 2, 2));
  EXPECT_NEAR(*relative(one, one.rows[0], 1), 2.3, 1e-12);
}

TEST(Compare, RefusesASideThatIsNotThere) {
  EXPECT_THAT(support::error_of<UsageError>(
                  [&] { return compare(example(), {.reference = "quick", .sort = {}}); }),
              HasSubstr("--reference: got 'quick', expected one of 'fast'"));
  EXPECT_THROW((void)compare(example(), {.reference = {}, .sort = "quick"}), UsageError);
}

TEST(Compare, SaysNothingOfRowsWhereASideIsMissing) {
  const Comparison c = compare(example());
  EXPECT_FALSE(lost(c, c.rows.back(), 0));       // no reference
  EXPECT_FALSE(relative(c, c.rows.front(), 2));  // no compiler
  Comparison zero = example();
  zero.rows = {row("zero", 1, {us(1), {}, {}, us(0)})};
  zero = compare(std::move(zero));
  EXPECT_NEAR(lost(zero, zero.rows.front(), 0)->value, kUs, 1e-15);
  EXPECT_FALSE(relative(zero, zero.rows.front(), 0));
}

TEST(Compare, AddsUpWhatEachSideCoversAndWhatItShares) {
  const Comparison c = compare(example());
  const SideTotal& fast = c.totals[0];
  EXPECT_EQ(fast.rows, 4U);
  EXPECT_NEAR(fast.time.value, (30 + 7 + 60 + 200) * kUs, 1e-12);
  EXPECT_EQ(fast.shared, 3U);
  EXPECT_NEAR(fast.shared_time.value, (7 + 60 + 200) * kUs, 1e-12);
  EXPECT_NEAR(fast.reference.value, (7 + 50 + 300) * kUs, 1e-12);
  EXPECT_NEAR(fast.difference().value, (0 + 10 - 100) * kUs, 1e-12);
  EXPECT_NEAR(fast.lost.value, (0 + 10 + 100) * kUs, 1e-12);
  EXPECT_NEAR(*fast.median_ape, 0.2, 1e-12);  // of 0, 10/50, 1/3
  EXPECT_EQ(c.totals[2].rows, 2U);
  EXPECT_EQ(c.totals[3].rows, 4U);
}

TEST(Compare, AddsUpGroupsApart) {
  Comparison inputs = example();
  inputs.groups.push_back({.name = "other", .file = "other.hlo"});
  inputs.rows[1].group = inputs.rows[2].group = 1;  // exact, long
  const Comparison c = compare(std::move(inputs));
  EXPECT_EQ(c.groups[0].rows, 3U);
  EXPECT_EQ(c.groups[1].rows, 2U);
  EXPECT_NEAR(c.groups[0].totals[0].difference().value, -100 * kUs, 1e-12);
  EXPECT_NEAR(c.groups[1].totals[0].difference().value, 10 * kUs, 1e-12);
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    EXPECT_EQ(c.groups[0].totals[side].rows + c.groups[1].totals[side].rows, c.totals[side].rows);
  }
}

TEST(Compare, AddsUpTheLossByTheBoundThatASideBlames) {
  const Comparison c = compare(example());
  ASSERT_EQ(c.blamed[0].size(), 2U);
  EXPECT_EQ(c.blamed[0][0].bound, Bound::kHbmRead);  // often
  EXPECT_NEAR(c.blamed[0][0].lost.value, 100 * kUs, 1e-12);
  EXPECT_EQ(c.blamed[0][1].bound, Bound::kMatrix);  // exact, long
  EXPECT_EQ(c.blamed[0][1].rows, 2U);
  EXPECT_NEAR(c.blamed[0][1].lost.value, 10 * kUs, 1e-12);
  EXPECT_TRUE(c.blamed[2].empty());  // compilers state no bounds
  EXPECT_TRUE(c.blamed[3].empty());
}

TEST(Compare, IsAgainstTheFirstSideWhereNothingMeasuredCanBeCompared) {
  Comparison inputs = example();
  for (CompareRow& each : inputs.rows) each.cells[3] = std::nullopt;
  inputs.rows.push_back(row("alone", 1, {{}, {}, {}, us(5)}));
  const Comparison c = compare(std::move(inputs));
  EXPECT_EQ(c.sides[c.reference].name, "fast");
  EXPECT_EQ(c.rows.size(), 6U);  // "alone" is still there
}

TEST(Compare, TakesASingleSideAndNoRows) {
  Comparison one;
  one.sides = {{"only"}};
  one.groups.push_back({.name = "empty", .file = ""});
  one = compare(std::move(one));
  EXPECT_EQ(one.totals[0].rows, 0U);
  EXPECT_THAT(views::compare_text(one), HasSubstr("only"));
  EXPECT_EQ(Json::parse(views::compare_json(one))["rows"].size(), 0U);
}

TEST(Compare, KeepsItsInvariantsForAnyTimes) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> time(0, 100), chance(0, 1);
  for (int round = 0; round < 200; ++round) {
    Comparison inputs;
    inputs.sides = {{"a"}, {"b"}, {"c", Kind::kMeasured}};
    inputs.groups = {{.name = "x", .file = ""}, {.name = "y", .file = ""}};
    const int rows = round % 20;
    for (int i = 0; i < rows; ++i) {
      CompareRow each = row(std::to_string(i), std::floor(time(random)), {{}, {}, {}});
      each.group = static_cast<std::size_t>(i % 2);
      for (auto& cell : each.cells) {
        if (chance(random) < 0.7) cell = us(time(random), static_cast<Bound>(i % 12));
      }
      inputs.rows.push_back(std::move(each));
    }
    const Comparison c = compare(std::move(inputs));
    EXPECT_EQ(c.rows.size(), static_cast<std::size_t>(rows));
    for (std::size_t side = 0; side < 3; ++side) {
      const SideTotal& total = c.totals[side];
      EXPECT_LE(std::abs(total.difference().value), total.lost.value + 1e-12);
      EXPECT_LE(total.shared, total.rows);
      EXPECT_NEAR((c.groups[0].totals[side].lost + c.groups[1].totals[side].lost).value,
                  total.lost.value, 1e-12);
      if (side == c.reference) continue;
      Seconds blamed;
      for (const BoundTotal& bound : c.blamed[side]) blamed += bound.lost;
      EXPECT_NEAR(blamed.value, total.lost.value, 1e-12);
    }
    double last = 1e9;
    bool comparable = true;
    for (const CompareRow& each : c.rows) {
      std::optional<Seconds> key = lost(c, each, c.sorted_by);
      for (std::size_t side = 0; side < 3 && !key; ++side) {
        if (side != c.reference) key = lost(c, each, side);
      }
      EXPECT_TRUE(comparable || !key);
      comparable = key.has_value();
      if (!key) continue;
      EXPECT_LE(std::abs(key->value), last);
      last = std::abs(key->value);
    }
  }
}

TEST(CompareText, ShowsTimesLossesAndBounds) {
  Comparison inputs = example();
  inputs.groups[0].whole = {{}, {}, {}, Seconds{400 * kUs}};
  inputs.unmatched = {{"set", "stray", 9, Seconds{12 * kUs}}};
  const std::string text = views::compare_text(compare(std::move(inputs)));
  EXPECT_THAT(text, HasSubstr("side    measured: measured on d  (the reference)"));
  EXPECT_THAT(text, HasSubstr("measured"));
  EXPECT_THAT(text, HasSubstr("-100.0 us  -33.3  hbm_read"));  // often
  EXPECT_THAT(text, HasSubstr("400.0 us as a whole (measured)"));
  EXPECT_THAT(text, HasSubstr("measured, but no kernel of these programs: 1, 12.00 us"));
  EXPECT_THAT(text, HasSubstr("stray  (set line 9)"));
  EXPECT_THAT(text, HasSubstr("note: something to know"));
}

TEST(CompareText, FoldsTheRowsThatLoseLeastIntoOneLine) {
  const std::string text = views::compare_text(compare(example()), {.top = 1});
  EXPECT_THAT(text, HasSubstr("often"));
  EXPECT_THAT(text, Not(HasSubstr("only slow")));
  EXPECT_THAT(text, HasSubstr("... 4 more rows, 10.00 us lost by fast  (--all shows them)"));
}

TEST(CompareCsv, HasALinePerRowAndSideInSecondsAndFractions) {
  const measured::CsvTable table =
      measured::read_csv({"compare.csv", views::compare_csv(compare(example()))});
  EXPECT_EQ(table.rows.size(), 14U);  // the example's existing cells
  const measured::CsvRow& first = table.rows.front();
  EXPECT_EQ(table.cell(first, "name"), "often");
  EXPECT_EQ(table.cell(first, "side"), "fast");
  EXPECT_EQ(table.cell(first, "bound"), "hbm_read");
  EXPECT_EQ(table.cell(first, "reference"), "measured");
  EXPECT_NEAR(std::stod(std::string(table.cell(first, "lost_s"))), -100 * kUs, 1e-12);
  EXPECT_NEAR(std::stod(std::string(table.cell(first, "relative"))), -1.0 / 3, 1e-12);
  EXPECT_EQ(table.cell(table.rows.back(), "name"), "unmeasured");
  EXPECT_EQ(table.cell(table.rows.back(), "lost_s"), "");
}

// `fast` is a hybrid that corrected its row `long`.
Comparison corrected() {
  Comparison c = example();
  c.rows[2].cells[0]->correction = {.analytical = Seconds{50 * kUs},
                                    .factor = 1.2,
                                    .weight = 1,
                                    .verdict = analytical::Verdict::kEdge,
                                    .low = Seconds{55 * kUs},
                                    .high = Seconds{75 * kUs}};
  return compare(std::move(c));
}

TEST(CompareViews, ShowTheCorrectionOfAHybrid) {
  EXPECT_THAT(views::compare_text(corrected()), HasSubstr("x 1.20 [1.10, 1.50] 1.00"));
  EXPECT_THAT(views::compare_text(compare(example())), Not(HasSubstr("[90 %]")));
  const Json row = Json::parse(views::compare_json(corrected()))["rows"][1];
  ASSERT_EQ(row["name"], "long");
  EXPECT_EQ(row["times"][0]["verdict"], "edge");
  EXPECT_EQ(row["times"][0]["factor"], 1.2);
  EXPECT_NEAR(row["times"][0]["low_s"].get<double>(), 55 * kUs, 1e-12);
  EXPECT_FALSE(row["times"][1].contains("verdict"));
  const measured::CsvTable table =
      measured::read_csv(base::SourceText("c.csv", views::compare_csv(corrected())));
  EXPECT_EQ(table.columns.back(), "high_s");
}

TEST(CompareJson, HoldsSidesRowsTotalsAndBounds) {
  const Json document = Json::parse(views::compare_json(compare(example())));
  EXPECT_EQ(document["schema"], "tilecast.compare/1");
  EXPECT_EQ(document["reference"], "measured");
  EXPECT_EQ(document["sides"].size(), 4U);
  EXPECT_EQ(document["sides"][2]["kind"], "compiler");
  EXPECT_EQ(document["rows"].size(), 5U);
  const Json& often = document["rows"][0];
  EXPECT_EQ(often["launches"], 100);
  EXPECT_EQ(often["times"].size(), 3U);
  EXPECT_NEAR(often["times"][0]["lost_s"].get<double>(), -100 * kUs, 1e-12);
  EXPECT_FALSE(often["times"][2].contains("lost_s"));  // the reference itself
  EXPECT_EQ(document["totals"][0]["shared_rows"], 3);
  EXPECT_EQ(document["blamed"][0]["bound"], "hbm_read");
}

// --- A hand-made profile compared with a model that predicts 1 us for every kernel.

namespace fs = std::filesystem;

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
                                 "add.1", "tanh.2", "copy-start", "MemcpyD2D"));
  EXPECT_NEAR(lost(c, row_of(c, "add.1"), 0)->value, -20 * kUs, 1e-12);
  EXPECT_NEAR(lost(c, row_of(c, "copy-done"), 0)->value, -100 * kUs, 1e-12);
  EXPECT_EQ(row_of(c, "copy-start").cells[0]->time.value, 0);
}

TEST_F(CompareProfile, TransfersBesideOtherRowsAreInNoTotal) {
  const Comparison c = comparison();
  EXPECT_TRUE(row_of(c, "copy-start (transfer)").overlaps);
  EXPECT_NEAR(c.totals[c.reference].time.value, 148 * kUs, 1e-12);
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

TEST_F(CompareProfile, CoverageIsTheShareOfDeviceTimeThatIsAnInstructionOrACopy) {
  const Comparison c = comparison();
  EXPECT_NEAR(c.profile->joined.value, 148 * kUs, 1e-12);
  ASSERT_EQ(c.profile->left_over.size(), 1U);
  EXPECT_NEAR(c.profile->left_over[0].time.value, 2 * kUs, 1e-12);
  const CompareRow& copy = row_of(c, "MemcpyD2D");
  EXPECT_EQ(copy.launches, 4);
  EXPECT_NEAR(copy.cells[c.reference]->time.value, 0.5 * kUs, 1e-12);
  EXPECT_FALSE(copy.cells[0]);
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
  EXPECT_THAT(text, AllOf(HasSubstr("profile run.xplane.pb: 2 x TPU v6 Lite, 150.0 us of device "
                                    "time, 5 steps of 80.00 us\n"),
                          HasSubstr("device  a reason\n"),
                          HasSubstr("joined  98.7 % of 150.0 us of device time"),
                          HasSubstr("total   measured 148.0 us, unit predicts 20.00 us (-86.3 %)"),
                          HasSubstr("copy-done 79.4 %, loop fusion 19.8 %")));
  EXPECT_THAT(text, HasSubstr("lost    126.0 us in all by unit"));
  // Bytes differ, FLOPs do not.
  EXPECT_THAT(text, testing::ContainsRegex("1\\.049 +1\\.049 +12\\.58 +1\\.000  \\*"));
  EXPECT_TRUE(text.ends_with("next: tilecast calibrate\n")) << text;
}

TEST_F(CompareProfile, JsonAndCsvHoldTheSame) {
  const Comparison c = comparison();
  const Json json = Json::parse(views::compare_json(c));
  EXPECT_NEAR(json["profile"]["joined_s"].get<double>(), 148 * kUs, 1e-12);
  EXPECT_EQ(json["profile"]["categories"].size(), 3U);
  EXPECT_EQ(json["rows"][0]["profile"]["overlaps"], true);
  EXPECT_EQ(json["rows"][3]["profile"]["profile_bytes"], 1e6);
  EXPECT_THAT(views::compare_csv(c),
              AllOf(HasSubstr("category,overlaps,median_s,flops,profile_flops,bytes"),
                    HasSubstr("loop fusion,false,3e-06,1048576,1048576,12582912,1000000")));
}

TEST_F(CompareProfile, OperatorsOfATorchTraceAreRowsByShape) {
  const auto op = [](const std::string& name, std::vector<measured::TorchArgument> arguments,
                     double us) {
    measured::TorchOp called{
        .name = name, .arguments = std::move(arguments), .times = times(4, us, "")};
    called.times.launch = measured::XplaneLaunch{
        .registers = 40, .shared_bytes = 16, .grid = "8x1x1", .block = "64x1x1", .occupancy = 0.5};
    return called;
  };
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return measured::TorchArgument{"float", {{rows, columns}}, false, ""};
  };
  measured::TorchTrace trace;
  trace.device = {.type = "NVIDIA H200", .cores = 1};
  trace.ops = {op("aten::mm", {matrix(64, 32), matrix(32, 16)}, 80),
               op("aten::unique", {matrix(8, 8)}, 12), op("lost_kernel", {}, 8)};
  trace.device_time = Seconds{100 * kUs};
  const Comparison c = compare(compare_torch({"t.json", trace, "a reason"}, setup_));
  EXPECT_NEAR(c.profile->joined.value, 92 * kUs, 1e-12);
  ASSERT_EQ(c.profile->left_over.size(), 1U);
  EXPECT_EQ(c.profile->left_over[0].category, "kernels by name");
  const CompareRow& product = row_of(c, "aten::mm f32[64,32] f32[32,16]");
  EXPECT_NEAR(lost(c, product, 0)->value, (4 - 80) * kUs, 1e-12);
  EXPECT_EQ(*product.profile->flops, 2.0 * 64 * 32 * 16);
  EXPECT_FALSE(row_of(c, "aten::unique f32[8,8]").cells[0]);
  EXPECT_THAT(views::compare_text(c),
              AllOf(HasSubstr("joined  92.0 % of 100.0 us of device time to operators with their "
                              "shapes; left: kernels by name 8.000 us in 4 events"),
                    HasSubstr("8x1x1"), testing::Not(HasSubstr("next: "))));
  EXPECT_THAT(views::compare_csv(c), HasSubstr(",40,16,8x1x1,64x1x1,0.5,"));
}

TEST_F(CompareProfile, WithoutAnyModuleSaysWhatToDo) {
  EXPECT_THAT(support::error_of([&] {
                return compare_profile({"run.xplane.pb", profile(), {}, ""}, setup_);
              }),
              HasSubstr("--module"));
}
}  // namespace
}  // namespace tilecast::sim
