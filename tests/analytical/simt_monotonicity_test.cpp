// A better GPU or CPU is never predicted to be slower, and more work never to be faster.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "simt_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr int kKernels = 1000;
constexpr double kRounding = 1e-9;

struct Sample {
  bool product = false;
  std::int64_t sizes[3] = {1, 1, 1};

  [[nodiscard]] ir::Kernel kernel() const {
    return product ? product_kernel(sizes[0], sizes[1], sizes[2])
                   : chain_kernel(sizes[0], sizes[1], static_cast<int>(sizes[2]));
  }
};

Sample random_sample(int i) {
  std::mt19937_64 random(i);
  const auto size = [&](double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<>(0, std::log(most + 1))(random)));
  };
  Sample s;
  s.product = i % 2 == 0;
  if (s.product) {
    for (auto& n : s.sizes) n = size(16000);
  } else {
    s.sizes[0] = size(30000);
    s.sizes[1] = size(30000);
    s.sizes[2] = size(30);
  }
  return s;
}

double best_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().time.value;
}

using Change = std::function<void(hwdesc::Device&, double)>;

void expect_never_slower(const std::string& name, const Change& change) {
  const hwdesc::Device base = hwdesc::load_device(name);
  int faster = 0;
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    const Sample sample = random_sample(i);
    const ir::Kernel kernel = sample.kernel();
    hwdesc::Device better = base;
    change(better, 1.0 + 0.04 * (1 + i % 50));
    const double before = best_s(kernel, base);
    const double after = best_s(kernel, better);
    faster += after < before * (1 - kRounding) ? 1 : 0;
    failures += after > before * (1 + kRounding) ? 1 : 0;
    EXPECT_LE(after, before * (1 + kRounding))
        << name << " " << (sample.product ? "product " : "chain ") << sample.sizes[0] << " "
        << sample.sizes[1] << " " << sample.sizes[2];
  }
  EXPECT_GT(faster, 0) << name;
}

void on_each_machine(const Change& change) {
  expect_never_slower("a100_sxm_40gb", change);
  expect_never_slower("cpu_generic", change);
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

// Workers bring their own memory, whose bandwidth is given for all of them together.
TEST(SimtMonotonicity, MoreWorkersAreNeverSlower) {
  on_each_machine([](hwdesc::Device& d, double by) {
    const int before = d.multiplexing.workers;
    d.multiplexing.workers += 1 + static_cast<int>(8 * by);
    const double grown = static_cast<double>(d.multiplexing.workers) / before;
    d.memory.back().bandwidth = d.memory.back().bandwidth * grown;
  });
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
          << (sample.product ? "product " : "chain ") << sample.sizes[0] << " " << sample.sizes[1]
          << " " << sample.sizes[2] << ": size " << d << " grown to " << larger.sizes[d];
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing
