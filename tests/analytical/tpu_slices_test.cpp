// Published training steps on slices of TPUs, from the modules of the published runs, without a
// fit to any of them. The data is not part of this repository: see README, "Tests".
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "measured/csv.h"
#include "measured/metrics.h"
#include "sim/simulator.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

TEST(TpuSlices, StepsTakeWhatWasPublishedAndFitIntoWhatTheCompilerReported) {
  const std::filesystem::path folder = support::shared_dir() / "data/tpu_slices";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  const measured::CsvTable table =
      measured::read_csv(base::SourceText::read_file(folder / "steps.csv"));
  std::vector<measured::Pair> steps, peaks;
  std::map<std::string, measured::Ranking> per_token;  // by model
  for (const measured::CsvRow& row : table.rows) {
    const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
    const auto number = [&](std::string_view column) { return std::stod(text(column)); };
    const bool own = !text("published_module").empty();  // else of today's compiler: TPU v7x
    const hwdesc::Device device =
        hwdesc::load_device(text("device"), {{"interconnect.slice.shape", text("slice")}});
    const ir::DeviceProgram built =
        ir::program_for(ir::load_module(folder / text(own ? "published_module" : "file"), {}),
                        analytical::layout_rules(device), {});
    const Simulation run = simulate(built.program, device, analytical::AnalyticalModel());
    if (!own) {
      EXPECT_NEAR(run.timeline.value / number("published_s"), 1, 0.05) << text("file");
      continue;
    }
    steps.push_back({run.timeline.value, number("published_s")});
    peaks.push_back(
        {run.memory->peak.total() / std::exp2(30), number("published_module_total_GiB")});
    const double tokens = number("per_device_batch") * number("sequence") * number("chips");
    per_token[text("model")].push_back(
        {steps.back().predicted / tokens, steps.back().measured / tokens});
    std::printf("%-32s %6.2f of %6.2f s, %5.2f of %5.2f GiB\n", text("published_module").c_str(),
                steps.back().predicted, steps.back().measured, peaks.back().predicted,
                peaks.back().measured);
  }
  const auto error = [](const measured::Pair& p) { return std::abs(p.predicted / p.measured - 1); };
  const double worst = error(*std::ranges::max_element(steps, {}, error));
  const double worst_peak = error(*std::ranges::max_element(peaks, {}, error));
  std::vector<measured::Ranking> rankings;
  for (const auto& [model, ranking] : per_token) {
    if (ranking.size() > 1) rankings.push_back(ranking);
  }
  std::printf(
      "steps: mean %.1f %%, worst %.1f %% (n = %zu); seconds a token of a model: tau %.2f "
      "(n = %zu); peak memory: worst %.1f %%\n",
      100 * *measured::mape(steps), 100 * worst, steps.size(), *measured::mean_tau_b(rankings),
      rankings.size(), 100 * worst_peak);
  EXPECT_LE(*measured::mape(steps), 0.07);
  EXPECT_LE(worst, 0.15);
  EXPECT_GE(*measured::mean_tau_b(rankings), 0.9);
  EXPECT_LE(worst_peak, 0.015);
}

}  // namespace
}  // namespace tilecast::sim
