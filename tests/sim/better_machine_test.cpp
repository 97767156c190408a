// No kernel of a shipped program is slower on a better machine with the `default` model.
#include <gtest/gtest.h>

#include <filesystem>

#include "hwdesc/device_yaml.h"
#include "sim/answers.h"
#include "sim/sensitivity.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using hwdesc::Device;

constexpr double kRounding = 1e-9;  // relative

// Overrides of the description (--set); hybrids recognise a device by its numbers.
struct Better {
  const char* what;
  double by;
  bool (*raises)(std::string_view path);  // paths of hwdesc/device_yaml.h
};

constexpr Better kBetter[] = {
    {"1.1 x the clock", 1.1, [](std::string_view path) { return path.ends_with("clock"); }},
    {"twice the clock", 2, [](std::string_view path) { return path.ends_with("clock"); }},
    {"1.3 x the bandwidth of memories", 1.3,
     [](std::string_view path) {
       return path.starts_with("memory.") && path.ends_with("bandwidth");
     }},
    {"twice the matrix units", 2, [](std::string_view path) { return path == "matrix.count"; }},
    {"twice the vector and transcendental units", 2, [](std::string_view path) {
       return path == "vector.alus" || path == "transcendental.per_cycle";
     }}};

Device improved(const hwdesc::DeviceSource& source, const Better& better) {
  hwdesc::Overrides overrides;
  for (const hwdesc::DeviceNumber& number : hwdesc::device_numbers(source.with({}))) {
    if (number.value <= 0 || !better.raises(number.path)) continue;
    overrides.emplace_back(number.path,
                           hwdesc::format_quantity(number.value * better.by, number.kind));
  }
  EXPECT_FALSE(overrides.empty());
  return source.with(overrides);
}

std::vector<fs::path> programs() {
  return support::files_below(support::source_dir() / "configs/programs", ".hlo");
}

class BetterMachine : public testing::TestWithParam<const char*> {
 protected:
  // One program on the preset and on better machines, kernel by kernel.
  void compare(const fs::path& path, const std::vector<std::pair<std::string, Device>>& machines) {
    PlacedProgram placed = place(ir::load_module(path.string(), {}), device_, {});
    const Simulation before = simulate(placed, model_);
    for (const auto& [what, better] : machines) {
      SCOPED_TRACE(path.filename().string() + ", " + what);
      placed.device = better;
      const Simulation after = simulate(placed, model_);
      for (std::size_t i = 0; i < before.kernels.size(); ++i) {
        const double was_s = before.kernels[i].estimate->time.value;
        const double is_s = after.kernels[i].estimate->time.value;
        faster_ += is_s < was_s * (1 - kRounding) ? 1 : 0;
        EXPECT_LE(is_s, was_s * (1 + kRounding)) << before.kernels[i].name;
      }
    }
  }

  const hwdesc::DeviceSource source_{GetParam()};
  const Device device_ = source_.with({});
  const ChosenModel model_ = choose_model("default", {&device_, 1});
  int faster_ = 0;
};

TEST_P(BetterMachine, IsNeverSlower) {
  std::vector<std::pair<std::string, Device>> machines;
  for (const Better& better : kBetter)
    machines.emplace_back(better.what, improved(source_, better));
  for (const fs::path& path : programs()) compare(path, machines);
  EXPECT_GT(faster_, 0);
}

TEST_P(BetterMachine, WithoutWhatHoldsKernelsUpIsNeverSlower) {
  std::vector<std::pair<std::string, Device>> machines;
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    const auto bound = static_cast<analytical::Bound>(i);
    // Known inaccurate: on a GPU whose lanes multiply faster than its matrix unit, products use
    // lanes, with the libraries' blocks for lanes, which may take longer.
    if (bound == analytical::Bound::kVector && device_.execution == hwdesc::Execution::kSimt) {
      continue;
    }
    if (const auto better = without_bound(device_, bound)) {
      machines.emplace_back("without " + std::string(analytical::name(bound)), *better);
    }
  }
  compare(support::source_dir() / "configs/programs/mlp_train.hlo", machines);
  EXPECT_GT(faster_, 0);
}

INSTANTIATE_TEST_SUITE_P(Presets, BetterMachine,
                         testing::Values("tpu_v3", "tpu_v6e", "a100_sxm_80gb", "h100_sxm", "b200",
                                         "cpu_generic"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tilecast::sim
