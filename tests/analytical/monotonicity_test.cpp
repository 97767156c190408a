// A better machine is never predicted to be slower, and more work never to be faster. Tiles
// estimated together have the same times as alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "analytical/analytical_model.h"
#include "analytical/transfer.h"
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

// Checks the speed of light: every op class in every type on every preset takes at least the time
// of its counted operations on the fastest unit, and of its distinct bytes at peak memory
// bandwidth.

namespace {

std::string shape(const std::string& dtype, const std::string& dims) {
  return dtype + "[" + dims + "]";
}

// An entry computation with these parameters; `root`: an op on p0, p1 ..., without its shape.
std::string entry(const std::vector<std::string>& parameters, const std::string& result,
                  const std::string& root, const std::string& called = "") {
  std::string text = "HloModule m\n" + called + "ENTRY e {\n";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string n = std::to_string(i);
    text += "  p" + n + " = " + parameters[i] + " parameter(" + n + ")\n";
  }
  return text + "  ROOT r = " + result + " " + root + "\n}\n";
}

std::string combiner(const std::string& t) {
  return "add {\n  a = " + t + "[] parameter(0)\n  b = " + t + "[] parameter(1)\n  ROOT s = " + t +
         "[] add(a, b)\n}\n";
}

// With large arrays, so that neither launches nor latencies hide a roof.
std::vector<std::string> kernels_in(const std::string& t) {
  const std::string square = shape(t, "2048,2048"), image = shape(t, "16,64,64,256");
  const std::string window = ", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
  return {
      entry({square, square}, square, "add(p0, p1)"),
      entry({square}, shape(t, "2048,2048"), "transpose(p0), dimensions={1,0}"),
      entry({square, shape(t, "")}, shape(t, "2048"),
            "reduce(p0, p1), dimensions={1}, to_apply=add", combiner(t)),
      entry({square, shape(t, "")}, square,
            "reduce-window(p0, p1), window={size=1x5 pad=0_0x2_2}, to_apply=add", combiner(t)),
      entry({square, shape("s32", "4096,1")}, shape(t, "4096,2048"),
            "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=1, slice_sizes={1,2048}"),
      entry({square, shape("s32", "4096,1"), shape(t, "4096,2048")}, square,
            "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
            combiner(t)),
      entry({square, square}, square,
            "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
      entry({shape(t, "8192,1024"), shape(t, "16,1024,1024"), shape("s32", "16")},
            shape(t, "8192,1024"),
            "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
            "lhs_ragged_dims={0}, rhs_group_dims={0}"),
      entry({image, shape(t, "3,3,256,256")}, image, "convolution(p0, p1)" + window),
  };
}

std::vector<std::string> float_kernels_in(const std::string& t) {
  const std::string square = shape(t, "2048,2048");
  const std::string smaller = "less {\n  a = " + t + "[] parameter(0)\n  b = " + t +
                              "[] parameter(1)\n  ROOT s = pred[] compare(a, b), direction=LT\n}\n";
  return {entry({square}, square, "tanh(p0)"),
          entry({square}, square, "sort(p0), dimensions={1}, to_apply=less", smaller),
          entry({shape(t, "4194304")}, shape(t, "4194304"),
                "sort(p0), dimensions={0}, to_apply=less", smaller)};
}

std::vector<std::string> solver_kernels_in(const std::string& t, const std::string& c) {
  const std::string square = shape(t, "2048,2048");
  return {entry({square}, square, "cholesky(p0), lower=true"),
          entry({square, square}, square,
                "triangular-solve(p0, p1), left_side=true, lower=true, unit_diagonal=false, "
                "transpose_a=NO_TRANSPOSE"),
          entry({shape(c, "64,65536")}, shape(c, "64,65536"),
                "fft(p0), fft_type=FFT, fft_length={65536}")};
}

std::vector<std::string> all_kernels() {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& kernels) {
    all.insert(all.end(), kernels.begin(), kernels.end());
  };
  for (const char* t : {"bf16", "f16", "f32", "f64", "f8e4m3fn", "f8e5m2", "s8", "s32", "c64"}) {
    add(kernels_in(t));
  }
  for (const char* t : {"bf16", "f16", "f32", "f64"}) add(float_kernels_in(t));
  add(solver_kernels_in("f32", "c64"));
  add(solver_kernels_in("f64", "c128"));
  return all;
}

double fastest_flops(const hwdesc::Device& device) {
  double peak = 2 * device.vector_peak().value * std::max(1.0, device.vector.packing);
  for (const auto& [dtype, passes] : device.matrix.passes) {
    peak = std::max(peak, device.matrix_peak(dtype).value);
  }
  return peak;
}

TEST(Light, NothingIsFasterOnAnyPreset) {
  const std::vector<std::string> texts = all_kernels();
  for (const std::string& name : hwdesc::preset_names()) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const double peak = fastest_flops(device);
    const hwdesc::MemoryLevel& memory = device.main_memory();
    const double bandwidth =
        memory.bandwidth.value + (memory.full_duplex ? memory.peak_write().value : 0.0);
    for (const std::string& text : texts) {
      const ir::Kernel kernel = kernel_of(text);
      const Estimate best = KernelAnalysis(kernel, device).estimate_best();
      const Traffic bytes = distinct_traffic(kernel, device);
      const double least = device.execution == hwdesc::Execution::kSimt ? 0.25 : 1;  // Winograd
      const bool convolves = text.find("convolution") != std::string::npos;
      constexpr double kRounding = 1 - 1e-6;  // counts are rounded to floats
      const double flops = kRounding * kernel.work().flops * (convolves ? least : 1);
      EXPECT_GE(best.time.value, flops / peak) << name << "\n" << text;
      EXPECT_GE(best.time.value, (bytes.read + bytes.write).value / bandwidth) << name << "\n"
                                                                               << text;
      EXPECT_GE(best.time, best.speed_of_light) << name << "\n" << text;
      EXPECT_LT(best.time.value, 10) << name << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing
