#include "search/tile_tuner.h"

#include <gmock/gmock.h>

#include <set>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "search/command_hardware.h"
#include "search/set_hardware.h"
#include "tests/search/fresh_file.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A tile's time is a function of its text; a program takes the sum of its tiles.
class TileHardware final : public Hardware {
 public:
  std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override {
    std::vector<HardwareTime> times;
    for (const HardwareJob& job : jobs) {
      ++timed;
      clock_s += 1;
      HardwareTime total{0.0};
      for (const auto& [hash, tile] : job.tiles) {
        const double took = took_s(hash, tile);
        if (took == 0) total = {std::nullopt, "wrong result 0"};
        if (total.seconds) *total.seconds += took;
      }
      times.push_back(total);
    }
    return times;
  }
  // Zero: it fails.
  [[nodiscard]] double took_s(const std::string& hash, const analytical::TileConfig& tile) const {
    ir::Hash128 mix;
    mix.add(std::string_view(hash));
    mix.add(std::string_view(to_string(tile)));
    const std::uint64_t drawn = mix.result()[0] % 1000;
    return fails && drawn % 7 == 0 && !sound.contains(to_string(tile))
               ? 0
               : 1e-6 * static_cast<double>(100 + drawn);
  }
  std::size_t timed = 0;
  double clock_s = 0;
  bool fails = false;
  std::set<std::string> sound;  // tiles that never fail
};

struct TileTuning {
  hwdesc::Device device = hwdesc::load_device("tpu_v3");
  ir::LoadedModule loaded =
      ir::load_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo", {});
  std::vector<KernelTiles> kernels = kernels_with_tiles(
      loaded.module, device, analytical::PhysicsRanker(), {.listing = {.most = 40}});
  TileHardware hardware;

  TunedTiles verify(TuningJournal& journal, VerifyTilesOptions options = {}) {
    options.now = [this] { return hardware.clock_s; };
    options.budget_s = std::max(options.budget_s, 1.0);
    return verify_tiles(loaded.module, "p", kernels, hardware, options, journal);
  }
  // The sum of the times of these tiles.
  [[nodiscard]] double sum_s(const TileChoices& tiles) const {
    double sum = 0;
    for (const auto& [hash, tile] : tiles) sum += hardware.took_s(hash, tile);
    return sum;
  }
};

TEST(KernelsWithTiles, AreEachOnceLongestFirstWithTheirDefault) {
  const TileTuning tuning;
  ASSERT_GT(tuning.kernels.size(), 3U);
  std::set<std::string> hashes;
  double before = std::numeric_limits<double>::infinity();
  for (const KernelTiles& kernel : tuning.kernels) {
    hashes.insert(kernel.hash);
    EXPECT_LE(kernel.default_s, before);
    before = kernel.default_s;
    EXPECT_GE(kernel.tiles.size(), 2U);
    EXPECT_EQ(kernel.by_default, kernel.tiles.front().tile) << "physics ranks and chooses";
    EXPECT_TRUE(kernel.alone);
  }
  EXPECT_EQ(hashes.size(), tuning.kernels.size());
}

TEST(KernelsWithTiles, LeaveOutWhatHardwareCannotCut) {
  TileTuning tuning;
  const auto can_cut = [](const ir::Kernel&, const analytical::TileConfig& tile) {
    return tile.output.empty() || tile.output.front() == 1;
  };
  const auto kernels = kernels_with_tiles(tuning.loaded.module, tuning.device,
                                          analytical::PhysicsRanker(), {.can_cut = can_cut});
  for (const KernelTiles& kernel : kernels) {
    for (const RankedTile& one : kernel.tiles) EXPECT_EQ(one.tile.output.front(), 1);
  }
}

TEST(VerifyTiles, TakesTheFastestOfTheFirstOfEachKernel) {
  TileTuning tuning;
  TuningJournal journal("", "p");
  const TunedTiles tuned = tuning.verify(journal, {.top = 5, .budget_s = 1e9});
  ASSERT_EQ(tuned.kernels.size(), tuning.kernels.size());
  EXPECT_TRUE(tuned.complete);
  double expected = 0;
  for (const KernelTiles& kernel : tuning.kernels) {
    double best = tuning.hardware.took_s(kernel.hash, kernel.by_default);
    for (std::size_t i = 0; i < std::min<std::size_t>(5, kernel.tiles.size()); ++i) {
      best = std::min(best, tuning.hardware.took_s(kernel.hash, kernel.tiles[i].tile));
    }
    expected += best;
  }
  EXPECT_DOUBLE_EQ(*tuned.by_top->seconds, expected);
  EXPECT_DOUBLE_EQ(*tuned.by_first->seconds, tuning.sum_s(first_tiles(tuning.kernels)));
  EXPECT_DOUBLE_EQ(*tuned.by_default->seconds, tuning.sum_s(default_tiles(tuning.kernels)));
  EXPECT_DOUBLE_EQ(tuning.sum_s(tuned.chosen), expected);
  EXPECT_FALSE(tuned.by_all);
}

