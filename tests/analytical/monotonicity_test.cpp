// A better machine is never predicted to be slower, and more work never to be faster. Tiles
// estimated together have the same times as alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <span>

#include "analytical/analytical_model.h"
#include "analytical/transfer.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using Sizes = std::vector<std::int64_t>;
using Random = std::mt19937_64;

constexpr int kKernels = 1000;
constexpr double kRounding = 1e-9;

// The sizes of a kernel; increasing one of them increases its work.
struct Sample {
  std::function<ir::Kernel(const Sizes&)> make;
  Sizes sizes;
  std::string what;
  bool centred = false;  // its rows are reduced before use

  [[nodiscard]] std::string text() const {
    std::string text = what;
    for (const std::int64_t size : sizes) text += " " + std::to_string(size);
    return text;
  }
};

// Log-uniform, so that small and large dimensions are as likely.
std::int64_t size(Random& random, double most) {
  return static_cast<std::int64_t>(
      std::exp(std::uniform_real_distribution<>(0, std::log(most + 1))(random)));
}

std::string product_text(const Sizes& sizes, const std::string& dtype, bool fused) {
  const std::string result = array(dtype, {sizes[0], sizes[1]});
  std::string body = result + " dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  body = fused ? "  d = " + body + "\n  ROOT r = " + result + " tanh(d)" : "  ROOT r = " + body;
  return fusion({array(dtype, {sizes[0], sizes[2]}), array(dtype, {sizes[2], sizes[1]})}, result,
                body);
}

std::string convolution_text(const Sizes& sizes, const std::string& dtype, int variant) {
  const std::int64_t taps = 1 + 2 * (variant % 3);
  const std::int64_t stride = 1 + variant / 3 % 2;
  const std::int64_t side = (sizes[1] - 1) * stride + taps;
  const std::string t = std::to_string(taps), st = std::to_string(stride);
  const std::string result = array(dtype, {sizes[0], sizes[1], sizes[1], sizes[2]});
  return fusion({array(dtype, {sizes[0], side, side, sizes[3]}),
                 array(dtype, {taps, taps, sizes[3], sizes[2]})},
                result,
                "  ROOT r = " + result + " convolution(p0, p1), window={size=" + t + "x" + t +
                    " stride=" + st + "x" + st + "}, dim_labels=b01f_01io->b01f");
}

std::string elementwise_text(const Sizes& sizes, const std::string& dtype, int variant) {
  const std::string shape = array(dtype, sizes);
  std::string body = "  v0 = " + shape + " add(p0, p1)\n";
  static constexpr const char* kOps[] = {"multiply(v, p0)", "exponential(v)", "divide(v, p1)",
                                         "maximum(v, p0)", "negate(v)"};
  const int chain = 1 + variant % 4;
  for (int i = 0; i < chain; ++i) {
    std::string op = kOps[(variant + 3 * i) % 5];
    op.replace(op.find("(v") + 1, 1, "v" + std::to_string(i));
    body += std::string(i + 1 == chain ? "  ROOT v" : "  v") + std::to_string(i + 1) + " = " +
            shape + " " + op + "\n";
  }
  return fusion({shape, shape}, shape, body);
}

std::string reduce_text(const Sizes& sizes, int variant) {
  Sizes kept = sizes;
  const auto d = static_cast<std::ptrdiff_t>(variant % sizes.size());
  kept.erase(kept.begin() + d);
  const std::string result = array("f32", kept);
  return fusion({array("f32", sizes)}, result,
                "  zero = f32[] constant(0)\n  ROOT r = " + result +
                    " reduce(p0, zero), dimensions={" + std::to_string(d) + "}, to_apply=adder");
}

std::string transpose_text(const Sizes& sizes, const std::string& dtype, int variant) {
  const Sizes order = variant % 2 == 0 ? Sizes{0, 2, 1} : Sizes{1, 0, 2};
  const std::string result = array(dtype, {sizes[order[0]], sizes[order[1]], sizes[order[2]]});
  return fusion({array(dtype, sizes)}, result,
                "  ROOT r = " + result + " transpose(p0), dimensions={" + std::to_string(order[0]) +
                    "," + std::to_string(order[1]) + "," + std::to_string(order[2]) + "}");
}

// Products, convolutions, chains, reductions and transpositions in the layouts of TPUs.
Sample tiled_sample(int i) {
  Random random(i);
  const std::string dtype = random() % 2 == 0 ? "f32" : "bf16";
  const int variant = static_cast<int>(random() % 60), kind = i % 5;
  Sizes sizes;
  if (kind == 0) {
    for (int d = 0; d < 3; ++d) sizes.push_back(size(random, 8000));
  } else if (kind == 1) {
    for (const double most : {64, 56, 1024, 1024}) sizes.push_back(size(random, most));
  } else {
    for (const double most : {64, 2000, 3000}) sizes.push_back(size(random, most));
    if (kind == 2 && random() % 2 == 0) sizes.erase(sizes.begin());
  }
  const auto text = [=](const Sizes& s) {
    return kind == 0   ? product_text(s, dtype, variant % 2 == 0)
           : kind == 1 ? convolution_text(s, dtype, variant)
           : kind == 2 ? elementwise_text(s, dtype, variant)
           : kind == 3 ? reduce_text(s, variant)
                       : transpose_text(s, dtype, variant);
  };
  return {[=](const Sizes& s) { return kernel_of(text(s)); }, sizes, text(sizes)};
}

// Products, chains and rows that are reduced before use, in rows.
Sample simt_sample(int i) {
  Random random(i);
  const auto ops = [](const Sizes& s) { return static_cast<int>(s[2]); };
  if (i % 2 == 0) {
    const auto make = [](const Sizes& s) { return product_kernel(s[0], s[1], s[2]); };
    return {make, {size(random, 16000), size(random, 16000), size(random, 16000)}, "product"};
  }
  const bool chain = i % 4 == 1;
  const auto make = [=](const Sizes& s) {
    return chain ? chain_kernel(s[0], s[1], ops(s)) : centred_kernel(s[0], s[1], ops(s));
  };
  const Sizes sizes{size(random, 30000), size(random, 30000), size(random, chain ? 30 : 4)};
  return {make, sizes, chain ? "chain" : "centred", !chain};
}

double best_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().time.value;
}

// Improves a device by a factor > 1.
struct Better {
  const char* what;
  void (*change)(hwdesc::Device&, double by);
  bool of_centred_rows = true;
};

constexpr Better kBetter[] = {
    {"bandwidth", [](auto& d, double by) { d.memory[0].bandwidth = d.memory[0].bandwidth * by; }},
    {"matrix units",
     [](auto& d, double by) { d.matrix.count += 1 + static_cast<int>(2 * (by - 1)); }},
    {"clock",
     [](auto& d, double by) {
       d.clock = d.clock * by;
       if (d.matrix.clock) d.matrix.clock = *d.matrix.clock * by;
     }},
};
constexpr Better kBetterTpu[] = {
    {"vector ALUs", [](auto& d, double by) { d.vector.alus *= by; }},
    {"scratchpad",
     [](auto& d, double by) { d.memory.back().capacity = d.memory.back().capacity * by; }},
    {"latencies and overheads",
     [](auto& d, double by) {
       d.memory[0].latency = d.memory[0].latency / by;
       d.engines[0].setup = d.engines[0].setup / by;
       d.engines[0].iteration_overhead = d.engines[0].iteration_overhead / by;
       d.engines[0].descriptor = d.engines[0].descriptor / by;
       d.vector.latency = d.vector.latency / by;
       d.transcendental.latency = d.transcendental.latency / by;
       d.cross_lane.latency = d.cross_lane.latency / by;
     }},
};
constexpr Better kBetterSimt[] = {
    {"latency", [](auto& d, double by) { d.memory[0].latency = d.memory[0].latency / by; }},
    {"cache", [](auto& d, double by) { d.memory[1].capacity = d.memory[1].capacity * by; }},
    {"cache bandwidth",
     [](auto& d, double by) { d.memory[1].bandwidth = d.memory[1].bandwidth * by; }},
    // Each adds memory, whose bandwidth is given for all of them together, and rows in flight,
    // which may exceed the shared cache.
    {"workers",
     [](auto& d, double by) {
       const int before = d.multiplexing.workers;
       d.multiplexing.workers += 1 + static_cast<int>(8 * by);
       const double grown = static_cast<double>(d.multiplexing.workers) / before;
       d.memory.back().bandwidth = d.memory.back().bandwidth * grown;
     },
     /*of_centred_rows=*/false},
};

void expect_never_slower(const std::string& name, Sample (*sample_of)(int),
                         std::span<const Better> more) {
  std::vector<Better> changes(std::begin(kBetter), std::end(kBetter));
  changes.insert(changes.end(), more.begin(), more.end());
  const hwdesc::Device base = hwdesc::load_device(name);
  std::map<std::string, int> faster;
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    const Sample sample = sample_of(i);
    const ir::Kernel kernel = sample.make(sample.sizes);
    const double before = best_s(kernel, base);
    for (const Better& better : changes) {
      if (sample.centred && !better.of_centred_rows) continue;
      hwdesc::Device improved = base;
      better.change(improved, 1.0 + 0.04 * (1 + i % 50));
      const double after = best_s(kernel, improved);
      faster[better.what] += after < before * (1 - kRounding) ? 1 : 0;
      failures += after > before * (1 + kRounding) ? 1 : 0;
      EXPECT_LE(after, before * (1 + kRounding))
          << better.what << " of " << name << ", kernel " << i << "\n"
          << sample.text();
    }
  }
  for (const auto& [what, count] : faster) EXPECT_GT(count, 0) << what << " of " << name;
}

TEST(Monotonicity, ABetterTpuIsNeverSlower) {
  expect_never_slower("tpu_v3", tiled_sample, kBetterTpu);
}
TEST(Monotonicity, ABetterGpuIsNeverSlower) {
  expect_never_slower("a100_sxm_40gb", simt_sample, kBetterSimt);
}
TEST(Monotonicity, ABetterCpuIsNeverSlower) {
  expect_never_slower("cpu_generic", simt_sample, kBetterSimt);
}

TEST(Monotonicity, MoreStagesOfATileThatStillFitsAreNeverSlower) {
  const hwdesc::Device base = hwdesc::load_device("tpu_v3");
  int compared = 0;
  for (int i = 0; i < kKernels; ++i) {
    const Sample sample = tiled_sample(i);
    const ir::Kernel kernel = sample.make(sample.sizes);
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
  const hwdesc::Device devices[] = {hwdesc::load_device("tpu_v3"), hwdesc::load_device("tpu_v5e")};
  int unfit = 0;
  for (int i = 0; i < kKernels; ++i) {
    const hwdesc::Device& device = devices[i % 2];
    hwdesc::Device smaller = device;
    smaller.memory.back().capacity = smaller.memory.back().capacity / 64;
    const Sample sample = tiled_sample(i);
    const ir::Kernel kernel = sample.make(sample.sizes);
    std::vector<TileConfig> tiles = KernelAnalysis(kernel, device).tiles(60);
    const KernelAnalysis analysis(kernel, smaller);
    std::ranges::shuffle(tiles, Random(i));
    const std::vector<double> times = analysis.times_s(tiles);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      ASSERT_EQ(times[t], analysis.time(tiles[t]).value) << i << ": " << to_string(tiles[t]);
      unfit += std::isinf(times[t]) ? 1 : 0;
    }
  }
  EXPECT_GT(unfit, kKernels / 10);
}

void expect_more_work_is_never_faster(const std::string& name, Sample (*sample_of)(int)) {
  const hwdesc::Device device = hwdesc::load_device(name);
  int failures = 0;
  for (int i = 0; i < kKernels && failures < 5; ++i) {
    Random random(1'000'000 + i);
    const Sample sample = sample_of(i);
    const double before = best_s(sample.make(sample.sizes), device);
    for (std::size_t d = 0; d < sample.sizes.size(); ++d) {
      Sizes larger = sample.sizes;
      larger[d] += 1 + static_cast<std::int64_t>(random() % sample.sizes[d]);
      const double after = best_s(sample.make(larger), device);
      failures += after < before * (1 - kRounding) ? 1 : 0;
      EXPECT_GE(after, before * (1 - kRounding))
          << "kernel " << i << ": dimension " << d << " of " << sample.sizes[d] << " grown to "
          << larger[d] << "\n"
          << sample.text();
    }
  }
}

TEST(Monotonicity, MoreWorkIsNeverFasterOnATpu) {
  expect_more_work_is_never_faster("tpu_v3", tiled_sample);
}
TEST(Monotonicity, MoreWorkIsNeverFasterOnAGpu) {
  expect_more_work_is_never_faster("h100_sxm", simt_sample);
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
      constexpr double kRounded = 1 - 1e-6;  // counts are rounded to floats
      const double flops = kRounded * kernel.work().flops * (convolves ? least : 1);
      EXPECT_GE(best.time.value, flops / peak) << name << "\n" << text;
      const double moved = kRounded * (bytes.read + bytes.write).value;
      EXPECT_GE(best.time.value, moved / bandwidth) << name << "\n" << text;
      EXPECT_GE(best.time, best.speed_of_light) << name << "\n" << text;
      EXPECT_LT(best.time.value, 10) << name << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing
