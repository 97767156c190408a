// Checks the presets: each loads, its parts give the published peaks, and every block states the
// source of its numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/slice.h"
#include "tests/support/errors.h"

namespace tilecast::hwdesc {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Presets, AreSortedAndHoldTheKnownDevices) {
  const std::vector<std::string> names = preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  std::istringstream known(
      "a100_pcie_40gb a100_sxm_40gb a4000 b200 cpu_generic h100_pcie h100_sxm h20 h200_sxm h800 "
      "l4 mi100 mi210 mi250x mi300x p100_pcie p4 rtx_3070 rtx_3090 t4 titan_rtx tpu_v2 tpu_v3 "
      "tpu_v4 tpu_v5e tpu_v5p tpu_v6e tpu_v7x v100_pcie w6600");
  for (std::string name; known >> name;) EXPECT_THAT(names, Contains(name));
}

// If tensor cores do not support 32-bit operands, f32 products use the lanes of the vector unit.
TEST(Presets, MultiplySingleFloatsOnTheVectorLanesWhereTensorCoresCannot) {
  for (const std::string name :
       {"a100_pcie_40gb", "a4000", "p100_pcie", "p4", "t4", "titan_rtx", "v100_pcie", "w6600"}) {
    const Device device = load_device(name);
    EXPECT_DOUBLE_EQ(device.matrix_peak("f32") / (2 * device.vector_peak()), 1.0) << name;
  }
}

TEST(Presets, GiveThePublishedPeaksAndNameTheirSources) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    EXPECT_FALSE(device.published.empty()) << name;
    for (const CheckResult& result : check(device)) {
      EXPECT_NE(result.verdict, Verdict::kDiffers) << name << ": " << result.message;
    }
  }
}

// A number that was derived from a peak, "clock derived from 197 TFLOP/s", proves nothing when
// compared with that peak again.
TEST(Presets, AreNotComparedWithThePeaksTheyWereDerivedFrom) {
  const std::regex peak("([0-9.]+ TFLOP/s)");
  for (const std::string& name : preset_names()) {
    std::ifstream file(preset_path(name));
    std::set<std::string> used;
    bool is_published = false;
    for (std::string line; std::getline(file, line);) {
      is_published |= line.starts_with("published:");
      if (!is_published && line.find("source:") == std::string::npos) continue;
      for (std::sregex_iterator found(line.begin(), line.end(), peak), end; found != end; ++found) {
        if (is_published) {
          EXPECT_FALSE(used.contains((*found)[1])) << name << ": " << line;
        } else {
          used.insert((*found)[1]);
        }
      }
    }
    EXPECT_TRUE(is_published) << name;
  }
}

TEST(Presets, PrintToYamlThatLoadsAsTheSameDevice) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    const std::string printed = print_device(device);
    EXPECT_EQ(flatten(parse_device(printed, name + ".yaml")), flatten(device)) << printed;
  }
}

TEST(Presets, SlicesOfThemHaveNames) {
  const auto slice = [](const std::string& name) { return *load_device(name).interconnect->slice; };
  EXPECT_EQ(slice("v6e-256").shape, "16x16");
  EXPECT_EQ(slice("tpu_v6e-8").shape, "2x4");
  EXPECT_EQ(slice("v5p-128").shape, "4x4x4");  // cores: two a chip
  EXPECT_EQ(slice("v3-8").shape, "2x2");
  EXPECT_EQ(slice("tpu7x-128").shape, "4x4x4");
  EXPECT_EQ(slice("h100x64").shape, "8");
  EXPECT_EQ(slice("h100x64").count, 8);
  EXPECT_TRUE(slice("h100x64").network_bandwidth);
  EXPECT_EQ(slice("h200_sxmx4").shape, "4");
  EXPECT_EQ(load_device("v6e-256").machine == load_device("tpu_v6e").machine, false);
  EXPECT_THAT(support::error_of([&] { return slice("h100x12"); }), HasSubstr("multiple of the 8"));
  EXPECT_THAT(support::error_of([&] { return slice("v5p-3"); }), HasSubstr("multiple of 2"));
  EXPECT_THAT(support::error_of([&] { return slice("v9-8"); }), HasSubstr("no such preset"));
  EXPECT_EQ(load_device("v6e-256", {{"interconnect.slice.count", "2"}}).interconnect->slice->count,
            2);
}

