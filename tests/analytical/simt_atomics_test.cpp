#include "analytical/simt_atomics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "ir/counts/work_counts.h"
#include "ir/text/hlo_parser.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

// Adds `rows` rows of 128 numbers to rows of a table of 4,096.
ir::Kernel scatter(const std::string& dtype, int rows, const std::string& combined) {
  const ir::Module module =
      ir::parse_hlo(base::SourceText("m.hlo", fmt::format(R"(HloModule m, is_scheduled=true
f {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  {2} }}
ENTRY e {{ t = {0}[4096,128] parameter(0)
  i = s32[{1},1] parameter(1)
  u = {0}[{1},128] parameter(2)
  ROOT r = {0}[4096,128] scatter(t, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f }})",
                                                          dtype, rows, combined)));
  ir::WorkCounter counter(module);
  return ir::make_kernel(module, module.entry, module.entry_computation().root, counter, true);
}

std::string applied(const std::string& dtype, const std::string& op) {
  return fmt::format("ROOT s = {}[] {}(a, b)", dtype, op);
}

// A shared cache of 1 TB/s that answers after 100 ns, beside a clock of 1 GHz.
hwdesc::Device gpu() {
  hwdesc::Device device = block_device();
  hwdesc::MemoryLevel cache;
  cache.name = "l2";
  cache.capacity = Bytes{1e9};
  cache.bandwidth = BytesPerSecond{1e12};
  cache.latency = Seconds{100e-9};
  device.memory.insert(device.memory.begin() + 1, cache);
  device.engines.resize(2, device.engines.front());
  return device;
}

constexpr double kRow = 128, kCombined = 0.2 * 1e12;  // bytes per second

double updates_s(const std::string& dtype, int rows, const std::string& combined) {
  return atomic_updates_s(scatter(dtype, rows, combined), gpu());
}

TEST(SimtAtomics, TheCacheCombinesWordsAndThreadsSwapOthers) {
  const double updates = 1024 * kRow;
  EXPECT_DOUBLE_EQ(updates_s("f32", 1024, applied("f32", "add")), updates * 4 / kCombined);
  EXPECT_DOUBLE_EQ(updates_s("f64", 1024, applied("f64", "add")), updates * 8 / kCombined);
  EXPECT_DOUBLE_EQ(updates_s("s32", 1024, applied("s32", "maximum")), updates * 4 / kCombined);
  for (const char* dtype : {"bf16", "f16"}) {
    EXPECT_DOUBLE_EQ(updates_s(dtype, 1024, applied(dtype, "add")), updates * 4 * 4 / kCombined);
  }
  EXPECT_DOUBLE_EQ(updates_s("f32", 1024, applied("f32", "maximum")), updates * 4 * 4 / kCombined);
}

TEST(SimtAtomics, StoresThatCombineNothingAreNoUpdates) {
  EXPECT_EQ(updates_s("f32", 1024, "ROOT c = f32[] copy(b)"), 0);
  EXPECT_EQ(atomic_updates_s(scatter("f32", 1024, applied("f32", "add")), block_device()), 0);
}

// 2^20 rows for 4,096: the fullest gets more than 256. Two neighbours share a word.
TEST(SimtAtomics, UpdatesOfTheFullestRowFollowEachOther) {
  hwdesc::Device fast = gpu();
  fast.memory[1].bandwidth = BytesPerSecond{1e15};
  const double fullest = 256 + std::sqrt(2 * 256 * std::log(4096));
  const auto on_fast = [&](const std::string& dtype) {
    return atomic_updates_s(scatter(dtype, 1 << 20, applied(dtype, "add")), fast);
  };
  EXPECT_DOUBLE_EQ(on_fast("bf16"), fullest * 2 * 100e-9);
  fast.clock = Hertz{1e6};
  EXPECT_DOUBLE_EQ(on_fast("f32"), fullest * 1e-6);
}

