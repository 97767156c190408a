#include "search/tile_tuner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "search/hardware.h"
#include "search/tile_choice.h"
#include "tests/search/fresh_file.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/tile_offers.h"

namespace tilecast::search {
namespace {

using analytical::TileConfig;
using support::ArbitraryRanker;
using support::offered_tiles;
using support::product;
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
  ir::LoadedModule loaded =
      ir::load_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo", {});
  ir::fuse_by(analytical::layout_rules(device).fusion, {}, loaded);
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

// The text of {value} in a command, in any place.
TEST(CommandHardware, ValuesStayOneTextForTheShell) {
  constexpr double kRight = 3;
  const std::string test = "sh -c 'test \"$1\" = \"$EXPECTED\" && echo 3' sh ";
  for (const std::string value : {"plain", "with blank", "a; echo 1", "$(echo 1)", "`echo 1`",
                                  "it's \"quoted\"", "*", "back\\", "$HOME", "'", "\\\"$`"}) {
    ASSERT_EQ(::setenv("EXPECTED", value.c_str(), /*overwrite=*/1), 0);
    for (const std::string place : {"{value}", "\"{value}\"", "'{value}'"}) {
      const HardwareTime time = time_by({test + place, Seconds{10}}, {{"{value}", value}});
      EXPECT_EQ(time.seconds, kRight) << place << " is " << value << ": " << time.failure;
    }
  }
  ::unsetenv("EXPECTED");
}

TEST(CommandHardware, ValuesAreNotReadAsPlaces) {
  const HardwareTime time =
      time_by({"test {a} = '{b}' && test '\\'{b} = '\\4' && echo 5", Seconds{10}},
              {{"{a}", "4"}, {"{b}", "4"}});
  EXPECT_EQ(time.seconds, 5) << time.failure;
  EXPECT_EQ(time_by({"test {a} = \"{\"b} && echo 6", Seconds{10}}, {{"{a}", "{b}"}, {"{b}", "4"}})
                .seconds,
            6);
}

struct MixerOnTpu {
  hwdesc::Device device = hwdesc::load_device("tpu_v3");
  ir::DeviceProgram built = ir::program_for(
      ir::load_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo", {}),
      analytical::layout_rules(device), {});
  analytical::AnalyticalModel physics;

  // A kernel with several tiles.
  [[nodiscard]] const ir::Kernel& kernel() const {
    for (const ir::ScheduledKernel& scheduled : built.program.kernels()) {
      if (analytical::KernelAnalysis(scheduled.kernel, device).tiles().size() > 4) {
        return scheduled.kernel;
      }
    }
    throw Error("no kernel has tiles");
  }
};

// The reverse order of the analytical model: its slowest tile is first.
class Contrary final : public analytical::TileRanker {
 public:
  std::vector<std::optional<double>> scores(const ir::Kernel& kernel,
                                            std::span<const TileConfig> tiles,
                                            const hwdesc::Device& device) const override {
    auto scores = analytical::PhysicsRanker().scores(kernel, tiles, device);
    for (auto& score : scores) {
      if (score) *score = -*score;
    }
    return scores;
  }
};

TileChoices read(const std::string& text) {
  return read_tiles(base::SourceText("t.tiles", text));
}

std::string refusal(const std::string& text) {
  return support::error_of([&] { return read(text); }, "");
}

const std::string kHash = "0123456789abcdef0123456789abcdef";
const std::string kOther = "ffffffffffffffffffffffffffffffff";

TEST(TileChoices, AreReadAsTheyAreWritten) {
  const TileChoices tiles = {{kHash, {.output = {16, 4}, .kernel = {8}, .input = {}}},
                             {kOther, {}}};
  EXPECT_EQ(read(text_of(tiles, {{kHash, "dot.4"}})), tiles);
  EXPECT_THAT(text_of(tiles, {{kHash, "dot.4"}}), HasSubstr("out=16x4 kernel=8  # dot.4\n"));
  EXPECT_EQ(read("# mine\n\ntilecast.tile_choices/1\n"), TileChoices());
}

TEST(TileChoices, OfSomethingElseAreRefusedWithTheLine) {
  const std::string head = "tilecast.tile_choices/1\n";
  EXPECT_THAT(refusal(""), HasSubstr("t.tiles: is empty"));
  EXPECT_THAT(refusal("tilecast.fusion/1\n"), HasSubstr("t.tiles:1:1: error: got 'tilecast.fus"));
  EXPECT_THAT(refusal(head + "abc out=2\n"), HasSubstr("t.tiles:2:1: error: expected the hash"));
  EXPECT_THAT(refusal(head + kHash + "\n"), HasSubstr("t.tiles:2:1: error: expected the hash"));
  EXPECT_THAT(refusal(head + kHash + " out=0\n"), HasSubstr("got '0', expected sizes"));
  EXPECT_THAT(refusal(head + kHash + " out=2\n" + kHash + " out=4\n"),
              HasSubstr("t.tiles:3:1: error: this kernel stands in the file twice"));
}

TEST(RankTiles, ListsTheBestFirst) {
  const MixerOnTpu mixer;
  const auto ranked = rank_tiles(mixer.kernel(), mixer.device, analytical::PhysicsRanker());
  const auto timed =
      rank_tiles(mixer.kernel(), mixer.device, analytical::TimeRanker(mixer.physics));
  ASSERT_GT(ranked.size(), 4U);
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    EXPECT_LE(ranked[i - 1].score, ranked[i].score);
    EXPECT_NEAR(ranked[i].score, timed[i].score, 1e-12) << "the model of times is physics";
  }
}

TEST(ChosenTiles, TimesWhatTheRankerChooses) {
  const MixerOnTpu mixer;
  const Contrary contrary;
  const ir::Kernel& kernel = mixer.kernel();
  const ChosenTiles model(mixer.physics, {.ranker = &contrary});
  const analytical::KernelQuery query{kernel};
  const auto chosen = model.estimate({&query, 1}, mixer.device).front();
  const auto ranked = rank_tiles(kernel, mixer.device, contrary);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->tile, ranked.front().tile);
  EXPECT_GE(chosen->time.value, -ranked.front().score) << "physics' time of that tile";
  EXPECT_GT(chosen->time.value,
            mixer.physics.estimate({&query, 1}, mixer.device).front()->time.value);
}

TEST(ChosenTiles, TakesWhatIsFixedFirstAndAsGivenBeforeAll) {
  const MixerOnTpu mixer;
  const Contrary contrary;
  const ir::Kernel& kernel = mixer.kernel();
  const auto tiles = analytical::KernelAnalysis(kernel, mixer.device).tiles();
  const ChosenTiles model(mixer.physics,
                          {.ranker = &contrary, .fixed = {{ir::canonical_hash(kernel), tiles[2]}}});
  const std::vector<analytical::KernelQuery> queries = {{kernel}, {kernel, &tiles[1]}};
  const auto answers = model.estimate(queries, mixer.device);
  EXPECT_EQ(answers[0]->tile, tiles[2]);
  EXPECT_EQ(answers[1]->tile, tiles[1]);
}

TEST(ChosenTiles, SaysThatAFixedTileCannotRun) {
  const MixerOnTpu mixer;
  const ir::Kernel& kernel = mixer.kernel();
  const ChosenTiles model(
      mixer.physics, {.fixed = {{ir::canonical_hash(kernel), {.output = {1, 1, 1, 1, 1, 1, 1}}}}});
  const analytical::KernelQuery query{kernel};
  const std::string error = support::error_of([&] {
    return model.estimate({&query, 1}, mixer.device);
  });
  EXPECT_THAT(error, HasSubstr("cannot run on tpu_v3"));
  EXPECT_THAT(error, HasSubstr(kernel.name()));
}

// --- The contract of choosing (search/tile_choice.h) on random lists of tiles, valid and absurd
// ones, and rankers that are right, wrong or without scores.

class EveryDevice : public ::testing::TestWithParam<const char*> {
 protected:
  const hwdesc::Device device_ = hwdesc::load_device(GetParam());
  const ir::Kernel kernel_ = product(512, 384, 768);
  const analytical::KernelAnalysis analysis_{kernel_, device_};
  const std::vector<TileConfig> listed_ = analysis_.tiles();
};

TEST_P(EveryDevice, TheAnswerIsOfferedAndRunsOrIsTheDefault) {
  const TileConfig by_default{.output = {7, 7, 7}, .kernel = {}, .input = {}};  // for any default
  std::mt19937_64 random(1);
  std::size_t chosen = 0, kept = 0;
  constexpr std::uint64_t kCases = 300;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const TileDecision d = choose_tile(kernel_, device_, ArbitraryRanker(i), tiles, by_default);
    EXPECT_EQ(d.offer.has_value(), d.why_default.empty());
    if (d.offer) {
      ++chosen;
      ASSERT_LT(*d.offer, tiles.size());
      EXPECT_EQ(d.tile, tiles[*d.offer]);
      EXPECT_TRUE(std::holds_alternative<analytical::Estimate>(analysis_.estimate(d.tile)));
    } else {
      ++kept;
      EXPECT_EQ(d.tile, by_default);
    }
  }
  EXPECT_GT(chosen, kCases / 10);
  EXPECT_GT(kept, kCases / 10);
}

TEST_P(EveryDevice, PhysicsChoosesTheFastestThatRuns) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const TileDecision d = choose_tile(kernel_, device_, analytical::PhysicsRanker(), tiles, {});
    for (const TileConfig& tile : tiles) {
      if (std::holds_alternative<analytical::Infeasible>(analysis_.estimate(tile))) continue;
      ASSERT_TRUE(d.offer);
      EXPECT_LE(analysis_.time(d.tile), analysis_.time(tile));
    }
  }
}

// Rankings of several tiles, as used by `tiles`, `tune` and ChosenTiles.
TEST_P(EveryDevice, ARankingIsOfOfferedTilesThatRunAndFewerOfItAreItsFirst) {
  std::mt19937_64 random(3);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const ArbitraryRanker ranker(i);
    const OfferRanking all = rank_offered(kernel_, device_, ranker, tiles);
    const OfferRanking two = rank_offered(kernel_, device_, ranker, tiles, 2);
    std::set<std::size_t> seen;
    for (std::size_t k = 0; k < all.best.size(); ++k) {
      const auto [offer, score] = all.best[k];
      ASSERT_LT(offer, tiles.size());
      EXPECT_TRUE(seen.insert(offer).second) << "each once";
      EXPECT_TRUE(std::isfinite(score));
      EXPECT_EQ(analysis_.infeasible_reason(tiles[offer]), "");
      EXPECT_LE(all.best[k == 0 ? 0 : k - 1].score, score);
    }
    EXPECT_EQ(all.why_none.empty(), !all.best.empty());
    ASSERT_EQ(two.best.size(), std::min<std::size_t>(all.best.size(), 2));
    for (std::size_t k = 0; k < two.best.size(); ++k) {
      EXPECT_EQ(two.best[k].offer, all.best[k].offer);
    }
    const TileDecision one = choose_tile(kernel_, device_, ranker, tiles, {});
    EXPECT_EQ(one.offer, all.best.empty() ? std::nullopt : std::optional(all.best[0].offer));
  }
}

// Times, reasons and estimates agree on which tiles can run.
TEST_P(EveryDevice, ATimeIsFiniteWhereThereIsNoReasonAgainstTheTile) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    const std::vector<TileConfig> tiles = offered_tiles(listed_, random);
    const std::vector<double> times = analysis_.times_s(tiles);
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      const bool runs = analysis_.infeasible_reason(tiles[k]).empty();
      EXPECT_EQ(std::isfinite(times[k]), runs) << to_string(tiles[k]);
      EXPECT_EQ(std::isfinite(analysis_.time(tiles[k]).value), runs);
      EXPECT_EQ(std::holds_alternative<analytical::Estimate>(analysis_.estimate(tiles[k])), runs);
    }
  }
}

TEST_P(EveryDevice, ChosenTilesTakeTheRankersBestOfTheListOrLeaveTheKernelAlone) {
  const analytical::AnalyticalModel physics;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ArbitraryRanker ranker(seed);
    const ChosenTiles model(physics, {.ranker = &ranker});
    const OfferRanking ranking = rank_offered(kernel_, device_, ranker, listed_, 1);
    const auto tile = model.tile_of(kernel_, device_);
    ASSERT_EQ(tile.has_value(), !ranking.best.empty());
    if (tile) {
      EXPECT_EQ(*tile, listed_[ranking.best[0].offer]);
    }
  }
}

std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}
INSTANTIATE_TEST_SUITE_P(TileContract, EveryDevice,
                         ::testing::Values("tpu_v3", "a100_sxm_40gb", "cpu_generic"), device_name);

TEST(TileContract, SaysWhyTheDefaultIsKept) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const ir::Kernel kernel = product(512, 384, 768);
  const analytical::PhysicsRanker physics;
  EXPECT_EQ(choose_tile(kernel, device, physics, {}, {}).why_default, "no tile is offered");
  const std::vector<TileConfig> too_large = {
      {.output = {256, 256}, .kernel = {128, 256}, .input = {}, .stages = 9, .warps = 8}};
  const TileDecision d = choose_tile(kernel, device, physics, too_large, {});
  EXPECT_THAT(d.why_default, HasSubstr("none of 1 tiles offered can run on a100_sxm_40gb: not "
                                       "even one block fits"));
}
}  // namespace
}  // namespace tilecast::search
