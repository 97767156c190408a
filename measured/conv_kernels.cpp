#include "measured/conv_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tilecast::measured {
namespace {

// One spatial dimension of the forward convolution.
struct Axis {
  std::int64_t size = 1, kernel = 1, stride = 1, low = 0, high = 0, out = 1;
};

struct Problem {
  std::int64_t n = 1, ci = 1, co = 1;
  Axis h, w;
};

void set_padding(const OpRow& row, Axis& axis) {
  const std::string_view text = row.text("padding");
  if (text == "same" || text == "SAME") {
    const std::int64_t outputs = (axis.size + axis.stride - 1) / axis.stride;
    const std::int64_t pad =
        std::max<std::int64_t>((outputs - 1) * axis.stride + axis.kernel - axis.size, 0);
    axis.low = pad / 2;
    axis.high = pad - axis.low;
  } else if (!text.empty() && text != "valid" && text != "VALID" && text != "0") {
    axis.low = axis.high = row.integer("padding");
  }
}

Axis axis(const OpRow& row, std::string_view size, std::string_view kernel) {
  if (row.text("stride").find_first_of("x,") != std::string_view::npos) {
    row.fail("stride",
             fmt::format("got '{}', expected one stride for both dimensions; write others "
                         "as HLO, window={{size=3x3 stride=2x1}}, for tilecast simulate",
                         row.text("stride")));
  }
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  Axis axis{
      .size = row.integer(size), .kernel = row.integer(kernel), .stride = row.integer("stride", 1)};
  set_padding(row, axis);
  if (std::max({axis.size, axis.kernel, axis.stride, axis.low}) > kMaxExtent) {
    row.fail(size, fmt::format("extents, strides and padding may be at most {}", kMaxExtent));
  }
  const std::int64_t reach = axis.size + axis.low + axis.high - axis.kernel;
  if (reach < 0) {
    row.fail(kernel, fmt::format("the window of {} is larger than the padded input of {}",
                                 axis.kernel, axis.size + axis.low + axis.high));
  }
  axis.out = reach / axis.stride + 1;
  return axis;
}

Problem problem(const OpRow& row) {
  return {.n = row.integer("n"),
          .ci = row.integer("ci"),
          .co = row.integer("co"),
          .h = axis(row, "h", "kh"),
          .w = axis(row, "w", "kw")};
}

// `batch_feature`: positions of batch and feature in the three arrays. The spatial dimensions are
// the same everywhere or, for the weight gradient, first in the output.
ir::ConvDims labels(std::string text, std::array<int, 6> batch_feature, ir::Dims kernel_spatial,
                    ir::Dims output_spatial) {
  return {.input_batch = batch_feature[0],
          .input_feature = batch_feature[1],
          .kernel_input_feature = batch_feature[2],
          .kernel_output_feature = batch_feature[3],
          .output_batch = batch_feature[4],
          .output_feature = batch_feature[5],
          .input_spatial = {1, 2},
          .kernel_spatial = std::move(kernel_spatial),
          .output_spatial = std::move(output_spatial),
          .text = std::move(text)};
}

ir::WindowDim forward_window(const Axis& a) {
  return {.size = a.kernel, .stride = a.stride, .pad_low = a.low, .pad_high = a.high};
}

ir::WindowDim input_gradient_window(const Axis& a) {
  const std::int64_t dilated = (a.out - 1) * a.stride + 1;
  const std::int64_t low = a.kernel - 1 - a.low;
  return {.size = a.kernel,
          .pad_low = low,
          .pad_high = a.size - dilated - low + a.kernel - 1,
          .base_dilation = a.stride,
          .reversal = true};
}

ir::WindowDim weight_gradient_window(const Axis& a) {
  const std::int64_t dilated = (a.out - 1) * a.stride + 1;
  return {.size = a.out,
          .pad_low = a.low,
          .pad_high = a.kernel - 1 - a.size - a.low + dilated,
          .window_dilation = a.stride};
}

}  // namespace

ir::Kernel conv2d(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d", ir::Opcode::kConvolution, layout);
  const ir::OpId x = sketch.parameter(row.dtype(), {p.n, p.h.size, p.w.size, p.ci});
  const ir::OpId k = sketch.parameter(row.dtype(), {p.h.kernel, p.w.kernel, p.ci, p.co});
  ir::ConvAttrs attrs{.window = {forward_window(p.h), forward_window(p.w)},
                      .dims = labels("b01f_01io->b01f", {0, 3, 2, 3, 0, 3}, {0, 1}, {1, 2})};
  return sketch.build(
      {sketch.convolution(x, k, std::move(attrs), {p.n, p.h.out, p.w.out, p.co}, row.out_dtype())});
}

ir::Kernel conv2d_grad_input(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d_grad_input", ir::Opcode::kConvolution, layout);
  const ir::OpId dy = sketch.parameter(row.dtype(), {p.n, p.h.out, p.w.out, p.co});
  const ir::OpId k = sketch.parameter(row.dtype(), {p.h.kernel, p.w.kernel, p.ci, p.co});
  ir::ConvAttrs attrs{.window = {input_gradient_window(p.h), input_gradient_window(p.w)},
                      .dims = labels("b01f_01oi->b01f", {0, 3, 3, 2, 0, 3}, {0, 1}, {1, 2})};
  return sketch.build({sketch.convolution(dy, k, std::move(attrs), {p.n, p.h.size, p.w.size, p.ci},
                                          row.out_dtype())});
}

ir::Kernel conv2d_grad_weight(const OpRow& row, const ir::LayoutRules& layout) {
  const Problem p = problem(row);
  ir::KernelSketch sketch("conv2d_grad_weight", ir::Opcode::kConvolution, layout);
  const ir::OpId x = sketch.parameter(row.dtype(), {p.n, p.h.size, p.w.size, p.ci});
  const ir::OpId dy = sketch.parameter(row.dtype(), {p.n, p.h.out, p.w.out, p.co});
  ir::ConvAttrs attrs{.window = {weight_gradient_window(p.h), weight_gradient_window(p.w)},
                      .dims = labels("f01b_i01o->01bf", {3, 0, 0, 3, 2, 3}, {1, 2}, {0, 1})};
  return sketch.build({sketch.convolution(x, dy, std::move(attrs),
                                          {p.h.kernel, p.w.kernel, p.ci, p.co}, row.out_dtype())});
}

}  // namespace tilecast::measured
