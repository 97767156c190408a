// The preset of TPU v3, without a fit, against published measurements. The data is not part of this
// repository: see README, "Tests".
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/simulator.h"
#include "sim/tables.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;

struct Pair {
  double predicted = 0, measured = 0;
};

fs::path data(const std::string& folder) {
  return support::shared_dir() / "data" / folder;
}

double mape(const std::vector<Pair>& pairs) {
  double sum = 0;
  for (const Pair& p : pairs) sum += std::abs(p.predicted / p.measured - 1);
  return sum / static_cast<double>(pairs.size());
}

double kendall_tau_b(const std::vector<Pair>& pairs) {
  double score = 0;
  double ordered_predicted = 0;
  double ordered_measured = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto sign = [](double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0; };
      const double p = sign(pairs[i].predicted - pairs[j].predicted);
      const double m = sign(pairs[i].measured - pairs[j].measured);
      score += p * m;
      ordered_predicted += p * p;
      ordered_measured += m * m;
    }
  }
  return score / std::sqrt(ordered_predicted * ordered_measured);
}

// Every measured tile of every kernel, by kernel.
std::map<std::string, std::vector<Pair>> tile_runs(const fs::path& folder) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const measured::CsvTable table =
      measured::read_csv(base::SourceText::read_file(folder / "tile_runs.csv"));
  std::map<std::string, std::vector<Pair>> runs;
  for (const fs::path& file : support::files_below(folder, ".hlo")) {
    const ir::LoadedModule module = ir::load_module(file, {});
    const ir::DeviceProgram built = ir::program_for(module, analytical::layout_rules(device), {});
    const measured::CsvTable answers =
        estimate_tiles(rows_of_file(table, file), built.program.kernels().front().kernel, device);
    for (const measured::CsvRow& row : answers.rows) {
      const std::string estimate(answers.cell(row, "estimate_ns"));
      const std::string measured(answers.cell(row, "compute_time_ns"));
      if (answers.cell(row, "output_bounds").empty() || answers.cell(row, "error") != "0") continue;
      if (!estimate.empty()) {
        runs[file.stem()].push_back({std::stod(estimate), std::stod(measured)});
      }
    }
  }
  return runs;
}

TEST(TpuV3, TilesAreRankedAndTimedAsMeasured) {
  const fs::path folder = data("tpu_v3_tiles");
  if (!fs::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  const auto runs = tile_runs(folder);
  ASSERT_TRUE(runs.contains("fusion.191"));
  std::vector<Pair> all;
  double chosen = 0;
  double best = 0;
  int kernels = 0;
  for (const auto& [name, pairs] : runs) {
    all.insert(all.end(), pairs.begin(), pairs.end());
    if (pairs.size() < 2) continue;
    ++kernels;
    const auto by = [](double Pair::*field) {
      return [field](const Pair& a, const Pair& b) { return a.*field < b.*field; };
    };
    chosen += std::min_element(pairs.begin(), pairs.end(), by(&Pair::predicted))->measured;
    best += std::min_element(pairs.begin(), pairs.end(), by(&Pair::measured))->measured;
  }
  const std::vector<Pair>& ranked = runs.at("fusion.191");
  std::printf("fusion.191: tau-b %.3f (n = %zu)\n", kendall_tau_b(ranked), ranked.size());
  std::printf("Tile-Size APE %.2f %% (%d kernels)\n", 100 * (chosen / best - 1), kernels);
  std::printf("MAPE %.1f %% (n = %zu tiles)\n", 100 * mape(all), all.size());
  EXPECT_GE(kendall_tau_b(ranked), 0.85);
  EXPECT_LE(chosen / best - 1, 0.023);
  EXPECT_LE(mape(all), 0.20);
}

TEST(TpuV3, TrainingStepOfUnet3dIsWithin30Percent) {
  const fs::path folder = data("tpu_v3_unet3d");
  if (!fs::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const measured::CsvTable runs =
      measured::read_csv(base::SourceText::read_file(folder / "layout_runs.csv"));
  ASSERT_EQ(runs.cell(runs.rows.front(), "is_default"), "1");
  const double measured =
      1e-9 * std::stod(std::string(runs.cell(runs.rows.front(), "compute_time_ns")));
  const ir::DeviceProgram built = ir::program_for(ir::load_module(folder / "unet3d.hlo", {}),
                                                  analytical::layout_rules(device), {});
  const Simulation run = simulate(built.program, device, analytical::AnalyticalModel());
  std::printf("UNet3D: %.1f ms, measured %.1f ms (%+.1f %%, n = 1 program of %zu kernels)\n",
              1e3 * run.time.value, 1e3 * measured, 100 * (run.time.value / measured - 1),
              run.kernels.size());
  EXPECT_NEAR(run.time.value, measured, 0.30 * measured);
}

TEST(TpuV3, MatmulsAreTimedAsMeasured) {
  const fs::path file = data("llmcompass") / "tpu_v3_matmul.csv";
  if (!fs::exists(file)) GTEST_SKIP() << "no data at " << file;
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  measured::CsvTable table = measured::with_columns(
      measured::read_csv(base::SourceText::read_file(file)), {"op", "dtype"});
  for (measured::CsvRow& row : table.rows) row.cells.insert(row.cells.end(), {"matmul", "bf16"});
  const measured::CsvTable answers =
      estimate_operators(table, device, analytical::AnalyticalModel());
  std::vector<Pair> pairs;
  for (const measured::CsvRow& row : answers.rows) {
    const auto number = [&](std::string_view column) {
      return std::stod(std::string(answers.cell(row, column)));
    };
    const double device_ms = number("latency_ms") - number("dispatch_overhead_ms");
    pairs.push_back({1e-6 * number("estimate_ns"), device_ms});
  }
  std::printf("matmul: MAPE %.1f %% (n = %zu)\n", 100 * mape(pairs), pairs.size());
  EXPECT_LE(mape(pairs), 0.08);
}

}  // namespace
}  // namespace tilecast::sim
