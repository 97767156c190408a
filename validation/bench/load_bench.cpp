// From HLO and StableHLO text to a verified module (bar: 120 MB/s on one core, for texts above 1
// MB), and from a module to its kernels.
#include <benchmark/benchmark.h>

#include <optional>

#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

void load_and_verify(benchmark::State& state, const std::string& path) {
  const auto text = base::SourceText::read_file(path);
  std::optional<ir::Module> module;
  for (auto _ : state) {
    module = ir::parse_hlo(text);
    state.PauseTiming();
    module.reset();  // not part of reading
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.text().size()));
}

void load_stablehlo(benchmark::State& state, const std::string& path) {
  const base::SourceText text(path, ir::print_stablehlo(ir::read_hlo_file(path)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(ir::parse_stablehlo(text));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.text().size()));
}

void extract_kernels(benchmark::State& state, const std::string& path) {
  const ir::Module module = prepare(path, hwdesc::load_device("tpu_v3"));
  std::size_t kernels = 0;
  for (auto _ : state) {
    kernels = ir::make_program(module).kernels().size();
  }
  state.counters["kernels"] = static_cast<double>(kernels);
}

const bool registered = [] {
  const auto register_load = [](const BenchProgram& text) {
    benchmark::RegisterBenchmark(("load/" + text.name).c_str(), load_and_verify, text.path)
        ->Unit(benchmark::kMillisecond);
  };
  for (const BenchProgram& text : large_texts()) register_load(text);
  for (const BenchProgram& program : bench_programs()) {
    register_load(program);
    benchmark::RegisterBenchmark(("stablehlo/" + program.name).c_str(), load_stablehlo,
                                 program.path)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("kernels/" + program.name).c_str(), extract_kernels, program.path)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace tilecast::bench