TEST(SimtAtomics, AKernelWaitsForThem) {
  hwdesc::Device device = gpu();
  const ir::Kernel added = scatter("bf16", 65536, applied("bf16", "add"));
  const ir::Kernel stored = scatter("bf16", 65536, "ROOT c = bf16[] copy(b)");
  device.memory[1].bandwidth = BytesPerSecond{1e10};
  const Estimate estimate = KernelAnalysis(added, device).estimate_best();
  EXPECT_EQ(estimate.bound, Bound::kOnChip);
  EXPECT_GE(estimate.time.value, atomic_updates_s(added, device));
  EXPECT_LT(KernelAnalysis(stored, device).estimate_best().time.value,
            atomic_updates_s(added, device));
}

// XLA:GPU's sorts, in seconds.
double time_s(const std::string& text, const hwdesc::Device& device) {
  const ir::Module module = ir::parse_hlo(base::SourceText("m.hlo", text));
  ir::WorkCounter counter(module);
  return KernelAnalysis(
             ir::make_kernel(module, module.entry, module.entry_computation().root, counter, true),
             device)
      .estimate_best()
      .time.value;
}

std::string sort_of_keys(int rows, int keys) {
  return fmt::format(R"(HloModule m, is_scheduled=true
less {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT }}
ENTRY e {{ k = f32[{0},{1}] parameter(0)
  ROOT r = f32[{0},{1}] sort(k), dimensions={{1}}, to_apply=less }})",
                     rows, keys);
}

// A step of a network of 2^n keys reads every key and writes half of them.
TEST(SimtSorts, ShortRowsMoveThroughTheMemoryOfAWorker) {
  hwdesc::Device device = block_device();
  device.cross_lane.elements_per_cycle = 1e-3;  // of four workers at 1 GHz
  constexpr double kRows = 4096, kSteps = 6 * 7 / 2.0;
  const double moves = kRows * 64 * kSteps * 1.5;
  EXPECT_NEAR(time_s(sort_of_keys(4096, 64), device), moves / (4 * 1e6), 1e-3 * moves / 4e6);
  EXPECT_NEAR(time_s(sort_of_keys(4096, 33), device), moves / (4 * 1e6), 1e-3 * moves / 4e6);
}

// Six passes of 6 bits read keys twice and write them once, in the rate of CUB's passes.
TEST(SimtSorts, BlocksSortLongRowsByDigits) {
  constexpr double kRows = 4096, kKeys = 1 << 15, kPasses = 6, kRate = 0.68;
  const double bytes = kRows * kKeys * 4;
  const double tiles = std::ceil(kKeys * 4 / (192 * 39 * 4)), waves = kRows / (4 * 2);
  const double waits_s = kPasses * 1e-6 + waves * kPasses * 2 * tiles * 1e-6;
  EXPECT_NEAR(time_s(sort_of_keys(4096, 1 << 15), block_device()),
              kPasses * 3 * bytes / 100e9 / kRate + waits_s, 1e-6);
}

// Threefry rotates: a funnel shift of one operand's words, two shifts and an `or` of two operands'.
TEST(SimtRotations, AreOneOperationOfTheThree) {
  const hwdesc::Device device = hwdesc::load_device("h100_sxm");
  const auto vector_s = [&](const std::string& shifted_right) {
    const std::string a = "u32[16777216]{0}";
    const ir::Kernel kernel =
        kernel_of("HloModule m\nf {\n  x = " + a + " parameter(0)\n  y = " + a +
                  " parameter(1)\n  m = u32[] constant(13)\n  n = u32[] constant(19)\n  ms = " + a +
                  " broadcast(m), dimensions={}\n  ns = " + a +
                  " broadcast(n), dimensions={}\n  l = " + a + " shift-left(x, ms)\n  r = " + a +
                  " shift-right-logical(" + shifted_right + ", ns)\n  ROOT o = " + a +
                  " or(l, r)\n}\nENTRY e {\n  p = " + a + " parameter(0)\n  q = " + a +
                  " parameter(1)\n  ROOT k = " + a + " fusion(p, q), kind=kLoop, calls=f\n}\n");
    const Estimate e = KernelAnalysis(kernel, device).estimate_best();
    return e.bounds[static_cast<std::size_t>(Bound::kVector)].value;
  };
  EXPECT_NEAR(vector_s("y"), 3 * vector_s("x"), 1e-9 * vector_s("y"));
}

}  // namespace
}  // namespace tilecast::analytical::testing
