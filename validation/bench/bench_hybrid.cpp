// Hybrid estimates per second on one core (bar: 100,000 kernels/s): physics, features, 500 trees of
// depth 6, the nearest of 512 known kernels, intervals. Kernels come with their tile, as a
// compiler's dump gives them; without one, physics searches for it first and that alone is the
// time.
#include <benchmark/benchmark.h>

#include <cmath>
#include <deque>

#include "analytical/analytical_model.h"
#include "base/parallel.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_model.h"
#include "ir/program.h"
#include "learned/training/learner.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

using analytical::KernelQuery;
using hwdesc::Device;
using learned::FeatureGroup;

constexpr std::size_t kBatch = 1024;

// Kernels of real programs with the tile that physics likes best, some of them more than once.
class Batch {
 public:
  explicit Batch(const Device& device) {
    std::vector<const ir::Kernel*> kernels;
    for (const BenchProgram& program : bench_programs()) {
      programs_.push_back(ir::make_program(prepare(program.path, device)));
      for (const auto& each : programs_.back().kernels()) {
        const analytical::KernelAnalysis analysis(each.kernel, device);
        if (!analysis.tileable()) continue;
        kernels.push_back(&each.kernel);
        tiles_.push_back(analysis.estimate_best().tile);
      }
    }
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t which = i % kernels.size();
      queries_.push_back({.kernel = *kernels[which], .tile = &tiles_[which]});
    }
  }
  [[nodiscard]] const std::vector<KernelQuery>& queries() const { return queries_; }

 private:
  std::deque<ir::Program> programs_;
  std::deque<analytical::TileConfig> tiles_;
  std::vector<KernelQuery> queries_;
};

// Physics times a wave that trees can learn something of.
learned::Examples examples_of(const Batch& batch, const Device& device) {
  static const analytical::AnalyticalModel prior;
  learned::Examples examples{.prior_model = &prior};
  examples.priors = prior.estimate(batch.queries(), device);
  for (std::size_t i = 0; i < kBatch; ++i) {
    const double log_time = std::log(examples.priors[i]->time.value);
    learned::Example row;
    row.device = &device;
    row.target = log_time + std::sin(3 * log_time);
    row.kernel = static_cast<std::uint32_t>(i);
    examples.rows.push_back(row);
    examples.queries.push_back(batch.queries()[i]);
    examples.kernels.push_back(batch.queries()[i].kernel.name());
  }
  examples.families = {"bench"};
  examples.parameter_names.resize(1);
  return examples;
}

hybrid::HybridModel model_of(const Batch& batch, const Device& device) {
  const learned::Examples examples = examples_of(batch, device);
  learned::LearnerSpec spec;
  spec.name = "trees";
  spec.target.residual = true;
  spec.features.groups = {FeatureGroup::kStatic, FeatureGroup::kOps,   FeatureGroup::kShape,
                          FeatureGroup::kTile,   FeatureGroup::kPrior, FeatureGroup::kMachine};
  spec.gbt.trees = 500;
  spec.gbt.early_stopping = 0;
  hybrid::HybridParts parts;
  parts.residual = learned::train(spec, examples).predictor;
  parts.domain = hybrid::Domain::of(examples, examples.kernels);
  parts.devices.add(device);
  static const analytical::AnalyticalModel prior;
  return hybrid::HybridModel(prior, std::move(parts), hybrid::full_weight);
}

void serve_hybrid(benchmark::State& state) {
  static const Device device = hwdesc::load_device("tpu_v3");
  static const Batch batch(device);
  static const hybrid::HybridModel model = model_of(batch, device);
  for (auto _ : state) benchmark::DoNotOptimize(model.estimate(batch.queries(), device));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(serve_hybrid)->Name("hybrid/kernels")->Unit(benchmark::kMillisecond);

// Spread over threads as a simulation spreads them (sim/simulator.cpp).
void serve_on_jobs(benchmark::State& state) {
  static const Device device = hwdesc::load_device("tpu_v3");
  static const Batch batch(device);
  static const hybrid::HybridModel model = model_of(batch, device);
  constexpr std::size_t kAtOnce = 64;
  const auto some = [&](std::size_t first, std::size_t end) {
    benchmark::DoNotOptimize(
        model.estimate(std::span(batch.queries()).subspan(first, end - first), device));
  };
  for (auto _ : state) {
    base::parallel_for_batches(kBatch, kAtOnce, static_cast<int>(state.range(0)), some);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(serve_on_jobs)
    ->Name("hybrid/kernels_on_jobs")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// What of it is physics.
void serve_physics(benchmark::State& state) {
  static const Device device = hwdesc::load_device("tpu_v3");
  static const Batch batch(device);
  const analytical::AnalyticalModel model;
  for (auto _ : state) benchmark::DoNotOptimize(model.estimate(batch.queries(), device));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(serve_physics)->Name("hybrid/physics_alone")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast::bench
