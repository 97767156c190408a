// Full-program costs per second of a fusion search on one core (bar: 2,000/s on the training step
// of a transformer block, analytical model), including kernels that occur for the first time.
#include <benchmark/benchmark.h>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/read_module.h"
#include "search/fusion_search.h"

namespace tilecast::bench {
namespace {

void anneal_fusions(benchmark::State& state) {
  const auto device = hwdesc::load_device("tpu_v3");
  const analytical::AnalyticalModel model;
  const ir::FusionSpace space(ir::read_module(std::string(TILECAST_SOURCE_DIR) +
                                              "/configs/programs/transformer_block_train.hlo"));
  const auto costs = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    search::FusionCost cost(space, device, model);
    benchmark::DoNotOptimize(search::search_fusions(cost, {.costs = costs}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(anneal_fusions)
    ->Name("fusion/annealing_costs")
    ->Arg(2000)
    ->Arg(20'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast::bench
