// Finds the preset for the machine of a profile, from facts that profilers state.
#include "hwdesc/device_guess.h"

#include <gmock/gmock.h>

#include <map>

#include "hwdesc/device_yaml.h"

namespace tilecast::hwdesc {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MachineFacts facts_of(const Device& device) {
  return {.matrix_flops = device.matrix_peak("bf16").value,
          .bandwidth = device.main_memory().bandwidth.value,
          .capacity_bytes = device.main_memory().capacity.value,
          .clock_hz = device.clock.value,
          .workers = static_cast<double>(device.multiplexing.workers)};
}

TEST(DeviceGuess, GoesByTheNameInWhateverCase) {
  const DeviceGuess guess = guess_device({.name = "TPU v6 Lite", .matrix_flops = 918e12});
  EXPECT_EQ(guess.preset, "tpu_v6e");
  EXPECT_THAT(guess.why, AllOf(HasSubstr("'TPU v6 Lite'"), HasSubstr("1 of 1 facts agree")));
  EXPECT_EQ(guess_device({.name = "TPU v5 lite"}).preset, "tpu_v5e");
  EXPECT_EQ(guess_device({.name = "TPU v5"}).preset, "tpu_v5p");
}

TEST(DeviceGuess, BelievesTheNameAlthoughAFactDiffers) {
  EXPECT_EQ(guess_device({.name = "TPU v4", .clock_hz = 3e9, .workers = 77}).preset, "tpu_v4");
}

// ROCm's profiler states no name, and half the bandwidth: it assumes single data rate memory.
TEST(DeviceGuess, FindsAnUnnamedMachineByItsFactsAlthoughOneIsWrong) {
  const MachineFacts facts{
      .bandwidth = 2662.4e9, .capacity_bytes = 206141652992.0, .clock_hz = 2.1e9, .workers = 304};
  const DeviceGuess guess = guess_device(facts);
  EXPECT_EQ(guess.preset, "mi300x");
  EXPECT_THAT(guess.why, HasSubstr("3 of 4 facts agree"));
  EXPECT_THAT(disagreements(facts, load_device("mi300x")),
              ElementsAre(AllOf(HasSubstr("memory bandwidth: 2.6624 TB/s in the profile"),
                                HasSubstr("5.325 TB/s in mi300x"))));
}

TEST(DeviceGuess, FindsEveryPresetByItsOwnFacts) {
  for (const std::string& preset : preset_names()) {
    const MachineFacts facts = facts_of(load_device(preset));
    const DeviceGuess guess = guess_device(facts);
    ASSERT_FALSE(guess.preset.empty()) << preset;
    // Presets that only differ in links or software state the same facts.
    EXPECT_THAT(disagreements(facts, load_device(guess.preset)), IsEmpty()) << preset;
  }
}

TEST(DeviceGuess, OfAnUnknownMachineNamesTheNearest) {
  const DeviceGuess guess = guess_device({.name = "GPU of tomorrow",
                                          .bandwidth = 20e12,
                                          .capacity_bytes = 400e9,
                                          .clock_hz = 2.0e9,
                                          .workers = 500});
  EXPECT_EQ(guess.preset, "");
  EXPECT_THAT(guess.why, AllOf(HasSubstr("no preset is near 'GPU of tomorrow'"),
                               HasSubstr("1 of 4 facts agree with")));
}

TEST(DeviceGuess, NeedsMoreThanOneFactOfAnUnnamedMachine) {
  EXPECT_EQ(guess_device({.clock_hz = 1.75e9}).preset, "");
  EXPECT_THAT(guess_device({}).why, HasSubstr("states nothing"));
}

TEST(ProfileNames, StandInOnePresetEach) {
  std::map<std::string, std::string> owner;
  for (const std::string& preset : preset_names()) {
    const std::string names = load_device(preset).profile_names;
    if (names.empty()) continue;
    EXPECT_TRUE(owner.emplace(names, preset).second) << names << ": " << owner[names];
  }
  EXPECT_GT(owner.size(), 20U);
}

TEST(ProfileNames, AreNotInheritedAndChangeNoMachine) {
  const Device child =
      parse_device("extends: h100_sxm\nclock: 1 GHz\nsource: a test\n", "child.yaml");
  EXPECT_EQ(child.profile_names, "");
  const Device renamed =
      parse_device("extends: h100_sxm\nprofile_names: \"H100 of ours\"\n", "renamed.yaml");
  EXPECT_EQ(renamed.profile_names, "H100 of ours");
  EXPECT_EQ(renamed.machine, load_device("h100_sxm").machine);
  EXPECT_THAT(renamed.lineage, ElementsAre("h100_sxm"));
}

}  // namespace
}  // namespace tilecast::hwdesc
