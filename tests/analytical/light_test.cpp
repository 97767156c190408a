// Checks the speed of light: every op class in every type on every preset takes at least the time
// of its counted operations on the fastest unit, and of its distinct bytes at peak memory
// bandwidth.
#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "analytical/distinct_traffic.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
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
