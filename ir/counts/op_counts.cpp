#include "ir/counts/op_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/ops/op_row.h"

namespace tilecast::ir {
namespace {

constexpr long double kFmaFlops = 2;

// The saturated sum of `of(leaf)`.
template <class Of>
std::int64_t sum_of_leaves(const Shape& shape, Of&& of) {
  std::int64_t sum = 0;
  for_each_leaf(shape, [&](const Shape& leaf) {
    if (__builtin_add_overflow(sum, of(leaf), &sum)) sum = std::numeric_limits<std::int64_t>::max();
  });
  return sum;
}

std::int64_t elements_of_all_leaves(const Shape& shape) {
  return sum_of_leaves(shape,
                       [](const Shape& leaf) { return leaf.is_array() ? element_count(leaf) : 0; });
}

std::int64_t bytes_of_all_leaves(const CountedOp& op, const Shape& shape) {
  return sum_of_leaves(shape, [&](const Shape& leaf) { return op.counter.shape_bytes(leaf); });
}

// True if the elements stay in the same order in memory, so that the permutation only renames
// dimensions.
bool is_bitcast_transpose(const CountedOp& op) {
  if (op.operand_count() != 1) return false;
  const Shape& from = op.operand_shape(0);
  const Shape& to = op.op.shape;
  if (!from.layout || !to.layout || from.dtype != to.dtype) return false;
  const Dims& from_order = from.layout->minor_to_major;
  const Dims& to_order = to.layout->minor_to_major;
  if (from_order.size() != to_order.size()) return false;
  for (std::size_t i = 0; i < to_order.size(); ++i) {
    const auto dim = static_cast<std::size_t>(to_order[i]);
    if (dim >= op.op.dimensions.size() || op.op.dimensions[dim] != from_order[i]) return false;
  }
  return true;
}

void keep_larger(WorkCounts& a, const WorkCounts& b) {
  a.flops = std::max(a.flops, b.flops);
  a.transcendentals = std::max(a.transcendentals, b.transcendentals);
  a.bytes_accessed = std::max(a.bytes_accessed, b.bytes_accessed);
  a.output_bytes = std::max(a.output_bytes, b.output_bytes);
  a.optimal_s = std::max(a.optimal_s, b.optimal_s);
  const std::size_t both = std::min(a.operand_bytes.size(), b.operand_bytes.size());
  for (std::size_t i = 0; i < both; ++i) {
    a.operand_bytes[i] = std::max(a.operand_bytes[i], b.operand_bytes[i]);
  }
  a.operand_bytes.insert(a.operand_bytes.end(), b.operand_bytes.begin() + both,
                         b.operand_bytes.end());
}

}  // namespace

void count_nothing(const CountedOp&, WorkCounts& counts) {
  counts.bytes_accessed = 0;
  counts.output_bytes = 0;
  std::fill(counts.operand_bytes.begin(), counts.operand_bytes.end(), 0.0F);
}

void count_slice(const CountedOp& op, WorkCounts& counts) {
  const auto moved = real(op.result_size());
  counts.bytes_accessed = saturated(2 * moved + real(op.operand_size(1)));
  counts.output_bytes = saturated(moved);
  set_operand(counts, 0, moved);
}

void count_dynamic_update_slice(const CountedOp& op, WorkCounts& counts) {
  const auto update = real(op.operand_size(1));
  counts.bytes_accessed = saturated(2 * update + real(op.operand_size(2)));
  counts.output_bytes = saturated(update);
  set_operand(counts, 0, 0);
  set_operand(counts, 1, update);
}

void count_all_reduce(const CountedOp& op, WorkCounts& counts) {
  auto bytes = real(bytes_of_all_leaves(op, op.op.shape));
  counts.flops = saturated(real(elements_of_all_leaves(op.op.shape)));
  counts.output_bytes = saturated(bytes);
  for (std::size_t i = 0; i < op.operand_count(); ++i) {
    bytes += real(op.operand_size(i));
  }
  counts.bytes_accessed = saturated(bytes);
}

void count_triangular_solve(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() < 2) return;
  const Shape& a = op.operand_shape(0);
  const long double half_a = real(op.operand_size(0)) / 2;
  set_operand(counts, 0, half_a);
  counts.bytes_accessed = saturated(real(op.result_size()) + half_a + real(op.operand_size(1)));
  counts.flops = saturated(linear_algebra_flops(op.op.opcode, op.op.attrs, a, op.operand_shape(1)));
}

void count_cholesky(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() == 0) return;
  const Shape& a = op.operand_shape(0);
  const auto bytes = real(op.operand_size(0));
  set_operand(counts, 0, bytes / 2);
  counts.output_bytes = saturated(bytes / 2);
  counts.bytes_accessed = saturated(bytes);
  counts.flops = saturated(std::floor(linear_algebra_flops(op.op.opcode, op.op.attrs, a, a)));
}

