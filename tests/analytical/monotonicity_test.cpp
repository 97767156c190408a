// A better machine is never predicted to be slower, and more work never to be faster. Tiles
// estimated together have the same times as alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using Sizes = std::vector<std::int64_t>;

enum class Kind { kDot, kConvolution, kElementwise, kReduce, kTranspose };
constexpr int kKinds = 5;
constexpr int kKernels = 1000;
constexpr double kRounding = 1e-9;

// The sizes of a kernel; increasing one of them increases its work.
struct Sample {
  Kind kind = Kind::kDot;
  Sizes sizes;
  std::string dtype;
  int variant = 0;

  [[nodiscard]] std::string text() const;
};

std::string product_text(const Sample& s) {
  const std::string result = array(s.dtype, {s.sizes[0], s.sizes[1]});
  std::string body = "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  if (s.variant % 2 == 0) {
    body = "  d = " + result + " " + body + "\n  ROOT r = " + result + " tanh(d)";
  } else {
    body = "  ROOT r = " + result + " " + body;
  }
  return fusion(
      {array(s.dtype, {s.sizes[0], s.sizes[2]}), array(s.dtype, {s.sizes[2], s.sizes[1]})}, result,
      body);
}

std::string convolution_text(const Sample& s) {
  const std::int64_t taps = 1 + 2 * (s.variant % 3);
  const std::int64_t stride = 1 + s.variant / 3 % 2;
  const std::int64_t size = (s.sizes[1] - 1) * stride + taps;
  const std::string t = std::to_string(taps);
  const std::string st = std::to_string(stride);
  const std::string result = array(s.dtype, {s.sizes[0], s.sizes[1], s.sizes[1], s.sizes[2]});
  return fusion({array(s.dtype, {s.sizes[0], size, size, s.sizes[3]}),
                 array(s.dtype, {taps, taps, s.sizes[3], s.sizes[2]})},
                result,
                "  ROOT r = " + result + " convolution(p0, p1), window={size=" + t + "x" + t +
                    " stride=" + st + "x" + st + "}, dim_labels=b01f_01io->b01f");
}

std::string elementwise_text(const Sample& s) {
  const std::string shape = array(s.dtype, s.sizes);
  std::string body = "  v0 = " + shape + " add(p0, p1)\n";
  static constexpr const char* kOps[] = {"multiply(v, p0)", "exponential(v)", "divide(v, p1)",
                                         "maximum(v, p0)", "negate(v)"};
  const int chain = 1 + s.variant % 4;
  for (int i = 0; i < chain; ++i) {
    std::string op = kOps[(s.variant + 3 * i) % 5];
    op.replace(op.find("(v") + 1, 1, "v" + std::to_string(i));
    body += std::string(i + 1 == chain ? "  ROOT v" : "  v") + std::to_string(i + 1) + " = " +
            shape + " " + op + "\n";
  }
  return fusion({shape, shape}, shape, body);
}

std::string reduce_text(const Sample& s) {
  Sizes kept = s.sizes;
  const auto d = static_cast<std::ptrdiff_t>(s.variant % s.sizes.size());
  kept.erase(kept.begin() + d);
  const std::string result = array("f32", kept);
  return fusion({array("f32", s.sizes)}, result,
                "  zero = f32[] constant(0)\n  ROOT r = " + result +
                    " reduce(p0, zero), dimensions={" + std::to_string(d) + "}, to_apply=adder");
}

std::string transpose_text(const Sample& s) {
  const Sizes order = s.variant % 2 == 0 ? Sizes{0, 2, 1} : Sizes{1, 0, 2};
  const Sizes dims{s.sizes[order[0]], s.sizes[order[1]], s.sizes[order[2]]};
  const std::string result = array(s.dtype, dims);
  return fusion({array(s.dtype, s.sizes)}, result,
                "  ROOT r = " + result + " transpose(p0), dimensions={" + std::to_string(order[0]) +
                    "," + std::to_string(order[1]) + "," + std::to_string(order[2]) + "}");
}

std::string Sample::text() const {
  switch (kind) {
    case Kind::kDot:
      return product_text(*this);
    case Kind::kConvolution:
      return convolution_text(*this);
    case Kind::kElementwise:
      return elementwise_text(*this);
    case Kind::kReduce:
      return reduce_text(*this);
    case Kind::kTranspose:
      return transpose_text(*this);
  }
  return {};
}

Sample random_sample(int i) {
  std::mt19937_64 random(i);
  // Log-uniform, so that small and large dimensions are as likely.
  const auto size = [&](double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<>(0, std::log(most + 1))(random)));
  };
  Sample s;
  s.kind = static_cast<Kind>(i % kKinds);
  s.dtype = random() % 2 == 0 ? "f32" : "bf16";
  s.variant = static_cast<int>(random() % 60);
  switch (s.kind) {
    case Kind::kDot:
      s.sizes = {size(8000), size(8000), size(8000)};
      break;
    case Kind::kConvolution:
      s.sizes = {size(64), size(56), size(1024), size(1024)};
      break;
    default:
      s.sizes = {size(64), size(2000), size(3000)};
      if (s.kind == Kind::kElementwise && random() % 2 == 0) s.sizes.erase(s.sizes.begin());
  }
  return s;
}

