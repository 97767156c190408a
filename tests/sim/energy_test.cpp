// Energy of programs: its parts sum up, and every key of the description has an effect.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "analytical/analytical_model.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "ir/text/hlo_parser.h"
#include "sim/run_parts.h"
#include "sim/simulator.h"
#include "sim/views/simulation.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

// Two large products of f32, one of each other type, exponentials and an all-reduce.
std::string everything() {
  std::string text = R"(HloModule everything, is_scheduled=true, replica_count=4
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[2048,2048] parameter(0)
  y = f32[2048,2048] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[2048,2048] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[2048,2048] exponential(z)
  f = f32[2048,2048] add(e, x)
)";
  for (const char* dtype : {"bf16", "f16", "f8e4m3fn", "s8", "s4", "f64"}) {
    text += fmt::format(
        "  c_{0} = {0}[2048,2048] convert(x)\n"
        "  d_{0} = {0}[2048,2048] dot(c_{0}, c_{0}), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}}\n",
        dtype);
  }
  return text + R"(  ROOT r = f32[2048,2048] all-reduce(f), replica_groups={{0,1,2,3}}, to_apply=add
}
)";
}

Simulation run_on(const hwdesc::Device& device) {
  const ir::Program program =
      ir::make_program(ir::parse_hlo(base::SourceText("t.hlo", everything())));
  return simulate(program, device, analytical::AnalyticalModel());
}

TEST(ProgramEnergy, IsTheSumOverLaunchesAndIdlingOnTheTimeline) {
  const hwdesc::Device device = hwdesc::load_device("h100_sxm");
  const Simulation run = run_on(device);
  ASSERT_TRUE(run.energy);
  double dynamic_J = 0;
  for (const SimulatedKernel& kernel : run.kernels) {
    dynamic_J += kernel.multiplicity * kernel.estimate->energy->total().value;
  }
  EXPECT_NEAR(run.energy->dynamic.total().value, dynamic_J, 1e-9 * dynamic_J);
  EXPECT_DOUBLE_EQ(run.energy->idle.value, device.energy->idle_power.value * run.timeline.value);
  EXPECT_DOUBLE_EQ(run.energy->average_power().value,
                   run.energy->total().value / run.timeline.value);
}

TEST(ProgramEnergy, IsNotDescribedByAMachineWithoutTheBlock) {
  const Simulation run = run_on(hwdesc::load_device("h100_sxm", {{"energy", "null"}}));
  EXPECT_EQ(run.energy, std::nullopt);
  EXPECT_THAT(views::table(run), HasSubstr("energy    not described\n"));
  EXPECT_THAT(views::json({&run, 1}), HasSubstr("\"energy_J\": null"));
}

TEST(ProgramEnergy, ChangesNoTimeWhereNoPowerIsLimited) {
  const Simulation with = run_on(hwdesc::load_device("h100_sxm"));
  const Simulation without = run_on(hwdesc::load_device("h100_sxm", {{"energy", "null"}}));
  EXPECT_EQ(with.time, without.time);
  EXPECT_EQ(with.timeline, without.timeline);
}

TEST(ProgramEnergy, SaysWhatAPowerLimitDoes) {
  const Simulation run = run_on(hwdesc::load_device("l4"));
  ASSERT_TRUE(run.energy);
  EXPECT_GE(run.energy->limited_kernels, 2u);
  EXPECT_LT(run.energy->lowest_clock, 0.5);
  EXPECT_LE(run.energy->average_power().value, 72.001);
  EXPECT_THAT(views::table(run), HasSubstr("limit 72 W: lowers the clock of"));
  EXPECT_THAT(views::csv({&run, 1}), HasSubstr(",energy_J,"));
}

// A key that changes neither energy nor time would be unused.
TEST(EnergyKeys, EachChangeWhatIsPredicted) {
  const hwdesc::Device device = hwdesc::load_device("l4");
  const Simulation before = run_on(device);
  int keys = 0;
  for (const auto& [path, value] : hwdesc::flatten(device)) {
    const bool is_text = path.ends_with("source") || path.ends_with("estimated");
    if (!path.starts_with("energy.") || is_text) continue;
    ++keys;
    const std::size_t space = value.find(' ');
    // A window longer than every launch limits none.
    const double other = path == "energy.power_window" ? 1 : 1.5 * std::stod(value);
    const std::string unit = space == std::string::npos ? "" : value.substr(space);
    const Simulation after =
        run_on(hwdesc::load_device("l4", {{path, fmt::format("{}{}", other, unit)}}));
    EXPECT_NE(after.energy->total(), before.energy->total()) << path;
  }
  EXPECT_EQ(keys, 7 + 2 + 3 + 1 + 3 + 1);  // types, units, levels, links, powers, exponent
}

}  // namespace
}  // namespace tilecast::sim
