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
// Replaces the bytes in `counts` with those that a gather or scatter touches.
void count_gather(const CountedOp& op, WorkCounts& counts);
void count_scatter(const CountedOp& op, WorkCounts& counts);

// Work of reduce, reduce-window, select-and-scatter and scan (ir/counts/reduction_counts.cpp).
void count_reduction(const CountedOp& op, WorkCounts& counts);
// Adds the work of called computation `callee`, applied `times` times.
void add_applied(const CountedOp& op, std::size_t callee, float times, WorkCounts& counts);

// Number of elements of an array, or of the first array of a tuple.
[[nodiscard]] std::int64_t first_result_elements(const Shape& shape);
void set_operand(WorkCounts& counts, std::size_t i, long double bytes);

// Counts of a fusion: the work of its callee, and bytes according to how its parameters are used
// (ir/fusion/fusion_bytes.cpp).
[[nodiscard]] WorkCounts count_fusion(const CountedOp& op);

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
