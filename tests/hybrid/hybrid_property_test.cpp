// What must hold whatever was learned: on thousands of random kernels and machines.
#include <gtest/gtest.h>

#include <random>

#include "analytical/layout_rules.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using hwdesc::Device;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t to(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }
  double unit() { return static_cast<double>(random_() >> 11) / static_cast<double>(1ULL << 53); }

 private:
  std::mt19937_64 random_;
};

// Elementwise or reducing, small to large, with classes that were and were not measured.
ir::Kernel random_kernel(Draw& draw, const Device& device) {
  ir::KernelSketch sketch("k", ir::Opcode::kFusion, analytical::layout_rules(device));
  const std::int64_t rows = draw.to(4096), columns = draw.to(2048);
  ir::OpId value = sketch.parameter(ir::DType::kF32, {rows, columns});
  for (std::int64_t i = draw.to(4); i > 1; --i) {
    value = sketch.elementwise(ir::Opcode::kAdd,
                               {value, sketch.parameter(ir::DType::kF32, {rows, columns})});
  }
  if (draw.to(3) == 1) value = sketch.reduce(value, ir::Opcode::kAdd, 1);
  return sketch.build({sketch.elementwise(ir::Opcode::kExp, {value})});
}

const Device& tpu() {
  static const Device device = hwdesc::load_device("tpu_v3");
  return device;
}

// A wild residual, believed everywhere, so that a bound that fails would show.
const HybridModel& hybrid() {
  static const HybridModel model(
      kPhysics,
      fit_to(corrected_set(
                 tpu(), 24, 6,
                 [](const Estimate& e) { return 1 + std::sin(5 * std::log(e.time.value)); }, 0.1),
             tpu())
          .parts,
      full_weight);
  return model;
}

Estimate ask(const analytical::CostModel& model, const ir::Kernel& kernel, const Device& device) {
  const KernelQuery query{.kernel = kernel};
  return model.estimate(std::span<const KernelQuery>(&query, 1), device).front().value();
}

TEST(HybridProperty, NeverFasterThanLightAndAlwaysInsideItsInterval) {
  Draw draw(11);
  for (int i = 0; i < 1500; ++i) {
    const ir::Kernel kernel = random_kernel(draw, tpu());
    const Estimate said = ask(hybrid(), kernel, tpu());
    ASSERT_TRUE(std::isfinite(said.time.value)) << i;
    EXPECT_GE(said.time, said.speed_of_light) << i;
    EXPECT_LE(said.correction->low, said.time) << i;
    EXPECT_GE(said.correction->high, said.time) << i;
    EXPECT_GT(said.correction->low, Seconds{0}) << i;
  }
}

Device with_rates(double bandwidth, double clock) {
  return hwdesc::load_device("tpu_v3", {{"hbm.bandwidth", std::to_string(450 * bandwidth) + "GB/s"},
                                        {"clock", std::to_string(940 * clock) + "MHz"}});
}

TEST(HybridProperty, MoreBandwidthOrAHigherClockIsNeverSlower) {
  Draw draw(12);
  for (int machine = 0; machine < 30; ++machine) {
    const double bandwidth = 0.5 + draw.unit(), clock = 0.5 + draw.unit();
    const Device slow = with_rates(bandwidth, clock);
    const Device wide = with_rates(bandwidth * (1 + draw.unit()), clock);
    const Device fast = with_rates(bandwidth, clock * (1 + draw.unit()));
    for (int i = 0; i < 40; ++i) {
      const ir::Kernel kernel = random_kernel(draw, tpu());
      const double before = ask(hybrid(), kernel, slow).time.value;
      EXPECT_LE(ask(hybrid(), kernel, wide).time.value, before * (1 + 1e-12));
      EXPECT_LE(ask(hybrid(), kernel, fast).time.value, before * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace tilecast::hybrid
