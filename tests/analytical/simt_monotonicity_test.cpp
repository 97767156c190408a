// A better GPU or CPU is never predicted to be slower, and more work never to be faster.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr int kKernels = 1000;
constexpr double kRounding = 1e-9;

enum class Kind { kProduct, kChain, kCentred };

struct Sample {
  Kind kind = Kind::kProduct;
  std::int64_t sizes[3] = {1, 1, 1};

  [[nodiscard]] ir::Kernel kernel() const {
    const int ops = static_cast<int>(sizes[2]);
    if (kind == Kind::kProduct) return product_kernel(sizes[0], sizes[1], sizes[2]);
    return kind == Kind::kChain ? chain_kernel(sizes[0], sizes[1], ops)
                                : centred_kernel(sizes[0], sizes[1], ops);
  }
  [[nodiscard]] std::string text() const {
    const char* const names[] = {"product", "chain", "centred"};
    return std::string(names[static_cast<int>(kind)]) + " " + std::to_string(sizes[0]) + " " +
           std::to_string(sizes[1]) + " " + std::to_string(sizes[2]);
  }
};

Sample random_sample(int i) {
  std::mt19937_64 random(i);
  const auto size = [&](double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<>(0, std::log(most + 1))(random)));
  };
  Sample s;
  s.kind = i % 2 == 0 ? Kind::kProduct : i % 4 == 1 ? Kind::kChain : Kind::kCentred;
  if (s.kind == Kind::kProduct) {
    for (auto& n : s.sizes) n = size(16000);
  } else {
    s.sizes[0] = size(30000);
    s.sizes[1] = size(30000);
    s.sizes[2] = size(s.kind == Kind::kChain ? 30 : 4);
  }
  return s;
}

double best_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().time.value;
}

using Change = std::function<void(hwdesc::Device&, double)>;

bool any_kind(Kind) {
  return true;
}

void expect_never_slower(const std::string& name, const Change& change, bool (*asked)(Kind)) {
  const hwdesc::Device base = hwdesc::load_device(name);
  int faster = 0;
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    const Sample sample = random_sample(i);
    if (!asked(sample.kind)) continue;
    const ir::Kernel kernel = sample.kernel();
    hwdesc::Device better = base;
    change(better, 1.0 + 0.04 * (1 + i % 50));
    const double before = best_s(kernel, base);
    const double after = best_s(kernel, better);
    faster += after < before * (1 - kRounding) ? 1 : 0;
    failures += after > before * (1 + kRounding) ? 1 : 0;
    EXPECT_LE(after, before * (1 + kRounding)) << name << " " << sample.text();
  }
  EXPECT_GT(faster, 0) << name;
}

void on_each_machine(const Change& change, bool (*asked)(Kind) = any_kind) {
  expect_never_slower("a100_sxm_40gb", change, asked);
  expect_never_slower("cpu_generic", change, asked);
}

TEST(SimtMonotonicity, MoreBandwidthIsNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) { d.memory[0].bandwidth = d.memory[0].bandwidth * by; });
}

TEST(SimtMonotonicity, MoreCacheBandwidthIsNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) { d.memory[1].bandwidth = d.memory[1].bandwidth * by; });
}

TEST(SimtMonotonicity, ALargerCacheIsNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) { d.memory[1].capacity = d.memory[1].capacity * by; });
}

TEST(SimtMonotonicity, MoreMatrixUnitsAreNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) { d.matrix.count += 1 + static_cast<int>(2 * (by - 1)); });
}

TEST(SimtMonotonicity, AHigherClockIsNeverSlower) {
  on_each_machine([](hwdesc::Device& d, double by) {
    d.clock = d.clock * by;
    if (d.matrix.clock) d.matrix.clock = *d.matrix.clock * by;
  });
}

TEST(SimtMonotonicity, LessLatencyIsNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) { d.memory[0].latency = d.memory[0].latency / by; });
}

// More workers: each adds memory, whose bandwidth is given for all of them together. They also add
// rows in flight, which may exceed the shared cache.
TEST(SimtMonotonicity, MoreWorkersAreNeverSlower) {
  on_each_machine(
      [](hwdesc::Device& d, double by) {
        const int before = d.multiplexing.workers;
        d.multiplexing.workers += 1 + static_cast<int>(8 * by);
        const double grown = static_cast<double>(d.multiplexing.workers) / before;
        d.memory.back().bandwidth = d.memory.back().bandwidth * grown;
      },
      [](Kind kind) { return kind != Kind::kCentred; });
}

TEST(SimtMonotonicity, MoreWorkIsNeverFaster) {
  const hwdesc::Device device = hwdesc::load_device("h100_sxm");
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    std::mt19937_64 random(1'000'000 + i);
    const Sample sample = random_sample(i);
    const double before = best_s(sample.kernel(), device);
    for (int d = 0; d < 3; ++d) {
      Sample larger = sample;
      larger.sizes[d] += 1 + static_cast<std::int64_t>(random() % sample.sizes[d]);
      const double after = best_s(larger.kernel(), device);
      failures += after < before * (1 - kRounding) ? 1 : 0;
      EXPECT_GE(after, before * (1 - kRounding))
          << sample.text() << ": size " << d << " grown to " << larger.sizes[d];
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing
