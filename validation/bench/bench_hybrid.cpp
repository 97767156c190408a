// Hybrid estimates per second on one core (bar: 100,000 kernels/s): analytical model, features, a
// bag of 12 x 40 trees of depth 6, the nearest known kernels, intervals. Kernels have their tile,
// as in a compiler's dump; without one, the analytical model would search for it first, which would
// take all of the time.
#include <benchmark/benchmark.h>

#include <cmath>
#include <deque>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/parallel.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_fit.h"
#include "ir/program.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

using analytical::KernelQuery;
using hwdesc::Device;

constexpr std::size_t kBatch = 1024;

const analytical::AnalyticalModel& prior() {
  static const analytical::AnalyticalModel model;
  return model;
}

// Kernels of real programs with the best tile by the analytical model; some kernels are repeated.
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

// Each kernel's measured time is its analytical time times a wave, part of which trees can learn.
measured::SampleSet set_of(const Batch& batch, const Device& device) {
  measured::SampleSet set;
  set.name = "bench";
  set.device = device.name;
  const auto answers = prior().estimate(batch.queries(), device);
  for (std::size_t i = 0; i < kBatch; ++i) {
    const KernelQuery& query = batch.queries()[i];
    const double time_s = answers[i]->time.value;
    measured::Sample sample;
    sample.work = set.works.size();
    sample.tile = *query.tile;
    sample.measured = Seconds{time_s * std::exp(std::sin(3 * std::log(time_s)) / 4)};
    const std::string name = std::to_string(i);
    set.works.push_back({.name = name,
                         .op_class = "bench",
                         .family = name,
                         .fingerprint = name,
                         .parts = {{query.kernel}}});
    set.samples.push_back(sample);
  }
  return set;
}

hybrid::HybridModel model_of(const Batch& batch, const Device& device) {
  const measured::SampleSet set = set_of(batch, device);
  hybrid::FittedHybrid fitted =
      hybrid::fit_hybrid(prior(), {.name = "bench"}, {&set, 1}, {&device, 1}, {});
  TC_CHECK(fitted.report.believed > 0, "the trees are asked");
  return hybrid::HybridModel(prior(), std::move(fitted.parts));
}

void serve_hybrid(benchmark::State& state) {
  static const Device device = hwdesc::load_device("tpu_v3");
  static const Batch batch(device);
  static const hybrid::HybridModel model = model_of(batch, device);
  for (auto _ : state) benchmark::DoNotOptimize(model.estimate(batch.queries(), device));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(serve_hybrid)->Name("hybrid/kernels")->Unit(benchmark::kMillisecond);

// Distributed over threads as in a simulation (sim/simulator.cpp).
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

// The analytical part of the time.
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
