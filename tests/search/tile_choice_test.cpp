#include "search/tile_choice.h"

#include <gmock/gmock.h>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

using analytical::TileConfig;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace tilecast::search
