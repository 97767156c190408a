#include <gtest/gtest.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "analytical/reuse.h"
#include "analytical/simt_model.h"
#include "ir/kernels/kernel_sketch.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using ir::KernelSketch;
using ir::Opcode;
using ir::OpId;

constexpr std::int64_t kRows = 64;

ir::Kernel softmax_kernel(std::int64_t rows, std::int64_t columns, Opcode function) {
  KernelSketch sketch("softmax", Opcode::kFusion, {.tiled = false});
  const OpId x = sketch.parameter(ir::DType::kF32, {rows, columns});
  const OpId top = sketch.broadcast_like(sketch.reduce(x, Opcode::kMaximum, 1), x, {0});
  const OpId powers =
      sketch.elementwise(function, {sketch.elementwise(Opcode::kSubtract, {x, top})});
  const OpId sum = sketch.broadcast_like(sketch.reduce(powers, Opcode::kAdd, 1), x, {0});
  return sketch.build({sketch.elementwise(Opcode::kDivide, {powers, sum})});
}

Passes passes(const ir::Kernel& kernel) {
  const IterationSpace space = make_iteration_space(kernel, {});
  return passes_of(kernel, Footprints(kernel, space));
}

int times_of(const ir::Kernel& kernel, Opcode opcode) {
  const Passes found = passes(kernel);
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    if (kernel.ops()[i].opcode == opcode) return found.times[i];
  }
  return 0;
}

// A machine with round numbers and a cache shared by all four workers; only memory takes time.
hwdesc::Device cached_device(double cache_bytes) {
  hwdesc::Device device = block_device();
  device.memory.insert(device.memory.begin() + 1, device.memory[0]);
  device.memory[1].name = "cache";
  device.memory[1].capacity = Bytes{cache_bytes};
  device.engines.resize(2);
  device.multiplexing.max_resident = 8;
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  return device;
}

double bytes_read(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().hbm_read.value;
}

TEST(SimtPasses, AKernelWithoutReductionsOrThatOnlyReducesGoesOverItsInputOnce) {
  EXPECT_EQ(passes(chain_kernel(kRows, 4096, 3)).count, 1);
  KernelSketch sketch("reduce", Opcode::kReduce, {.tiled = false});
  const OpId x = sketch.parameter(ir::DType::kF32, {kRows, 4096});
  const ir::Kernel sum = sketch.build({sketch.reduce(x, Opcode::kAdd, 1)});
  EXPECT_EQ(passes(sum).count, 1);
  EXPECT_TRUE(passes(sum).times.empty());
}

TEST(SimtPasses, ReductionsThatWaitForEachOtherTakeOnePassEachAndTheResultAnother) {
  for (const int levels : {1, 2, 5}) {
    const ir::Kernel kernel = centred_kernel(kRows, 4096, levels);
    const Passes found = passes(kernel);
    EXPECT_EQ(found.count, levels + 1);
    EXPECT_EQ(found.row_elements, 4096);
    EXPECT_EQ(found.times[kernel.parameters()[0].index()], levels + 1);
  }
}

TEST(SimtPasses, AMaximumThatShiftsExponentialsTakesNone) {
  const ir::Kernel softmax = softmax_kernel(kRows, 4096, Opcode::kExp);
  EXPECT_EQ(passes(softmax).count, 2);
  EXPECT_EQ(times_of(softmax, Opcode::kParameter), 2);
  EXPECT_EQ(times_of(softmax, Opcode::kExp), 2);
  EXPECT_EQ(times_of(softmax, Opcode::kReduce), 1);
  EXPECT_EQ(times_of(softmax, Opcode::kDivide), 1);
  EXPECT_EQ(passes(softmax_kernel(kRows, 4096, Opcode::kAbs)).count, 3);
}

TEST(SimtPasses, SecondReadingsMissOnceMoreWasTouchedInBetweenThanTheCacheHolds) {
  EXPECT_EQ(repeated_miss_share(100, 0), 0);
  EXPECT_EQ(repeated_miss_share(100, 75), 0);
  EXPECT_DOUBLE_EQ(repeated_miss_share(100, 100), 0.5);
  EXPECT_EQ(repeated_miss_share(100, 150), 1);
  EXPECT_EQ(repeated_miss_share(0, 1), 1);
}

TEST(SimtPasses, RowsThatABlockHoldsAreReadOnce) {
  const hwdesc::Device device = cached_device(0);
  const std::int64_t held = static_cast<std::int64_t>(kHeldRowElements);
  EXPECT_DOUBLE_EQ(bytes_read(centred_kernel(kRows, held, 2), device), 4.0 * kRows * held);
  EXPECT_DOUBLE_EQ(bytes_read(centred_kernel(kRows, 2 * held, 2), device),
                   3 * 4.0 * kRows * 2 * held);
}

TEST(SimtPasses, LongRowsComeFromTheCacheWhileItKeepsThoseInFlight) {
  const std::int64_t columns = 4096;
  const double once = 4.0 * kRows * columns;
  const double in_flight = 4.0 * 8 * 4 * columns;  // bytes x blocks x workers
  const ir::Kernel kernel = centred_kernel(kRows, columns, 1);
  EXPECT_DOUBLE_EQ(bytes_read(kernel, cached_device(in_flight * 4 / 3)), once);
  EXPECT_DOUBLE_EQ(bytes_read(kernel, cached_device(in_flight)), 1.5 * once);
  EXPECT_DOUBLE_EQ(bytes_read(kernel, cached_device(in_flight / 2)), 2 * once);
}

TEST(SimtPasses, LongRowsAreComputedAgainInEachPassThatNeedsThem) {
  hwdesc::Device device = cached_device(1e9);
  device.memory[0].bandwidth = device.memory[1].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = device.memory[1].latency = Seconds{0};
  device.vector.alus = device.vector.load_ports = device.vector.store_ports = 1e9;
  device.cross_lane.reduce_elements_per_cycle = 1e9;
  device.transcendental.per_cycle = 1;
  const double cycles = 2.0 * kRows / 4 * 2048;  // exponentials of the busiest worker
  const ir::Kernel kernel = softmax_kernel(kRows, 2048, Opcode::kExp);
  const double seconds = KernelAnalysis(kernel, device).estimate_best().time.value;
  EXPECT_NEAR(seconds, cycles * 1e-9, 1e-3 * seconds);
}

TEST(SimtPasses, ARowOverAllWorkersMakesEachPassALaunch) {
  hwdesc::Device device = cached_device(1e9);
  device.dispatch.kernel_launch = Seconds{1e-6};
  device.memory[0].bandwidth = device.memory[1].bandwidth = BytesPerSecond{1e15};
  const ir::Kernel kernel = centred_kernel(1, 1 << 22, 2);
  const Estimate estimate = KernelAnalysis(kernel, device).estimate_best();
  EXPECT_LT(estimate.tile.output.at(1), 1 << 22);
  EXPECT_DOUBLE_EQ(estimate.bounds[index_of(Bound::kOverhead)].value, 3e-6);
}

TEST(SimtPasses, SpecialFunctionsTakeVectorOperationsWhereTheDeviceListsThem) {
  hwdesc::Device device = cached_device(1e9);
  device.memory[0].bandwidth = device.memory[1].bandwidth = BytesPerSecond{1e15};
  device.transcendental.per_cycle = 1e9;
  KernelSketch sketch("tanh", Opcode::kTanh, {.tiled = false});
  const OpId x = sketch.parameter(ir::DType::kF32, {1 << 12, 1 << 12});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kTanh, {x})});
  const auto vector_s = [&] {
    return KernelAnalysis(kernel, device).estimate_best().bounds[index_of(Bound::kVector)].value;
  };
  EXPECT_EQ(vector_s(), 0);
  device.vector.op_cycles = {{"tanh", 8}};
  EXPECT_NEAR(vector_s(), 8 * std::pow(2, 24) / 4 / 32 * 1e-9, 1e-9);
}

}  // namespace
}  // namespace tilecast::analytical::testing
