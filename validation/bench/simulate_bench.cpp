// Text to program time in one process: load, kernels, estimates (bar: 0.4 s for the 3 MB training
// step of Llama 3.1 8B).
#include <benchmark/benchmark.h>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "sim/simulator.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

void simulate_program(benchmark::State& state, const std::string& path,
                      const std::string& device_name) {
  const auto device = hwdesc::load_device(device_name);
  const analytical::AnalyticalModel model;
  for (auto _ : state) {
    try {
      const auto program = ir::make_program(prepare(path, device));
      benchmark::DoNotOptimize(sim::simulate(program, device, model));
    } catch (const Error& error) {
      state.SkipWithError(error.what());
      break;
    }
  }
}

const bool registered = [] {
  for (const BenchProgram& program : bench_programs()) {
    for (const char* device : {"tpu_v3", "h100_sxm"}) {
      benchmark::RegisterBenchmark(("simulate/" + program.name + "/" + device).c_str(),
                                   simulate_program, program.path, std::string(device))
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace tilecast::bench
