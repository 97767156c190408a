// The counting rule of each opcode (XLA HloCostAnalysis); internal to ir/counts/work_counts.h.
#pragma once

#include "ir/counts/work_counts.h"

namespace tilecast::ir {

// An instruction with its context, as seen by a counting rule.
struct CountedOp {
  const Module& module;
  const Computation& computation;
  const Instruction& op;
  WorkCounter& counter;

  [[nodiscard]] std::size_t operand_count() const { return op.operands.size(); }
  [[nodiscard]] const Shape& operand_shape(std::size_t i) const {
    return computation.at(op.operands.at(i)).shape;
  }
  [[nodiscard]] std::int64_t result_size() const { return counter.shape_bytes(op.shape); }
  // 0 if there is no such operand (indices of a rank-0 dynamic-slice).
  [[nodiscard]] std::int64_t operand_size(std::size_t i) const {
    return i < operand_count() ? counter.shape_bytes(operand_shape(i)) : 0;
  }
};

// The counts of one instruction, callees included.
[[nodiscard]] WorkCounts count_op(const CountedOp& op);
// The starting point of every rule: no work, and every operand and result byte accessed once.
[[nodiscard]] WorkCounts default_counts(const CountedOp& op);

// The rules of the table of ops (ir/ops/op_table.cpp), each by the opcode or class it is for. They
// change the default counts ...
void count_elements(const CountedOp& op, WorkCounts& counts);
void count_transcendentals(const CountedOp& op, WorkCounts& counts);
void count_map(const CountedOp& op, WorkCounts& counts);
void count_slice(const CountedOp& op, WorkCounts& counts);
void count_dynamic_update_slice(const CountedOp& op, WorkCounts& counts);
void count_transpose(const CountedOp& op, WorkCounts& counts);
void count_broadcast(const CountedOp& op, WorkCounts& counts);
void count_gather(const CountedOp& op, WorkCounts& counts);
void count_scatter(const CountedOp& op, WorkCounts& counts);
void count_product(const CountedOp& op, WorkCounts& counts);
void count_cholesky(const CountedOp& op, WorkCounts& counts);
void count_fft(const CountedOp& op, WorkCounts& counts);
void count_triangular_solve(const CountedOp& op, WorkCounts& counts);
void count_reduce(const CountedOp& op, WorkCounts& counts);
void count_reduce_window(const CountedOp& op, WorkCounts& counts);
void count_select_and_scatter(const CountedOp& op, WorkCounts& counts);
void count_scan(const CountedOp& op, WorkCounts& counts);
void count_sort(const CountedOp& op, WorkCounts& counts);
void count_random(const CountedOp& op, WorkCounts& counts);
void count_infeed(const CountedOp& op, WorkCounts& counts);
void count_outfeed(const CountedOp& op, WorkCounts& counts);
void count_all_reduce(const CountedOp& op, WorkCounts& counts);
void count_tuple(const CountedOp& op, WorkCounts& counts);
void count_nothing(const CountedOp& op, WorkCounts& counts);  // no bytes either
// ... or replace them.
[[nodiscard]] WorkCounts count_callee(const CountedOp& op);
[[nodiscard]] WorkCounts count_while(const CountedOp& op);        // condition and body, once each
[[nodiscard]] WorkCounts count_conditional(const CountedOp& op);  // largest branch, by property
[[nodiscard]] WorkCounts count_unknown(const CountedOp& op);      // -1
// By how the callee uses its parameters (ir/fusion/fusion_bytes.cpp).
[[nodiscard]] WorkCounts count_fusion(const CountedOp& op);

// Adds the work of called computation `callee`, applied `times` times.
void add_applied(const CountedOp& op, std::size_t callee, float times, WorkCounts& counts);

// Number of elements of an array, or of the first array of a tuple.
[[nodiscard]] std::int64_t first_result_elements(const Shape& shape);
void set_operand(WorkCounts& counts, std::size_t i, long double bytes);

// Counts are summed in this type so that 64-bit integers stay exact.
template <class Number>
[[nodiscard]] constexpr long double real(Number number) {
  return static_cast<long double>(number);
}
// Nearest float, at most the largest finite one.
[[nodiscard]] float saturated(long double value);
// Adds counts as floats, as XLA does (a -1 for "unknown" is added like any number). The result
// stays finite.
void add_counts(WorkCounts& sum, const WorkCounts& term);

}  // namespace tilecast::ir
