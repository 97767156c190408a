// Feature rows per second on one core, the input of boosted trees (bar: features and trees together
// 200,000 kernels/s, batch 1,024).
#include <benchmark/benchmark.h>

#include <deque>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "learned/table_features.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

using learned::FeatureGroup;

constexpr std::size_t kBatch = 1024;

// The kernels of the repository's programs, each with some of its tiles.
struct Workload {
  explicit Workload(const hwdesc::Device& device, std::size_t tiles_each) {
    for (const BenchProgram& program : bench_programs()) {
      if (kernels.size() >= kBatch) break;
      const ir::Program built = ir::make_program(prepare(program.path, device));
      for (const ir::ScheduledKernel& scheduled : built.kernels()) {
        add(scheduled.kernel, device, tiles_each);
      }
    }
  }
  void add(const ir::Kernel& kernel, const hwdesc::Device& device, std::size_t tiles_each) {
    const ir::Kernel& kept = kernels.emplace_back(kernel);
    const analytical::KernelAnalysis analysis(kept, device);
    if (!analysis.tileable()) return;
    const auto found = analysis.tiles(tiles_each);
    for (std::size_t i = 0; i < tiles_each && !found.empty(); ++i) {
      queries.push_back({kept, &tiles.emplace_back(found[i % found.size()])});
      ops += kept.ops().size();
    }
  }

  std::deque<ir::Kernel> kernels;
  std::deque<analytical::TileConfig> tiles;
  std::vector<analytical::KernelQuery> queries;
  std::size_t ops = 0;
};

void extract(benchmark::State& state, const std::string& device_name, std::size_t tiles_each,
             const std::vector<FeatureGroup>& groups) {
  const hwdesc::Device device = hwdesc::load_device(device_name);
  const Workload work(device, tiles_each);
  const learned::TableFeatures features({.groups = groups, .parameters = {}});
  std::vector<float> rows(kBatch * features.width());
  std::size_t begin = 0, done = 0;
  for (auto _ : state) {
    const std::size_t count = std::min(kBatch, work.queries.size() - begin);
    features.extract(std::span(work.queries).subspan(begin, count), device, {},
                     std::span(rows).first(count * features.width()));
    benchmark::DoNotOptimize(rows.data());
    done += count;
    begin = begin + count >= work.queries.size() ? 0 : begin + count;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  state.counters["columns"] = static_cast<double>(features.width());
  state.counters["ops/kernel"] =
      static_cast<double>(work.ops) / static_cast<double>(work.queries.size());
}

const bool registered = [] {
  using enum FeatureGroup;
  const std::vector<FeatureGroup> all = {kStatic, kOps, kShape, kTile, kMachine};
  const auto add = [](const std::string& name, auto&&... arguments) {
    benchmark::RegisterBenchmark(("features/" + name).c_str(), extract, arguments...)
        ->Unit(benchmark::kMicrosecond);
  };
  add("tpu_v3/distinct_kernels", "tpu_v3", std::size_t{1}, all);
  add("tpu_v3/64_tiles_each", "tpu_v3", std::size_t{64}, all);
  add("cpu_generic/distinct_kernels", "cpu_generic", std::size_t{1}, all);
  for (const FeatureGroup group : all) {
    add("tpu_v3/distinct_kernels/" + std::string(learned::name(group)), "tpu_v3", std::size_t{1},
        std::vector{group});
  }
  add("tpu_v3/64_tiles_each/tile", "tpu_v3", std::size_t{64}, std::vector{kTile});
  return true;
}();

}  // namespace
}  // namespace tilecast::bench