double best_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().time.value;
}

using Change = std::function<void(hwdesc::Device&, double)>;

// `change` improves the device by a factor > 1.
void expect_never_slower(const Change& change) {
  const hwdesc::Device base = hwdesc::load_device("tpu_v3");
  int faster = 0;
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    const Sample sample = random_sample(i);
    const ir::Kernel kernel = kernel_of(sample.text());
    hwdesc::Device better = base;
    change(better, 1.0 + 0.04 * (1 + i % 50));
    const double before = best_s(kernel, base);
    const double after = best_s(kernel, better);
    faster += after < before * (1 - kRounding) ? 1 : 0;
    failures += after > before * (1 + kRounding) ? 1 : 0;
    EXPECT_LE(after, before * (1 + kRounding)) << "kernel " << i << "\n" << sample.text();
  }
  EXPECT_GT(faster, 0);
}

TEST(Monotonicity, MoreBandwidthIsNeverSlower) {
  expect_never_slower(
      [](hwdesc::Device& d, double by) { d.memory[0].bandwidth = d.memory[0].bandwidth * by; });
}

TEST(Monotonicity, MoreMatrixUnitsAreNeverSlower) {
  expect_never_slower(
      [](hwdesc::Device& d, double by) { d.matrix.count += 1 + static_cast<int>(2 * (by - 1)); });
}

TEST(Monotonicity, MoreVectorAlusAreNeverSlower) {
  expect_never_slower([](hwdesc::Device& d, double by) { d.vector.alus *= by; });
}

TEST(Monotonicity, AHigherClockIsNeverSlower) {
  expect_never_slower([](hwdesc::Device& d, double by) { d.clock = d.clock * by; });
}

TEST(Monotonicity, LessLatencyAndOverheadIsNeverSlower) {
  expect_never_slower([](hwdesc::Device& d, double by) {
    d.memory[0].latency = d.memory[0].latency / by;
    d.engines[0].setup = d.engines[0].setup / by;
    d.engines[0].iteration_overhead = d.engines[0].iteration_overhead / by;
    d.engines[0].descriptor = d.engines[0].descriptor / by;
    d.vector.latency = d.vector.latency / by;
    d.transcendental.latency = d.transcendental.latency / by;
    d.cross_lane.latency = d.cross_lane.latency / by;
  });
}

TEST(Monotonicity, ALargerScratchpadIsNeverSlower) {
  expect_never_slower([](hwdesc::Device& d, double by) {
    d.memory.back().capacity = d.memory.back().capacity * by;
  });
}

TEST(Monotonicity, MoreStagesOfATileThatStillFitsAreNeverSlower) {
  const hwdesc::Device base = hwdesc::load_device("tpu_v3");
  int compared = 0;
  for (int i = 0; i < kKernels; ++i) {
    const ir::Kernel kernel = kernel_of(random_sample(i).text());
    hwdesc::Device deeper = base;
    deeper.engines[0].stages += 1 + i % 3;
    const KernelAnalysis before(kernel, base);
    const KernelAnalysis after(kernel, deeper);
    for (const TileConfig& tile : after.tiles(40)) {
      ASSERT_LE(after.time(tile), before.time(tile)) << to_string(tile);
      ++compared;
    }
  }
  EXPECT_GT(compared, kKernels);
}

// Bit-identical, in any order, with infeasible tiles in between.
TEST(Tiles, TakeTogetherWhatTheyTakeAlone) {
  int unfit = 0;
  for (int i = 0; i < kKernels; ++i) {
    const hwdesc::Device device = hwdesc::load_device(i % 2 == 0 ? "tpu_v3" : "tpu_v5e");
    hwdesc::Device smaller = device;
    smaller.memory.back().capacity = smaller.memory.back().capacity / 64;
    const ir::Kernel kernel = kernel_of(random_sample(i).text());
    std::vector<TileConfig> tiles = KernelAnalysis(kernel, device).tiles(60);
    const KernelAnalysis analysis(kernel, smaller);
    std::ranges::shuffle(tiles, std::mt19937_64(i));
    const std::vector<double> times = analysis.times_s(tiles);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      ASSERT_EQ(times[t], analysis.time(tiles[t]).value) << i << ": " << to_string(tiles[t]);
      unfit += std::isinf(times[t]) ? 1 : 0;
    }
  }
  EXPECT_GT(unfit, kKernels / 10);
}

TEST(Monotonicity, MoreWorkIsNeverFaster) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    std::mt19937_64 random(1'000'000 + i);
    const Sample sample = random_sample(i);
    const double before = best_s(kernel_of(sample.text()), device);
    for (std::size_t d = 0; d < sample.sizes.size(); ++d) {
      Sample larger = sample;
      larger.sizes[d] += 1 + static_cast<std::int64_t>(random() % sample.sizes[d]);
      const double after = best_s(kernel_of(larger.text()), device);
      failures += after < before * (1 - kRounding) ? 1 : 0;
      EXPECT_GE(after, before * (1 - kRounding))
          << "kernel " << i << ": dimension " << d << " of " << sample.sizes[d] << " grown to "
          << larger.sizes[d] << "\n"
          << sample.text();
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing
