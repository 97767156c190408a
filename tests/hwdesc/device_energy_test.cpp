// The energy block: units, required keys, and whose numbers it contains.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "tests/support/errors.h"

namespace tilecast::hwdesc {
namespace {

using testing::HasSubstr;

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
