// Counts the multiply-adds of convolutions and dots.
//
// One convolution dimension: kernel position k in [0, K) and output position o in [0, O) touch the
// dilated input at u = s*o + d*k - p, which is real input when b | u and 0 <= u <= b*(I-1). XLA
// loops over all K*O pairs. Here the solutions of b | u are arithmetic progressions,
//   k = k0 + alpha*x,   o = r0 + beta*x + gamma*y,
// so that the number of y for each x is a difference of floors of linear functions of x, and their
// sums over x are floor sums: O(log) in every size.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/counts/op_counts.h"

namespace tilecast::ir {
namespace {

using Wide = __int128;

constexpr std::int64_t kMaxWindowExtent = std::int64_t{1} << 40;

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
Wide ceil_div(Wide a, Wide b) {
  return -floor_div(-a, b);
}
Wide mod(Wide a, Wide m) {
  return a - floor_div(a, m) * m;
}

Wide gcd(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// x in [0, m) with a*x = 1 (mod m), for coprime a and m.
Wide inverse(Wide a, Wide m) {
  Wide x = 1, y = 0, r = mod(a, m), s = m;
  while (s != 0) {
    const Wide q = r / s;
    r = std::exchange(s, r - q * s);
    x = std::exchange(y, x - q * y);
  }
  return mod(x, m);
}

// Sum over i in [0, n) of floor((a*i + b) / m), m > 0: Euclid's algorithm on the slope a/m
// (Graham, Knuth, Patashnik, Concrete Mathematics, section 3.5).
Wide floor_sum(Wide n, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * floor_div(a, m) + n * floor_div(b, m);
    a = mod(a, m);
    b = mod(b, m);
    const Wide end = a * n + b;
    if (end < m) break;
    n = end / m;
    b = end % m;
    std::swap(a, m);
  }
  return sum;
}

// The pairs (k, o) with b | s*o + d*k - p.
struct Progression {
  Wide k0 = 0, alpha = 1;            // k = k0 + alpha*x, x >= 0
  Wide r0 = 0, beta = 0, gamma = 1;  // o = r0 + beta*x + gamma*y, any y
};

std::optional<Progression> solve(Wide s, Wide d, Wide p, Wide b) {
  const Wide g = gcd(s, b);
  const Wide h = gcd(d, g);
  if (p % h != 0) return std::nullopt;
  Progression q;
  q.alpha = g / h;
  q.k0 = mod(mod(p / h, q.alpha) * inverse(d / h, q.alpha), q.alpha);
  q.gamma = b / g;
  const Wide inv = inverse(s / g, q.gamma);
  q.r0 = mod(mod((p - d * q.k0) / g, q.gamma) * inv, q.gamma);
  q.beta = mod(-mod(d / h, q.gamma) * inv, q.gamma);
  return q;
}

// Sum over x in [from, to) of floor((c - d*k(x) - s*r(x)) / (s*gamma)): the last y whose output
// position is at most (c - d*k) / s.
Wide sum_sloped(const Progression& q, Wide s, Wide d, Wide c, Wide from, Wide to) {
  const Wide slope = -(d * q.alpha + s * q.beta);
  return floor_sum(to - from, s * q.gamma, slope, c - d * q.k0 - s * q.r0 + slope * from);
}

// The same for the constant output position o = c.
Wide sum_flat(const Progression& q, Wide c, Wide from, Wide to) {
  return floor_sum(to - from, q.gamma, -q.beta, c - q.r0 - q.beta * from);
}

void require_extent(std::int64_t value, std::int64_t low, const char* what) {
  if (value < low || value > kMaxWindowExtent) {
    throw Error(std::string("convolution window: ") + what + "; got " + std::to_string(value) +
                ", expected " + std::to_string(low) + " to 2^40");
  }
}

std::int64_t extent(const Shape& shape, std::int64_t dim) {
  return dim >= 0 && dim < shape.rank() ? shape.dims[static_cast<std::size_t>(dim)] : 1;
}

float convolution_flops(const ConvAttrs& attrs, const Shape& input, const Shape& kernel,
                        const Shape& result) {
  const ConvDims& dims = attrs.dims;
  const std::int64_t features =
      extent(input, dims.input_feature) / std::max<std::int64_t>(1, attrs.feature_group_count);
  const std::int64_t batch =
      extent(input, dims.input_batch) / std::max<std::int64_t>(1, attrs.batch_group_count);
  long double multiply_adds =
      real(features) * real(batch) * real(extent(result, dims.output_feature));
  const std::size_t spatial = std::min({attrs.window.size(), dims.input_spatial.size(),
                                        dims.kernel_spatial.size(), dims.output_spatial.size()});
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowDim window = attrs.window[i];
    window.size = extent(kernel, dims.kernel_spatial[i]);
    multiply_adds *= real(valid_positions(extent(input, dims.input_spatial[i]),
                                          extent(result, dims.output_spatial[i]), window));
  }
  return saturated(2 * multiply_adds);
}

float dot_flops(const DotDims& dims, std::size_t skipped_result_dims, const Shape& lhs,
                const Shape& result) {
  long double multiply_adds = 1;
  for (std::size_t i = skipped_result_dims; i < result.dims.size(); ++i) {
    multiply_adds *= real(result.dims[i]);
  }
  for (const std::int64_t dim : dims.lhs_contracting) {
    multiply_adds *= real(extent(lhs, dim));
  }
  return saturated(2 * multiply_adds);
}

}  // namespace