TEST(VerifyTiles, AllListedTilesAreNeverSlowerThanTheFirst) {
  TileTuning tuning;
  TuningJournal journal("", "p");
  tuning.hardware.fails = true;
  for (const KernelTiles& kernel : tuning.kernels) {
    tuning.hardware.sound.insert(to_string(kernel.by_default));
  }
  const TunedTiles tuned = tuning.verify(journal, {.top = 3, .exhaustive = true, .budget_s = 1e9});
  ASSERT_TRUE(tuned.by_all);
  for (std::size_t i = 0; i < tuned.kernels.size(); ++i) {
    EXPECT_EQ(tuned.kernels[i].tried.size(), tuning.kernels[i].tiles.size() + 1);
  }
  if (tuned.by_top->seconds) {
    EXPECT_LE(*tuned.by_all->seconds, *tuned.by_top->seconds);
  }
}

TEST(VerifyTiles, KeepsTheDefaultOfKernelsTheBudgetDoesNotReach) {
  TileTuning tuning;
  TuningJournal journal("", "p");
  const TunedTiles tuned = tuning.verify(journal, {.top = 5, .budget_s = 7});
  EXPECT_FALSE(tuned.complete);
  EXPECT_LT(tuned.kernels.size(), tuning.kernels.size());
  ASSERT_TRUE(tuned.by_default && tuned.by_top);
  for (std::size_t i = tuned.kernels.size(); i < tuning.kernels.size(); ++i) {
    const auto found = tuned.chosen.find(tuning.kernels[i].hash);
    if (found != tuned.chosen.end()) {
      EXPECT_EQ(found->second, tuning.kernels[i].by_default);
    }
  }
}

TEST(VerifyTiles, EndsAsIfItHadNotBeenBrokenOff) {
  const std::string file = fresh_file();
  TileTuning whole, first, second;
  TuningJournal memory("", "p");
  const TunedTiles expected = whole.verify(memory, {.top = 4, .budget_s = 1e9});
  {
    TuningJournal journal(file, "p");
    const TunedTiles broken = first.verify(
        journal, {.top = 4, .budget_s = 1e9, .step = [](std::size_t done, std::size_t) {
                    return done < 2;
                  }});
    EXPECT_TRUE(broken.stopped);
    EXPECT_FALSE(broken.by_default) << "not timed";
  }
  TuningJournal journal(file, "p");
  const TunedTiles resumed = second.verify(journal, {.top = 4, .budget_s = 1e9});
  EXPECT_LT(second.hardware.timed, whole.hardware.timed);
  EXPECT_EQ(resumed.chosen, expected.chosen);
  EXPECT_DOUBLE_EQ(*resumed.by_top->seconds, *expected.by_top->seconds);
  EXPECT_DOUBLE_EQ(resumed.spent_s, expected.spent_s);
}

TEST(CommandHardware, GivesThePathsOfProgramAndTiles) {
  const TileTuning tuning;
  const std::string hash = tuning.kernels.front().hash;
  const std::vector<HardwareJob> jobs = {
      {"p", tuning.loaded.module, {{hash, tuning.kernels.front().by_default}}}};
  CommandHardware counts(
      {"grep -c ENTRY {hlo} && grep -q " + hash + " {tiles} && echo 12.5 us", Seconds{10}});
  EXPECT_DOUBLE_EQ(counts.time(jobs).front().seconds.value(), 12.5e-6);
  CommandHardware fails({"echo no board; exit 3", Seconds{10}});
  EXPECT_EQ(fails.time(jobs).front().failure, "exit code 3: no board");
  CommandHardware silent({"true", Seconds{10}});
  EXPECT_EQ(silent.time(jobs).front().failure, "it printed no time");
}

TEST(SetHardware, AddsUpWhatKernelsTookAndNamesTheOneItLacks) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const ir::LoadedModule loaded =
      ir::load_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo", {});
  const ir::Program program = ir::program_for(loaded, analytical::layout_rules(device), {}).program;
  measured::SampleSet set;
  double expected = 0;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const double took = 1e-6 * static_cast<double>(scheduled.kernel.ops().size());
    expected += took * scheduled.multiplicity;
    measured::Workload& work = set.works.emplace_back();
    work.parts.push_back({scheduled.kernel});
    measured::Sample& sample = set.samples.emplace_back();
    sample.work = set.works.size() - 1;
    sample.measured = Seconds{took};
  }
  const std::vector<HardwareJob> jobs = {{"p", loaded.module}};
  EXPECT_NEAR(SetHardware(set, device).time(jobs).front().seconds.value(), expected, 1e-12);
  const std::string first(set.works.front().parts.front().kernel.name());
  set.samples.clear();
  EXPECT_THAT(SetHardware(set, device).time(jobs).front().failure,
              StartsWith("kernel " + first + " with the tile"));
}

}  // namespace
}  // namespace tilecast::search
