// Boosted trees per second on one core (bar: 200,000 kernels/s in batches of 1,024, features
// included). 500 trees of depth 6. Steps down a tree are branch-free, so the training data does not
// matter.
#include <benchmark/benchmark.h>

#include <deque>
#include <random>

#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "learned/table_features.h"
#include "learned/training/gbt_trainer.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

using learned::FeatureGroup;

constexpr std::size_t kBatch = 1024;

std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() >> 40);
  return values;
}

learned::GbtModel random_model(std::size_t columns) {
  constexpr std::size_t kRows = 2048;
  learned::GbtTable table{.columns = columns,
                          .values = random_values(kRows * columns, 1),
                          .targets = random_values(kRows, 2),
                          .groups = std::vector<std::uint32_t>(kRows)};
  return learned::train_gbt(table, {}, {.trees = 500, .depth = 6, .subsample = 1});
}

void predict_rows(benchmark::State& state) {
  constexpr std::size_t kColumns = 120;
  static const learned::GbtModel model = random_model(kColumns);
  const std::vector<float> rows = random_values(kBatch * kColumns, 3);
  std::vector<float> out(kBatch);
  for (auto _ : state) {
    model.predict(rows, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(predict_rows)->Name("trees/rows")->Unit(benchmark::kMillisecond);

// Consecutive queries have different kernels.
void predict_kernels(benchmark::State& state) {
  const auto device = hwdesc::load_device("tpu_v3");
  std::deque<ir::Program> programs;
  std::vector<const ir::Kernel*> kernels;
  for (const BenchProgram& program : bench_programs()) {
    programs.push_back(ir::make_program(prepare(program.path, device)));
    for (const auto& each : programs.back().kernels()) kernels.push_back(&each.kernel);
  }
  std::vector<analytical::KernelQuery> queries;
  for (std::size_t i = 0; i < kBatch; ++i) {
    queries.push_back({.kernel = *kernels[i % kernels.size()]});
  }
  const learned::TableFeatures features(
      {.groups = {FeatureGroup::kStatic, FeatureGroup::kOps, FeatureGroup::kShape,
                  FeatureGroup::kTile, FeatureGroup::kMachine}});
  static const learned::GbtModel model = random_model(features.width());
  std::vector<float> rows(kBatch * features.width()), out(kBatch);
  for (auto _ : state) {
    features.extract(queries, device, {}, rows);
    model.predict(rows, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  state.counters["columns"] = static_cast<double>(features.width());
  state.counters["kernels"] = static_cast<double>(std::min(kBatch, kernels.size()));
}
BENCHMARK(predict_kernels)->Name("trees/kernels")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast::bench
