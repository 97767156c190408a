// Pools and local response normalisation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/infer/shape_inference.h"
#include "ir/onnx/products.h"

namespace tilecast::ir::onnx_reader {
namespace {

// Reduces over windows in the last window.size() dimensions.
Term reduce_window(Opcode opcode, Term x, const Window& spatial, double initial) {
  Window window(static_cast<std::size_t>(x.rank()) - spatial.size());
  window.insert(window.end(), spatial.begin(), spatial.end());
  return x.emitter->emit({.opcode = Opcode::kReduceWindow,
                          .operands = {x, like(x, initial)},
                          .attrs = WindowAttrs{window},
                          .called = {x.emitter->reducer(opcode, x.dtype())}});
}

// ceil_mode: the last window may extend past the end, but must not start beyond the input.
void round_up_sizes(Window& window, const Dims& sizes) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowDim& dim = window[i];
    const std::int64_t reach = product({dim.size - 1, dim.window_dilation}) + 1;
    const std::int64_t room = sizes[i] + dim.pad_low + dim.pad_high - reach;
    const std::int64_t over = room < 0 ? 0 : (dim.stride - room % dim.stride) % dim.stride;
    const std::int64_t start = room + over;  // start of the last window, including padding
    if (over > 0 && start < sizes[i] + dim.pad_low) dim.pad_high += over;
  }
}

Window pool_window(const NodeSite& s, Term x) {
  if (s.integers("kernel_shape").value_or(Dims()).empty()) throw Error("kernel_shape is missing");
  const Dims sizes = spatial_dims(x);
  Window window = window_of(s, sizes, {});
  if (s.flag("ceil_mode")) round_up_sizes(window, sizes);
  return window;
}

Terms max_pool(const NodeSite& s) {
  if (s.gives(1)) throw Error("the indices of a max pool have no mapping onto HLO");
  return {reduce_window(Opcode::kMaximum, s[0], pool_window(s, s[0]), lowest(s[0].dtype()))};
}

// The number of elements that each window covers, as the product of one vector per dimension. With
// count_include_pad, explicit padding counts too.
Term covered(const NodeSite& s, Term y, const Dims& sizes, const Window& window) {
  const bool with_padding = s.flag("count_include_pad");
  const Window declared = window_of(s, sizes, {});
  Term count = scalar(s.emitter, y.dtype(), 1);
  for (std::size_t d = 0; d < window.size(); ++d) {
    const WindowDim& dim = window[d];
    const std::int64_t outputs = y.dim(d + 2);
    if (product({outputs, dim.size}) > (1 << 24))
      throw Error("the average's window is too large to count");
    const std::int64_t first = with_padding ? -declared[d].pad_low : 0;
    const std::int64_t last = sizes[d] + (with_padding ? declared[d].pad_high : 0);
    Numbers counts;
    for (std::int64_t o = 0; o < outputs; ++o) {
      double inside = 0;
      for (std::int64_t k = 0; k < dim.size; ++k) {
        const std::int64_t at = o * dim.stride + k * dim.window_dilation - dim.pad_low;
        inside += at >= first && at < last ? 1 : 0;
      }
      counts.push_back(inside);
    }
    const bool uniform =
        std::all_of(counts.begin(), counts.end(), [&](double one) { return one == counts[0]; });
    if (uniform && !counts.empty()) {
      count = count * counts[0];
      continue;
    }
    const Term vector = s.emitter.constant(Shape::array(y.dtype(), {outputs}), counts);
    Dims shape(window.size() - d, 1);
    shape[0] = outputs;
    count = count * reshape(vector, shape);
  }
  return count;
}

Terms average_pool(const NodeSite& s) {
  const Term x = s[0];
  const Window window = pool_window(s, x);
  const Term sums = reduce_window(Opcode::kAdd, x, window, 0);
  return {sums / covered(s, sums, spatial_dims(x), window)};
}

Term power_mean(Term x, double p) {
  return p == 2 ? unary(Opcode::kSqrt, x) : binary(Opcode::kPower, x, like(x, 1 / p));
}
Term powers(Term x, double p) {
  return p == 2 ? x * x : binary(Opcode::kPower, unary(Opcode::kAbs, x), like(x, p));
}