void count_fft(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() == 0) return;
  const Shape& input = op.operand_shape(0);
  counts.flops = saturated(linear_algebra_flops(op.op.opcode, op.op.attrs, input, input));
}

void count_sort(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() == 0) return;
  const std::int64_t n = element_count(op.operand_shape(0));
  const int ceil_log2 = n > 1 ? std::bit_width(static_cast<std::uint64_t>(n - 1)) : 0;
  counts.flops = saturated(real(n) * ceil_log2);
}

void count_infeed(const CountedOp& op, WorkCounts& counts) {
  counts.output_bytes = saturated(real(bytes_of_all_leaves(op, op.op.shape)));
  counts.bytes_accessed = counts.output_bytes;
}

void count_outfeed(const CountedOp& op, WorkCounts& counts) {
  counts.bytes_accessed = 0;
  for (std::size_t i = 0; i < op.operand_count(); ++i) {
    const auto bytes = real(bytes_of_all_leaves(op, op.operand_shape(i)));
    set_operand(counts, i, bytes);
    counts.bytes_accessed = saturated(counts.bytes_accessed + bytes);
  }
}

WorkCounts count_unknown(const CountedOp& op) {
  WorkCounts counts;
  counts.flops = counts.bytes_accessed = counts.output_bytes = counts.optimal_s = -1;
  counts.operand_bytes.assign(op.operand_count(), -1.0F);
  return counts;
}

WorkCounts count_callee(const CountedOp& op) {
  return op.op.called.empty() ? default_counts(op) : op.counter.total(op.op.called[0]);
}

WorkCounts count_while(const CountedOp& op) {
  if (op.op.called.empty()) return default_counts(op);
  WorkCounts counts;
  for (const ComputationId id : op.op.called) add_counts(counts, op.counter.total(id));
  return counts;
}

WorkCounts count_conditional(const CountedOp& op) {
  WorkCounts counts = count_callee(op);
  for (const ComputationId id : op.op.called) keep_larger(counts, op.counter.total(id));
  return counts;
}

void count_transpose(const CountedOp& op, WorkCounts& counts) {
  if (is_bitcast_transpose(op)) count_nothing(op, counts);
}

void count_broadcast(const CountedOp& op, WorkCounts& counts) {
  if (!op.counter.options().count_multiple_input_accesses) return;
  set_operand(counts, 0, real(op.result_size()));
}

void count_random(const CountedOp& op, WorkCounts& counts) {
  counts.transcendentals = saturated(real(elements_of_all_leaves(op.op.shape)));
}

void count_tuple(const CountedOp& op, WorkCounts& counts) {
  count_nothing(op, counts);
  counts.output_bytes = counts.bytes_accessed = saturated(real(op.result_size()));
}

void count_elements(const CountedOp& op, WorkCounts& counts) {
  counts.flops = static_cast<float>(first_result_elements(op.op.shape));
}

void count_transcendentals(const CountedOp& op, WorkCounts& counts) {
  counts.transcendentals = static_cast<float>(first_result_elements(op.op.shape));
}

void count_map(const CountedOp& op, WorkCounts& counts) {
  add_applied(op, 0, static_cast<float>(first_result_elements(op.op.shape)), counts);
}

void count_product(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() < 2) return;
  counts.flops = matrix_flops(op.op.opcode, op.op.attrs, op.operand_shape(0), op.operand_shape(1),
                              op.op.shape);
}

double linear_algebra_flops(Opcode opcode, const OpAttrs& attrs, const Shape& a, const Shape& b) {
  const double n = a.dims.empty() ? 1 : static_cast<double>(a.dims.back());
  if (opcode == Opcode::kTriangularSolve) {
    return kFmaFlops * n * static_cast<double>(element_count(b));
  }
  const auto elements = static_cast<double>(element_count(a));
  if (opcode == Opcode::kCholesky) return n * elements / 3;
  const auto* fft = attrs.get<FftAttrs>();
  if (opcode != Opcode::kFft || fft == nullptr) return 0;
  constexpr double kFmasPerComplexMultiply = 4;
  double factors = 1;
  for (const std::int64_t length : fft->length) {
    factors *= length > 0 ? std::bit_width(static_cast<std::uint64_t>(length)) - 1 : 0;
  }
  return kFmaFlops * kFmasPerComplexMultiply * factors * elements;
}

std::int64_t first_result_elements(const Shape& shape) {
  return element_count(shape.is_tuple() && !shape.elements.empty() ? shape.elements.front()
                                                                   : shape);
}

void set_operand(WorkCounts& counts, std::size_t i, long double bytes) {
  if (i < counts.operand_bytes.size()) counts.operand_bytes[i] = saturated(bytes);
}

