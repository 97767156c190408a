// One kernel with one tile has one time per model, independent of who chose the tile and of the
// verb; and the analytical time shown is the analytical estimate of that tile.
#include <gtest/gtest.h>

#include <set>

#include "hwdesc/device_yaml.h"
#include "sim/answers.h"
#include "sim/tables.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::TileConfig;

constexpr double kEqual = 1e-9;       // relative
constexpr double kCsvStep_s = 1e-12;  // estimate_ns has three decimals

struct Case {
  const char* device;
  const char* program;
  hwdesc::Overrides changed = {};  // of the description
};

PlacedProgram placed_on(const hwdesc::Device& device, const std::string& program) {
  return place(ir::load_module((support::source_dir() / "configs/programs" / program).string(), {}),
               device, {});
}

void expect_equal(double time_s, double expected_s, const std::string& what) {
  EXPECT_NEAR(time_s, expected_s, kEqual * expected_s) << what;
}

// All other queries about the tile used by a simulation.
class OneKernel {
 public:
  OneKernel(const PlacedProgram& placed, const ir::Kernel& kernel, const ChosenModel& model)
      : placed_(placed), kernel_(kernel), model_(model) {}

  void expect_time(const Estimate& simulated) const {
    const double time_s = simulated.time.value;
    const Explanation why = explain(placed_, kernel_.name(), model_, "", 3);
    expect_equal(why.estimate.time.value, time_s, "explain, no tile stated");
    EXPECT_EQ(why.estimate.tile, simulated.tile);
    expect_listed(why, simulated);
    expect_analytical(simulated);
    const TileConfig& tile = simulated.tile;
    const analytical::KernelAnalysis analysis(kernel_, placed_.device);
    if (tile == TileConfig{} || !analysis.infeasible_reason(tile).empty()) return;
    const Explanation stated =
        explain(placed_, kernel_.name(), model_, analytical::to_string(tile), 0);
    expect_equal(stated.estimate.time.value, time_s, "explain, tile stated");
    const std::vector<TileConfig> asked{{}, tile};
    for (const double listed_s : tile_times_s(kernel_, placed_.device, model_, asked)) {
      expect_equal(listed_s, time_s, "tile_times_s");
    }
    expect_in_table(tile, time_s);
  }

 private:
  static void expect_listed(const Explanation& why, const Estimate& simulated) {
    for (const Estimate& listed : why.best_tiles) {
      if (listed.tile != simulated.tile) continue;
      expect_equal(listed.time.value, simulated.time.value, "explain, list of tiles");
    }
  }

  // For the same tile; the factor is relative to it.
  void expect_analytical(const Estimate& simulated) const {
    if (!simulated.correction) return;
    const bool stated = simulated.tile != TileConfig{};
    const analytical::KernelQuery own{kernel_}, same{kernel_, stated ? &simulated.tile : nullptr};
    const auto best = analytical_prior().estimate({&own, 1}, placed_.device).front();
    const auto physics = analytical_prior().estimate({&same, 1}, placed_.device).front();
    const analytical::Correction& correction = *simulated.correction;
    EXPECT_EQ(best->tile, simulated.tile);
    expect_equal(correction.analytical.value, best->time.value, "analytical");
    if (physics) expect_equal(correction.analytical.value, physics->time.value, "analytical, tile");
    expect_equal(correction.factor * correction.analytical.value, simulated.time.value, "factor");
  }

  void expect_in_table(const TileConfig& tile, double time_s) const {
    const measured::CsvTable answered =
        estimate_tiles(table_of_tiles({&tile, 1}), kernel_, placed_.device, model_.model.get());
    EXPECT_NEAR(std::stod(std::string(answered.cell(answered.rows.front(), "estimate_ns"))) * 1e-9,
                time_s, kCsvStep_s);
  }

  const PlacedProgram& placed_;
  const ir::Kernel& kernel_;
  const ChosenModel& model_;
};

class SameTime : public testing::TestWithParam<Case> {};

TEST_P(SameTime, WhicheverQuestionAsksForIt) {
  const hwdesc::Device device = hwdesc::load_device(GetParam().device, GetParam().changed);
  const PlacedProgram placed = placed_on(device, GetParam().program);
  for (const std::string name : {"analytical", "default"}) {
    const ChosenModel model = choose_model(name, {&device, 1});
    const Simulation run = simulate(placed, model, {.contents = true});
    std::set<std::string> seen;
    for (const SimulatedKernel& kernel : run.kernels) {
      if (!seen.insert(kernel.content).second) continue;
      SCOPED_TRACE(name + ", " + kernel.name);
      OneKernel(placed, placed.built.program.at(kernel.id).kernel, model)
          .expect_time(*kernel.estimate);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, SameTime,
    testing::Values(Case{"tpu_v5e", "transformer_block_train.hlo"},
                    Case{"tpu_v3", "small_mixer.hlo"}, Case{"tpu_v6e", "small_resnet.hlo"},
                    Case{"cpu_generic", "small_mixer.hlo"},
                    Case{"h100_sxm", "small_transformer_train.hlo"},
                    Case{"h100_sxm", "small_mixer.hlo", {{"clock", "1.5 GHz"}}},
                    Case{"a100_sxm_80gb", "small_resnet.hlo"}, Case{"l4", "small_diffusion.hlo"},
                    Case{"mi300x", "small_decoder_train.hlo"}),
    [](const auto& test) {
      return test.param.device + std::string(test.param.changed.empty() ? "" : "_changed");
    });

}  // namespace
}  // namespace tilecast::sim