double order_of(const NodeSite& s) {
  const auto* p = s.find("p");
  return p == nullptr ? 2 : p->i() != 0 ? static_cast<double>(p->i()) : p->f();
}

Terms lp_pool(const NodeSite& s) {
  const double p = order_of(s);
  return {power_mean(reduce_window(Opcode::kAdd, powers(s[0], p), pool_window(s, s[0]), 0), p)};
}

Terms global_average(const NodeSite& s) {
  return {mean(s[0], range(2, s[0].rank()))};
}
Terms global_maximum(const NodeSite& s) {
  return {reduce(Opcode::kMaximum, s[0], range(2, s[0].rank()), /*keep=*/true)};
}
Terms global_lp(const NodeSite& s) {
  const double p = order_of(s);
  return {
      power_mean(reduce(Opcode::kAdd, powers(s[0], p), range(2, s[0].rank()), /*keep=*/true), p)};
}

// x / (bias + alpha / size * sum of squares over `size` channels) ^ beta
Terms local_response(const NodeSite& s) {
  const Term x = of_rank(s[0], 2);
  const std::int64_t size = s.integer("size", 1);
  static_cast<void>(bounded(size, 1));
  Window window(static_cast<std::size_t>(x.rank()));
  window[1].size = size;
  window[1].pad_low = (size - 1) / 2;
  window[1].pad_high = size - 1 - window[1].pad_low;
  const Term sums = reduce_window(Opcode::kAdd, x * x, window, 0);
  const Term scale =
      sums * (s.number("alpha", 1e-4) / static_cast<double>(size)) + s.number("bias", 1);
  return {x / binary(Opcode::kPower, scale, like(x, s.number("beta", 0.75)))};
}

// Prefix sums as a window over all preceding elements, which compilers rewrite.
Terms cumulative_sum(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t axis = normal_axis(s.need_known(1).at(0), x.rank());
  const std::int64_t size = x.dim(static_cast<std::size_t>(axis));
  if (size == 0) return {x};
  const bool exclusive = s.flag("exclusive"), reverse = s.flag("reverse");
  Window window(static_cast<std::size_t>(x.rank()));
  WindowDim& dim = window[static_cast<std::size_t>(axis)];
  dim.size = size;
  // Exclusive: shifted by one to leave out the element itself.
  (reverse ? dim.pad_high : dim.pad_low) = size - 1 + (exclusive ? 1 : 0);
  (reverse ? dim.pad_low : dim.pad_high) = exclusive ? -1 : 0;
  return {reduce_window(Opcode::kAdd, x, window, 0)};
}

// com.microsoft: the gradient spread evenly over each window.
Terms average_pool_grad(const NodeSite& s) {
  const Term y = s[0];
  const std::size_t rank = spatial_dims(y).size();
  const Dims kernel = s.integers("kernel_shape").value_or(Dims()),
             strides = s.integers("strides").value_or(Dims(rank, 1)),
             pads = s.integers("pads").value_or(Dims(2 * rank, 0));
  if (s.flag("ceil_mode")) throw Error("ceil_mode of a gradient has no mapping onto HLO");
  Window window;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t edge = bounded(kernel.at(i), 1) - 1;
    for (const std::int64_t one : {pads.at(i), pads.at(rank + i)}) static_cast<void>(bounded(one));
    window.push_back({.size = kernel[i],
                      .pad_low = edge - pads.at(i),
                      .pad_high = edge - pads.at(rank + i),
                      .base_dilation = bounded(strides.at(i), 1)});
  }
  return {reduce_window(Opcode::kAdd, y / static_cast<double>(product(kernel)), window, 0)};
}

constexpr OpRow kWindows[] = {
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"LpPool", lp_pool},
    {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_maximum},
    {"GlobalLpPool", global_lp},
    {"LRN", local_response},
    {"CumSum", cumulative_sum},
    {"com.microsoft:AveragePoolGrad", average_pool_grad},
};

}  // namespace

std::span<const OpRow> window_rows() {
  return kWindows;
}

}  // namespace tilecast::ir::onnx_reader