float saturated(long double value) {
  constexpr long double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

void add_counts(WorkCounts& sum, const WorkCounts& term) {
  const auto add = [](float& a, float b) { a = saturated(real(a + b)); };
  add(sum.flops, term.flops);
  add(sum.transcendentals, term.transcendentals);
  add(sum.bytes_accessed, term.bytes_accessed);
  add(sum.output_bytes, term.output_bytes);
  add(sum.optimal_s, term.optimal_s);
  if (sum.operand_bytes.size() < term.operand_bytes.size()) {
    sum.operand_bytes.resize(term.operand_bytes.size());
  }
  for (std::size_t i = 0; i < term.operand_bytes.size(); ++i) {
    add(sum.operand_bytes[i], term.operand_bytes[i]);
  }
}

WorkCounts default_counts(const CountedOp& op) {
  WorkCounts counts;
  counts.output_bytes = saturated(real(op.counter.options().tuple_result_as_pointer_table
                                           ? op.result_size()
                                           : bytes_of_all_leaves(op, op.op.shape)));
  counts.bytes_accessed = counts.output_bytes;
  counts.operand_bytes.reserve(op.operand_count());
  for (std::size_t i = 0; i < op.operand_count(); ++i) {
    const auto bytes = static_cast<float>(op.operand_size(i));
    counts.operand_bytes.push_back(bytes);
    counts.bytes_accessed = saturated(real(counts.bytes_accessed + bytes));
  }
  return counts;
}

void count_gather(const CountedOp& op, WorkCounts& counts) {
  const auto out = real(op.result_size());
  const auto indices = real(op.operand_size(1));
  counts.bytes_accessed = saturated(2 * out + indices);
  counts.output_bytes = saturated(out);
  set_operand(counts, 0, out);
  set_operand(counts, 1, indices);
}

void count_scatter(const CountedOp& op, WorkCounts& counts) {
  const std::size_t n = op.operand_count() / 2;  // n operands, one array of indices, n updates
  if (op.operand_count() != 2 * n + 1 || n == 0) return;
  long double updates = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto update = real(op.operand_size(n + 1 + i));
    set_operand(counts, i, update);
    set_operand(counts, n + 1 + i, update);
    updates += update;
  }
  const auto indices = real(op.operand_size(n));
  set_operand(counts, n, indices);
  counts.bytes_accessed = saturated(3 * updates + indices);
  counts.output_bytes = saturated(updates);
  add_applied(op, 0, static_cast<float>(element_count(op.operand_shape(n + 1))), counts);
}

WorkCounts count_op(const CountedOp& op) {
  const auto rule = op_row(op.op.opcode).count;
  return rule == nullptr ? default_counts(op) : rule(op);
}

// Counts ops that apply a computation: reduce, reduce-window, select-and-scatter, scan.

namespace {

long double window_elements(const Window& window) {
  long double product = 1;
  for (const WindowDim& dim : window) product *= real(dim.size);
  return product;
}

// For a reduce-window that covers all of one dimension at every position, and so equals a reduce
// followed by a broadcast: that dimension.
std::optional<std::size_t> reduce_then_broadcast_dim(const Shape& result, const Window& window) {
  if (!result.is_array()) return std::nullopt;
  const auto reduces = [](const WindowDim& d) { return d.size != 1; };
  const auto pads = [](const WindowDim& d) { return d.pad_low != 0 || d.pad_high != 0; };
  if (std::count_if(window.begin(), window.end(), reduces) != 1) return std::nullopt;
  if (std::count_if(window.begin(), window.end(), pads) != 1) return std::nullopt;
  const auto it = std::find_if(window.begin(), window.end(), reduces);
  const auto dim = static_cast<std::size_t>(it - window.begin());
  const bool spans = it->pad_low != 0 && it->pad_low == it->pad_high && it->pad_low < it->size &&
                     it->size - it->pad_low == it->pad_low + 1;
  if (!spans || dim >= result.dims.size() || it->pad_low != result.dims[dim] - 1) {
    return std::nullopt;
  }
  return dim;
}

}  // namespace

void count_reduce_window(const CountedOp& op, WorkCounts& counts) {
  const auto* attrs = op.op.get<WindowAttrs>();
  if (attrs == nullptr || op.operand_count() == 0) return;
  const auto outputs = real(first_result_elements(op.op.shape));
  long double per_output = window_elements(attrs->window);
  long double times = (per_output - 1) * outputs;
  if (const auto dim = reduce_then_broadcast_dim(op.op.shape, attrs->window)) {
    per_output = real(op.op.shape.dims[*dim]);
    times = outputs / per_output + per_output - 1;
  }
  if (op.counter.options().count_multiple_input_accesses) {
    set_operand(counts, 0, outputs * per_output * storage_bytes(op.operand_shape(0).dtype));
  }
  add_applied(op, 0, saturated(times), counts);
}

void count_select_and_scatter(const CountedOp& op, WorkCounts& counts) {
  const auto* attrs = op.op.get<WindowAttrs>();
  if (attrs == nullptr || op.operand_count() < 2) return;
  const auto sources = real(element_count(op.operand_shape(1)));
  add_applied(op, 0, saturated(sources * (window_elements(attrs->window) - 1)), counts);
  add_applied(op, 1, saturated(sources), counts);
}

void add_applied(const CountedOp& op, std::size_t callee, float times, WorkCounts& counts) {
  if (callee >= op.op.called.size()) return;
  const WorkCounts& applied = op.counter.total(op.op.called[callee]);
  counts.flops = saturated(real(counts.flops) + applied.flops * times);
  counts.transcendentals =
      saturated(real(counts.transcendentals) + applied.transcendentals * times);
}

void count_scan(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() < 2) return;
  add_applied(op, 0, static_cast<float>(first_result_elements(op.operand_shape(1))), counts);
}

void count_reduce(const CountedOp& op, WorkCounts& counts) {
  if (op.operand_count() == 0) return;
  const std::int64_t in = first_result_elements(op.operand_shape(0));
  add_applied(op, 0, static_cast<float>(in - first_result_elements(op.op.shape)), counts);
}

// Counts the multiply-adds of convolutions and dots.
//
// One convolution dimension: kernel position k in [0, K) and output position o in [0, O) touch the
// dilated input at u = s*o + d*k - p, which is real input when b | u and 0 <= u <= b*(I-1). XLA
// loops over all K*O pairs. Here the solutions of b | u are arithmetic progressions,
//   k = k0 + alpha*x,   o = r0 + beta*x + gamma*y,
// so that the number of y for each x is a difference of floors of linear functions of x, and their
// sums over x are floor sums: O(log) in every size.

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

namespace {

constexpr std::int64_t kPointerBytes = 8;

bool every_leaf_has_layout(const Shape& shape) {
  bool all = true;
  for_each_leaf(shape, [&](const Shape& leaf) { all &= leaf.has_layout() || !leaf.is_array(); });
  return all;
}

std::int64_t default_shape_bytes(const Shape& shape) {
  if (shape.is_tuple()) return kPointerBytes * static_cast<std::int64_t>(shape.elements.size());
  if (shape.is_token()) return 0;
  if (shape.dtype == DType::kOpaque) return kPointerBytes;
  return unpadded_bytes(shape);
}

// Time of one resource; 0 if it is not used or has no rate.
float resource_time(float amount, float per_second, float min_latency) {
  if (amount == 0 || per_second <= 0) return 0;
  return std::max(amount / per_second, min_latency);
}

float bottleneck_time(const WorkCounts& counts, const WorkCountOptions& o) {
  return std::max({0.0F, resource_time(counts.flops, o.flops_per_s, o.flops_min_latency_s),
                   resource_time(counts.bytes_accessed, o.bytes_per_s, o.bytes_min_latency_s),
                   resource_time(counts.transcendentals, o.transcendentals_per_s,
                                 o.transcendentals_min_latency_s)});
}

class DepthGuard {
 public:
  DepthGuard(int& depth, const std::string& computation) : depth_(depth) {
    if (depth_ >= WorkCounter::kMaxCallDepth) {
      throw Error("computation " + computation +
                  ": calls nest too deep or recursively; expected "
                  "at most " +
                  std::to_string(WorkCounter::kMaxCallDepth) + " levels");
    }
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace

WorkCounter::WorkCounter(const Module& module, WorkCountOptions options)
    : module_(module), options_(options) {}

std::int64_t WorkCounter::shape_bytes(const Shape& shape) const {
  if (!every_leaf_has_layout(shape)) return 0;
  return options_.shape_bytes != nullptr ? options_.shape_bytes(shape) : default_shape_bytes(shape);
}

WorkCounts WorkCounter::of(ComputationId computation, InstrId instruction) {
  const Computation& body = module_.at(computation);
  const Instruction& op = body.at(instruction);
  WorkCounts counts = count_op({module_, body, op, *this});
  // Others are free, or have the time of their callees.
  if (!has(op.opcode, Trait::kUntimed)) counts.optimal_s = bottleneck_time(counts, options_);
  return counts;
}

const WorkCounts& WorkCounter::total(ComputationId computation) {
  if (const auto known = totals_.find(computation.value); known != totals_.end()) {
    return known->second;
  }
  const Computation& body = module_.at(computation);
  const DepthGuard guard(depth_, body.name);
  WorkCounts sum;
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    add_counts(sum, of(computation, InstrId(i)));
  }
  return totals_.emplace(computation.value, std::move(sum)).first->second;
}

}  // namespace tilecast::ir
