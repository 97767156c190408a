#include "tests/hybrid/synthetic_set.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <random>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "measured/op_kernels.h"

namespace tilecast::hybrid {

measured::SampleSet synthetic_set(const hwdesc::Device& truth, int kernels, int tiles,
                                  double noise) {
  measured::SampleSet set{.name = "synthetic", .hash = "0123456789abcdef", .device = truth.name};
  std::mt19937_64 random(7);
  const auto unit = [&random] {
    return 2 * static_cast<double>(random() >> 11) / static_cast<double>(1ULL << 53) - 1;
  };
  int line = 1;
  for (int k = 0; k < kernels; ++k) {
    const std::int64_t rows = 512LL << (k % 5);
    ir::KernelSketch sketch("sum", ir::Opcode::kFusion, analytical::layout_rules(truth));
    ir::OpId sum = sketch.parameter(ir::DType::kF32, {rows + 64 * k, 1024});
    for (int more = 0; more < k % 4; ++more) {
      const ir::OpId term = sketch.parameter(ir::DType::kF32, {rows + 64 * k, 1024});
      sum = sketch.elementwise(ir::Opcode::kAdd, {sum, term});
    }
    ir::Kernel kernel = sketch.build({sketch.elementwise(ir::Opcode::kNegate, {sum})});
    set.works.push_back({.name = "sum " + std::to_string(k),
                         .op_class = "loop_fusion",
                         .family = "sum",
                         .fingerprint = std::to_string(k),
                         .parts = {{std::move(kernel)}}});
    const analytical::KernelAnalysis analysis(set.works.back().parts.front().kernel, truth);
    for (int t = 0; t < tiles; ++t) {
      analytical::TileConfig tile{.output = {1LL << (t % 6), 1LL << (t % 4)}};
      const double time = analysis.time(tile).value * std::exp(noise * unit());
      set.samples.push_back({.work = static_cast<std::size_t>(k),
                             .line = ++line,
                             .tile = std::move(tile),
                             .measured = Seconds{time}});
    }
  }
  return set;
}

measured::SampleSet product_set(const hwdesc::Device& truth, int count, std::uint64_t seed,
                                double noise) {
  measured::SampleSet set{.name = "products", .hash = "0123456789abcdef", .device = truth.name};
  std::mt19937_64 random(seed);
  const auto unit = [&random] {  // in (0, 1]
    return static_cast<double>((random() >> 11) + 1) / static_cast<double>(1ULL << 53);
  };
  const auto size = [&] { return 8 * std::llround(8 * std::exp2(7 * unit())); };
  std::string rows = "op,dtype,m,n,k\n";
  for (int i = 0; i < count; ++i) {
    rows += fmt::format("matmul,bf16,{},{},{}\n", size(), size(), size());
  }
  const auto table = measured::read_csv(base::SourceText("products.csv", rows));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string name = fmt::format("product {}", i);
    set.works.push_back({.name = name,
                         .op_class = "matmul",
                         .family = name,
                         .fingerprint = name,
                         .parts = {{measured::operator_kernel(table, table.rows[i],
                                                              measured::op_defaults(truth))}}});
    set.samples.push_back({.work = i, .line = static_cast<int>(i) + 2});
  }
  const auto answers = measured::predict(set, analytical::AnalyticalModel(), truth);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double normal =
        std::sqrt(-2 * std::log(unit())) * std::cos(2 * std::numbers::pi * unit());
    set.samples[i].measured = answers[i].on_device * std::exp(noise * normal);
  }
  return set;
}

}  // namespace tilecast::hybrid
