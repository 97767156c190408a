#include "ir/counts/op_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

void set_no_bytes(WorkCounts& counts) {
  counts.bytes_accessed = 0;
  counts.output_bytes = 0;
  std::fill(counts.operand_bytes.begin(), counts.operand_bytes.end(), 0.0F);
}

void count_slice(const CountedOp& op, WorkCounts& counts) {
  const auto moved = real(op.result_size());
  const bool dynamic = op.op.opcode == Opcode::kDynamicSlice;
  counts.bytes_accessed = saturated(2 * moved + (dynamic ? real(op.operand_size(1)) : 0));
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

void count_infeed_or_outfeed(const CountedOp& op, WorkCounts& counts) {
  if (op.op.opcode == Opcode::kInfeed) {
    counts.output_bytes = saturated(real(bytes_of_all_leaves(op, op.op.shape)));
    counts.bytes_accessed = counts.output_bytes;
    return;
  }
  counts.bytes_accessed = 0;
  for (std::size_t i = 0; i < op.operand_count(); ++i) {
    const auto bytes = real(bytes_of_all_leaves(op, op.operand_shape(i)));
    set_operand(counts, i, bytes);
    counts.bytes_accessed = saturated(counts.bytes_accessed + bytes);
  }
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

WorkCounts unknown_counts(std::size_t operands) {
  WorkCounts counts;
  counts.flops = counts.bytes_accessed = counts.output_bytes = counts.optimal_s = -1;
  counts.operand_bytes.assign(operands, -1.0F);
  return counts;
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

// while: condition and body, once each; conditional: the maximum over branches per property;
// others: the callee.
WorkCounts count_callees(const CountedOp& op) {
  WorkCounts counts;
  for (std::size_t i = 0; i < op.op.called.size(); ++i) {
    const WorkCounts& callee = op.counter.total(op.op.called[i]);
    if (op.op.opcode == Opcode::kWhile) {
      add_counts(counts, callee);
    } else if (i == 0) {
      counts = callee;
    } else if (op.op.opcode == Opcode::kConditional) {
      keep_larger(counts, callee);
    }
  }
  return counts;
}

void count_data_movement(const CountedOp& op, WorkCounts& counts) {
  using enum Opcode;
  const Opcode opcode = op.op.opcode;
  if (is_one_of(opcode, {kSlice, kDynamicSlice})) return count_slice(op, counts);
  if (opcode == kDynamicUpdateSlice) return count_dynamic_update_slice(op, counts);
  if (opcode == kTranspose && is_bitcast_transpose(op)) set_no_bytes(counts);
  if (opcode == kBroadcast && op.counter.options().count_multiple_input_accesses) {
    set_operand(counts, 0, real(op.result_size()));
  }
}

void count_random(const CountedOp& op, WorkCounts& counts) {
  if (op.op.opcode == Opcode::kRngGetAndUpdateState) return;
  counts.transcendentals = saturated(real(elements_of_all_leaves(op.op.shape)));
}

void count_linear_algebra(const CountedOp& op, WorkCounts& counts) {
  if (op.op.opcode == Opcode::kFft) return count_fft(op, counts);
  if (op.op.opcode == Opcode::kCholesky) return count_cholesky(op, counts);
  count_triangular_solve(op, counts);
}

void count_free(const CountedOp& op, WorkCounts& counts) {
  using enum Opcode;
  if (is_one_of(op.op.opcode, {kOptBarrier, kPartitionId, kReplicaId, kAsyncUpdate})) return;
  set_no_bytes(counts);
  if (op.op.opcode == kTuple) {
    counts.output_bytes = counts.bytes_accessed = saturated(real(op.result_size()));
  }
}

void count_arithmetic(const CountedOp& op, WorkCounts& counts) {
  const auto elements = static_cast<float>(first_result_elements(op.op.shape));
  if (op.op.opcode == Opcode::kMap) {
    add_applied(op, 0, elements, counts);
  } else if (op_class(op.op.opcode) == OpClass::kTranscendental) {
    counts.transcendentals = elements;
  } else {
    counts.flops = elements;
  }
}

}  // namespace

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
  if (op.op.opcode == Opcode::kFusion) return count_fusion(op);
  if (op_class(op.op.opcode) == OpClass::kControl && !op.op.called.empty()) {
    return count_callees(op);
  }
  if (op.op.opcode == Opcode::kCustomCall) return unknown_counts(op.operand_count());
  WorkCounts counts = default_counts(op);
  using enum OpClass;
  const OpClass work = op_class(op.op.opcode);
  if (work == kElementwise || work == kTranscendental) count_arithmetic(op, counts);
  if (work == kMatrix && op.operand_count() >= 2) {
    counts.flops = matrix_flops(op.op.opcode, op.op.attrs, op.operand_shape(0), op.operand_shape(1),
                                op.op.shape);
  }
  if (work == kReduction) count_reduction(op, counts);
  if (work == kDataMovement) count_data_movement(op, counts);
  if (op.op.opcode == Opcode::kGather) count_gather(op, counts);
  if (op.op.opcode == Opcode::kScatter) count_scatter(op, counts);
  if (op.op.opcode == Opcode::kSort) count_sort(op, counts);
  if (work == kRandom) count_random(op, counts);
  if (work == kLinearAlgebra) count_linear_algebra(op, counts);
  if (work == kHost) count_infeed_or_outfeed(op, counts);
  if (work == kFree) count_free(op, counts);
  if (is_one_of(op.op.opcode, {Opcode::kAllReduce, Opcode::kAllReduceStart})) {
    count_all_reduce(op, counts);
  }
  return counts;
}

}  // namespace tilecast::ir