std::int64_t valid_positions(std::int64_t input_size, std::int64_t output_size,
                             const WindowDim& window) {
  require_extent(input_size, 0, "input size");
  require_extent(output_size, 0, "output size");
  require_extent(window.size, 0, "size");
  require_extent(window.stride, 1, "stride");
  require_extent(window.base_dilation, 1, "lhs_dilate");
  require_extent(window.window_dilation, 1, "rhs_dilate");
  require_extent(window.pad_low, -kMaxWindowExtent, "low padding");
  if (input_size == 0 || output_size == 0 || window.size == 0) return 0;
  const Wide s = window.stride, d = window.window_dilation, p = window.pad_low;
  const auto q = solve(s, d, p, window.base_dilation);
  if (!q) return 0;
  const Wide last_output = output_size - 1;
  const Wide c =
      p + Wide{window.base_dilation} * (input_size - 1);  // last real input, as s*o + d*k
  // The range of x whose k has valid output positions.
  const Wide k_low = std::max<Wide>(0, ceil_div(p - s * last_output, d));
  const Wide k_high = std::min<Wide>(window.size - 1, floor_div(c, d));
  const Wide from = std::max<Wide>(0, ceil_div(k_low - q->k0, q->alpha));
  const Wide to = floor_div(k_high - q->k0, q->alpha) + 1;
  if (from >= to) return 0;
  // Upper limit: the last output position up to x = high_turn, then the end of the input. Lower
  // limit: the start of the input up to x = low_turn, then the first output position.
  const auto turn = [&](Wide bound) {
    return std::clamp(floor_div(floor_div(bound, d) - q->k0, q->alpha) + 1, from, to);
  };
  const Wide high_turn = turn(c - s * last_output);
  const Wide low_turn = turn(p - 1);
  const Wide count = sum_flat(*q, last_output, from, high_turn) +
                     sum_sloped(*q, s, d, c, high_turn, to) -
                     sum_sloped(*q, s, d, p - 1, from, low_turn) - sum_flat(*q, -1, low_turn, to);
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count, kMax));
}

float matrix_flops(Opcode opcode, const OpAttrs& attrs, const Shape& lhs, const Shape& rhs,
                   const Shape& result) {
  if (const auto* conv = attrs.get<ConvAttrs>(); conv != nullptr) {
    return opcode == Opcode::kConvolution ? convolution_flops(*conv, lhs, rhs, result) : 0;
  }
  const auto* dot = attrs.get<DotAttrs>();
  if (dot == nullptr) return 0;
  // With groups along the contracting dimension, each group produces its own result from its part,
  // so every part counts once.
  const bool group_results =
      opcode == Opcode::kRaggedDot && dot->dims.rhs_group.empty() &&
      std::ranges::count(dot->dims.lhs_contracting, dot->dims.lhs_ragged[0]) > 0;
  return dot_flops(dot->dims, group_results ? 1 : 0, lhs, result);
}

}  // namespace tilecast::ir