TEST(Presets, OnlyWholeCubesOfATorusWrap) {
  EXPECT_EQ(wrapped({4, 4, 8}, 4), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(wrapped({2, 4, 4}, 4), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(wrapped({8, 16}, 16), (std::vector<bool>{false, true}));
}

TEST(Presets, AreNamedAfterTheirFile) {
  for (const std::string& name : preset_names()) EXPECT_EQ(load_device(name).name, name);
}

TEST(Presets, HaveFiniteRoofsThatOrderTheMemoryChain) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    ASSERT_EQ(device.engines.size(), device.memory.size() - 1) << name;
    for (std::size_t i = 1; i < device.memory.size(); ++i) {
      EXPECT_GE(device.memory[i].bandwidth, device.memory[i - 1].bandwidth) << name;
      EXPECT_LE(device.memory[i].latency, device.memory[i - 1].latency) << name;
    }
  }
}

// DRAM has a turnaround time between reads and writes; TPUs write 10 to 30 % slower than they read.
TEST(Presets, OfTpusWriteMainMemorySlowerThanTheyRead) {
  for (const char* name : {"tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"}) {
    const MemoryLevel hbm = load_device(name).main_memory();
    const double ratio = hbm.sustained_write().value / hbm.sustained_read().value;
    EXPECT_GT(ratio, 0.7) << name;
    EXPECT_LT(ratio, 0.9) << name;
  }
}

TEST(Check, SaysWhichPeakIsOffAndByHowMuch) {
  const Device device = load_device("tpu_v3", {{"clock", "470 MHz"}});
  const std::vector<CheckResult> results = check(device);
  EXPECT_EQ(results[0].what, "bf16 per chip");
  EXPECT_EQ(results[0].verdict, Verdict::kDiffers);
  EXPECT_NEAR(results[0].deviation, -0.5, 0.01);
  EXPECT_EQ(results[1].verdict, Verdict::kAgrees) << results[1].message;
}

Verdict verdict_of(const Device& device, const std::string& what) {
  for (const CheckResult& result : check(device)) {
    if (result.what == what) return result.verdict;
  }
  ADD_FAILURE() << "no row " << what;
  return Verdict::kDiffers;
}

TEST(Check, AgreesOnlyWithWhatSomebodyPublishes) {
  const Device device = load_device("tpu_v3");
  EXPECT_EQ(verdict_of(device, "hbm.capacity per chip"), Verdict::kAgrees);
  EXPECT_EQ(verdict_of(device, "vmem capacity"), Verdict::kNotPublished);
  EXPECT_EQ(verdict_of(device, "vector peak"), Verdict::kNotPublished);
  EXPECT_EQ(verdict_of(device, "matrix.source"), Verdict::kAgrees);
  EXPECT_EQ(verdict_of(device, "transcendental.source"), Verdict::kNotPublished);
}

TEST(Check, FlagsInheritedSharesOfAnotherClockOrAnotherNumberOfWorkers) {
  EXPECT_THAT(load_device("h100_sxm").outdated, testing::IsEmpty());
  const Device cut = load_device("h100_sxm", {{"multiplexing.workers", "66"}});
  EXPECT_EQ(verdict_of(cut, "memory.shared.bandwidth"), Verdict::kDiffers);
  EXPECT_EQ(verdict_of(cut, "memory.hbm.efficiency"), Verdict::kDiffers);
  EXPECT_THAT(cut.outdated[0],
              testing::AllOf(HasSubstr("h100_sxm.yaml"),
                             HasSubstr("workers has changed since: --set multiplexing")));
  const Device restated = load_device("h100_sxm", {{"clock", "990 MHz"},
                                                   {"shared.bandwidth", "16.7 TB/s"},
                                                   {"vector.source", "measured again"}});
  EXPECT_THAT(restated.outdated, Not(Contains(HasSubstr("memory.shared.bandwidth"))));
  EXPECT_THAT(restated.outdated, Not(Contains(HasSubstr("vector.efficiency"))));
  EXPECT_THAT(restated.outdated, Contains(HasSubstr("matrix.efficiency")));
}

TEST(Check, ComparesAcrossAllCoresOfTheChip) {
  const Device device = load_device("tpu_v3");
  EXPECT_DOUBLE_EQ(check(device)[0].computed_si,
                   device.cores_per_chip * device.matrix_peak("bf16").value);
}

TEST(MatrixPeak, IsTheProductOfItsParts) {
  const Device device = load_device("tpu_v3");
  EXPECT_DOUBLE_EQ(device.matrix_peak("bf16").value, 2.0 * 128 * 128 * 2 * 940e6);
  EXPECT_DOUBLE_EQ(device.vector_peak().value, 128.0 * 8 * 2 * 940e6);
}

TEST(MatrixPeak, IsZeroForATypeTheUnitCannotMultiply) {
  EXPECT_EQ(load_device("tpu_v3").matrix_peak("f64").value, 0);
}

TEST(MatrixPeak, LetsOneEntryStandForTheVariantsOfAType) {
  const Device device = load_device("h100_sxm");
  EXPECT_EQ(device.matrix_peak("f8e4m3fn"), device.matrix_peak("f8"));
  EXPECT_DOUBLE_EQ(device.matrix_peak("f8e5m2") / device.matrix_peak("bf16"), 2.0);
}

}  // namespace

// Finds the preset for the machine of a profile, from facts that profilers state.

namespace {

using testing::AllOf;
using testing::ElementsAre;
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

// The block interconnect.slice: valid values, errors with their places, and omission of the block.

namespace {

std::string slice_refusal(const std::string& block, const std::string& base = "tpu_v5p") {
  return support::error_of(
      [&] {
        return parse_device("extends: " + base + "\ninterconnect:\n  slice: " + block + "\n",
                            "chip.yaml");
      },
      "loaded");
}

TEST(SliceBlock, IsReadAndPrintedAsItIsWritten) {
  const Device device = parse_device(
      "extends: tpu_v5p\ninterconnect:\n  slice: {shape: 4x4x8, wraps: ring ring line, count: 2, "
      "network_bandwidth: 25 GB/s, network_latency: 10 us}\n",
      "chip.yaml");
  const Slice& slice = *device.interconnect->slice;
  EXPECT_THAT(slice_shape(slice.shape), ElementsAre(4, 4, 8));
  EXPECT_THAT(slice_rings(slice.wraps, 3), ElementsAre(true, true, false));
  EXPECT_EQ(slice.count, 2);
  EXPECT_EQ(slice.network_bandwidth, BytesPerSecond{25e9});
  EXPECT_DOUBLE_EQ(slice.network_latency.value, 10e-6);
  EXPECT_EQ(flatten(parse_device(print_device(device), "chip.yaml")), flatten(device));
}

TEST(SliceBlock, LeftOutAddsNoKeyAndNoNumber) {
  const Device device = load_device("tpu_v5p");
  EXPECT_FALSE(device.interconnect->slice);
  for (const auto& [path, value] : flatten(device)) {
    EXPECT_EQ(path.find("slice"), std::string::npos) << path;
  }
  EXPECT_EQ(find_number(device_numbers(device), "interconnect.slice.count"), nullptr);
  EXPECT_NE(load_device("tpu_v5p", {{"interconnect.slice.shape", "4x4"}}).machine, device.machine);
}

TEST(SliceBlock, IsSetLikeAnyOtherKey) {
  const Device device =
      load_device("h100_sxm", {{"interconnect.slice.shape", "8"},
                               {"interconnect.slice.count", "4"},
                               {"interconnect.slice.network_bandwidth", "400 GB/s"}});
  EXPECT_EQ(device.interconnect->slice->count, 4);
  EXPECT_NE(find_number(device_numbers(device), "interconnect.slice.network_bandwidth"), nullptr);
}

TEST(SliceBlock, RefusesSlipsWithTheirPlaceAndWhatWasExpected) {
  EXPECT_THAT(slice_refusal("{shape: 4xx4}"),
              AllOf(HasSubstr("chip.yaml:3:"), HasSubstr("interconnect.slice.shape: got '4xx4'"),
                    HasSubstr("such as 4x4x8")));
  for (const char* shape : {"0x4", "4x-1", "4 x 4", "x4", "4x", "4.5", "99999999", "2000000x2"}) {
    EXPECT_THAT(slice_refusal("{shape: \"" + std::string(shape) + "\"}"), HasSubstr("shape: got"))
        << shape;
  }
  EXPECT_THAT(slice_refusal("{shape: 4x4x4}", "tpu_v5e"), HasSubstr("at most 2 dimensions"));
  EXPECT_THAT(slice_refusal("{shape: 2x4}", "h100_sxm"), HasSubstr("at most 1 dimension;"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, wraps: ring}"), HasSubstr("for each of 2 dimensions"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, wraps: ring loop}"), HasSubstr("slice.wraps: got"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, count: 2}", "tpu_v3"),
              HasSubstr("interconnect.slice.network_bandwidth: missing"));
  EXPECT_THAT(slice_refusal("{shap: 4x4}"), HasSubstr("'shape' is missing"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, cuont: 2}"), HasSubstr("did you mean 'count'?"));
}

// --- The energy block: units, required keys, and whose numbers it contains.

constexpr double kPico = 1e-12;

std::string energy_refusal(const Overrides& overrides, const std::string& name = "tpu_v3") {
  return support::error_of([&] { return load_device(name, overrides); }, "loaded");
}

TEST(EnergyUnits, ReadAndPrintWhatDataSheetsAndPapersWrite) {
  EXPECT_DOUBLE_EQ(parse_quantity("0.9 pJ", UnitKind::kEnergy), 0.9 * kPico);
  EXPECT_DOUBLE_EQ(parse_quantity("44 pJ/B", UnitKind::kEnergyPerByte), 44 * kPico);
  EXPECT_DOUBLE_EQ(parse_quantity("1.2 kW", UnitKind::kPower), 1200);
  EXPECT_EQ(format_quantity(0.9 / 1e12, UnitKind::kEnergy), "900 fJ");
  EXPECT_EQ(format_quantity(44 / 1e12, UnitKind::kEnergyPerByte), "44 pJ/B");
  EXPECT_EQ(format_quantity(72, UnitKind::kPower), "72 W");
  EXPECT_THROW((void)parse_quantity("44 pJ", UnitKind::kEnergyPerByte), Error);
  EXPECT_THROW((void)parse_quantity("72 J", UnitKind::kPower), Error);
}

TEST(EnergyUnits, OnlyMakeSensibleQuotientsAndProducts) {
  EXPECT_EQ((Joules{6} / Seconds{2}).value, 3);
  EXPECT_EQ((Watts{3} * Seconds{2}).value, 6);
  EXPECT_EQ((Joules{6} / Watts{3}).value, 2);
  EXPECT_EQ((Bytes{4} * JoulesPerByte{2}).value, 8);
}

TEST(EnergyBlock, NamesEveryLevelOfMemoryAndNoOther) {
  EXPECT_THAT(energy_refusal({{"energy.memory.vmem", "null"}}),
              HasSubstr("energy.memory: the level 'vmem' is missing"));
  EXPECT_THAT(energy_refusal({{"energy.memory.vmen", "1 pJ/B"}}),
              HasSubstr("got 'vmen', which is no level of memory; did you mean 'vmem'?"));
}

TEST(EnergyBlock, NamesEveryTypeThatTheMatrixUnitMultiplies) {
  EXPECT_THAT(energy_refusal({{"energy.matrix.bf16", "null"}}),
              HasSubstr("the type 'bf16' of matrix.passes is missing"));
  EXPECT_EQ(energy_refusal({{"matrix.passes.f8", "null"}}), "loaded");
}

TEST(EnergyBlock, NamesTheEnergyOfLinksWhereThereAreAny) {
  EXPECT_THAT(energy_refusal({{"energy.network", "null"}}), HasSubstr("energy.network: missing"));
  EXPECT_EQ(energy_refusal({{"energy.network", "null"}, {"interconnect", "null"}}), "loaded");
}

TEST(EnergyBlock, HasALimitAboveIdlingAndOneDescriptionOfIt) {
  EXPECT_THAT(energy_refusal({{"energy.power_limit", "84 W"}}),
              HasSubstr("energy.power_limit: expected more than idle_power"));
  EXPECT_EQ(energy_refusal({{"energy.power_limit", "85 W"}}), "loaded");
  EXPECT_THAT(energy_refusal({{"energy.power_limit", "70 W"}}, "t4"),
              HasSubstr("matrix.limited_clock says the same in another way"));
}

TEST(EnergyBlock, IsOfAChipOfWhichACoreHasItsShare) {
  const Device device = load_device("tpu_v3", {{"energy.power_limit", "300 W"}});
  ASSERT_EQ(device.cores_per_chip, 2);
  EXPECT_EQ(device.idle_power(), device.energy->idle_power / 2);
  EXPECT_EQ(device.power_limit(), Watts{150});
  EXPECT_EQ(load_device("cpu_generic").idle_power(), Watts{0});
  EXPECT_EQ(load_device("cpu_generic").power_limit(), std::nullopt);
}

TEST(ProductEnergy, IsThatOfTheUnitThatMultiplies) {
  const Device device = load_device("h100_sxm");
  const Energy& energy = *device.energy;
  EXPECT_EQ(device.product_energy("bf16"), energy.matrix.at("bf16"));
  EXPECT_EQ(device.product_energy("f8e4m3fn"), energy.matrix.at("f8"));
  EXPECT_EQ(device.product_energy("u8"), energy.matrix.at("s8"));
  EXPECT_EQ(device.product_energy("s32"), energy.vector);  // no tensor core supports it
}

TEST(EnergyBlock, MakesAnotherMachineOnlyWhereItChangesTimes) {
  const auto machine = [](const Overrides& overrides) {
    return load_device("tpu_v3", overrides).machine;
  };
  EXPECT_EQ(machine({}), machine({{"energy.vector", "1 pJ"}}));
  EXPECT_EQ(machine({}), machine({{"energy", "null"}}));
  EXPECT_NE(machine({}), machine({{"energy.power_limit", "200 W"}}));
  EXPECT_NE(machine({{"energy.power_limit", "200 W"}}),
            machine({{"energy.power_limit", "200 W"}, {"energy.vector", "1 pJ"}}));
}

TEST(EnergyBlock, IsInEveryPresetOfAnAcceleratorAndSaysItIsEstimated) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    EXPECT_EQ(device.energy.has_value(), device.execution != Execution::kCache) << name;
    if (!device.energy) continue;
    EXPECT_TRUE(device.energy->provenance.estimated) << name;
    EXPECT_FALSE(device.energy->provenance.source.empty()) << name;
  }
}

// A chip that multiplies at its peak while main memory streams at its peak should not take a fifth
// or five times the power for which boards are built (100 W to 1.2 kW).
TEST(EnergyBlock, GivesBoardsThatCanBeCooled) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    if (!device.energy || device.matrix_peak("f16").value <= 0) continue;
    const double products_W = device.matrix_peak("f16").value * device.product_energy("f16").value;
    const MemoryLevel& outer = device.main_memory();
    const double memory_W = outer.bandwidth.value * device.energy->memory.at(outer.name).value;
    const double chip_W =
        device.cores_per_chip * (products_W + memory_W + device.idle_power().value);
    EXPECT_GT(chip_W, 60) << name;
    EXPECT_LT(chip_W, 2400) << name;
  }
}

Device example(const std::string& name) {
  const std::filesystem::path presets = std::filesystem::path(preset_path("l4")).parent_path();
  return load_device((presets.parent_path() / "examples/devices" / (name + ".yaml")).string());
}

TEST(ExampleDevices, AreSound) {
  for (const char* name : {"my_accelerator", "l4_double", "tpu_next"}) {
    for (const CheckResult& result : check(example(name))) {
      EXPECT_NE(result.verdict, Verdict::kDiffers) << name << ": " << result.message;
    }
  }
}

TEST(ExampleDevices, DifferFromWhatTheyExtendInWhatTheySay) {
  const Device next = example("tpu_next"), v6e = load_device("tpu_v6e");
  EXPECT_DOUBLE_EQ(next.matrix_peak("bf16") / v6e.matrix_peak("bf16"), 2);
  EXPECT_DOUBLE_EQ(next.main_memory().bandwidth / v6e.main_memory().bandwidth, 2);
  EXPECT_EQ(next.vector_peak(), v6e.vector_peak());
  const Device wide = example("l4_double"), l4 = load_device("l4");
  EXPECT_DOUBLE_EQ(wide.main_memory().bandwidth / l4.main_memory().bandwidth, 2);
  EXPECT_EQ(wide.power_limit(), Watts{150});
  EXPECT_EQ(wide.energy->matrix, l4.energy->matrix);
}
}  // namespace
}  // namespace tilecast::hwdesc
