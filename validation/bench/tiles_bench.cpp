// Tile estimates per second on one core, the hot path of ranking (bar: 300,000/s on fusion.191 of
// the TPU v3 tile data; goal 1,000,000/s), and the 4,608 blocks of one product on a GPU, with their
// stages and warps (bar: 1 ms).
#include <benchmark/benchmark.h>

#include <algorithm>

#include "analytical/analytical_model.h"
#include "analytical/tile_ranker.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "search/tile_choice.h"
#include "validation/bench/bench_programs.h"

namespace tilecast::bench {
namespace {

// A 3x3 convolution with bias and ReLU in TPU layouts.
constexpr const char* kConvolutionFusion = R"(
HloModule conv_relu

fused {
  x = bf16[64,28,28,256]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  k = bf16[3,3,256,512]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  b = f32[512]{0:T(512)} parameter(2)
  conv = f32[64,28,28,512]{3,0,2,1:T(8,128)} convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  wide = f32[64,28,28,512]{3,0,2,1:T(8,128)} broadcast(b), dimensions={3}
  sum = f32[64,28,28,512]{3,0,2,1:T(8,128)} add(conv, wide)
  zero = f32[]{:T(128)} constant(0)
  zeros = f32[64,28,28,512]{3,0,2,1:T(8,128)} broadcast(zero), dimensions={}
  relu = f32[64,28,28,512]{3,0,2,1:T(8,128)} maximum(sum, zeros)
  ROOT y = bf16[64,28,28,512]{3,0,2,1:T(8,128)(2,1)} convert(relu)
}

ENTRY main {
  x = bf16[64,28,28,256]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  k = bf16[3,3,256,512]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  b = f32[512]{0:T(512)} parameter(2)
  ROOT y = bf16[64,28,28,512]{3,0,2,1:T(8,128)(2,1)} fusion(x, k, b), kind=kOutput, calls=fused
}
)";

// All tiles of a kernel in one call, or one call per tile.
enum class Asked { kTogether, kSingly };

void rank_tiles(benchmark::State& state, const ir::Module& module, Asked asked) {
  const auto device = hwdesc::load_device("tpu_v3");
  const auto program = ir::make_program(module);
  const analytical::KernelAnalysis analysis(program.kernels().front().kernel, device);
  const auto tiles = analysis.tiles();
  for (auto _ : state) {
    if (asked == Asked::kTogether) {
      benchmark::DoNotOptimize(analysis.times_s(tiles).data());
    } else {
      for (const auto& tile : tiles) benchmark::DoNotOptimize(analysis.time(tile));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tiles.size()));
}

void analyse_kernel(benchmark::State& state, const ir::Module& module) {
  const auto device = hwdesc::load_device("tpu_v3");
  const auto program = ir::make_program(module);
  for (auto _ : state) {
    const analytical::KernelAnalysis analysis(program.kernels().front().kernel, device);
    benchmark::DoNotOptimize(analysis.tileable());
  }
}

std::vector<analytical::TileConfig> scheduled_blocks() {
  constexpr std::int64_t kSides[] = {16, 32, 48, 64, 96, 128, 192, 256};
  std::vector<analytical::TileConfig> blocks;
  for (const std::int64_t rows : kSides) {
    for (const std::int64_t columns : kSides) {
      for (const std::int64_t depth : {32, 64, 128}) {
        for (const int stages : {1, 2, 3, 4}) {
          for (const int warps : {1, 2, 4, 8, 16, 32}) {
            blocks.push_back({.output = {rows, columns},
                              .kernel = {depth, columns},
                              .input = {},
                              .stages = stages,
                              .warps = warps});
          }
        }
      }
    }
  }
  return blocks;
}

// Includes the analysis of the kernel, which a ranking does once.
void rank_schedules(benchmark::State& state) {
  const auto device = hwdesc::load_device("a100_sxm_40gb");
  const auto program =
      ir::make_program(ir::read_hlo_file(TILECAST_SOURCE_DIR "/configs/examples/gpu_product.hlo"));
  const ir::Kernel& kernel = program.kernels().front().kernel;
  const std::vector<analytical::TileConfig> blocks = scheduled_blocks();
  const analytical::PhysicsRanker ranker;
  std::size_t fit = 0;
  for (auto _ : state) {
    const auto scores = ranker.scores(kernel, blocks, device);
    fit = static_cast<std::size_t>(
        std::ranges::count_if(scores, [](const auto& s) { return s.has_value(); }));
  }
  state.counters["fit"] = static_cast<double>(fit);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks.size()));
}

// Chooses among the same blocks, including the checks of the contract (search/tile_choice.h).
void choose_schedule(benchmark::State& state) {
  const auto device = hwdesc::load_device("a100_sxm_40gb");
  const auto program =
      ir::make_program(ir::read_hlo_file(TILECAST_SOURCE_DIR "/configs/examples/gpu_product.hlo"));
  const ir::Kernel& kernel = program.kernels().front().kernel;
  const std::vector<analytical::TileConfig> blocks = scheduled_blocks();
  const analytical::PhysicsRanker ranker;
  for (auto _ : state) {
    benchmark::DoNotOptimize(search::choose_tile(kernel, device, ranker, blocks, {}).offer);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks.size()));
}

void register_kernel(const std::string& name, const ir::Module& module) {
  benchmark::RegisterBenchmark(("tiles/" + name).c_str(), rank_tiles, module, Asked::kTogether)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("tiles_singly/" + name).c_str(), rank_tiles, module, Asked::kSingly)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("analysis/" + name).c_str(), analyse_kernel, module)
      ->Unit(benchmark::kMicrosecond);
}

const bool registered = [] {
  register_kernel("conv_relu",
                  ir::parse_hlo(base::SourceText("conv_relu.hlo", kConvolutionFusion)));
  if (const auto path = shared_file("data/tpu_v3_tiles/fusion.191.hlo"); !path.empty()) {
    register_kernel("fusion.191", ir::read_hlo_file(path));
  }
  benchmark::RegisterBenchmark("tiles/gpu_product_schedules", rank_schedules)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("tiles/gpu_product_choice", choose_schedule)
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace tilecast::bench
