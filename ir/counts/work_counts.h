// The work of a computation, counted exactly as by XLA's HloCostAnalysis. Counts are properties of
// the program; analytical/ turns them into times. The rules per opcode are in
// ir/counts/op_counts.cpp, those for fusions in ir/fusion/fusion_bytes.cpp.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <unordered_map>

#include "ir/hlo.h"

namespace tilecast::ir {

// 32-bit floats as in XLA, so that the numbers are equal. -1 = unknown (custom-call). Counts too
// large for a float saturate at its maximum.
struct WorkCounts {
  float flops = 0;  // a multiply-add is 2
  float transcendentals = 0;
  float bytes_accessed = 0;                                // total; operands + result, XLA's rules
  boost::container::small_vector<float, 4> operand_bytes;  // per operand, its leaves summed
  float output_bytes = 0;
  float optimal_s = 0;  // only if rates are configured
};

struct WorkCountOptions {
  // Size of a shape in bytes; the default is unpadded, with an 8-byte pointer per tuple element.
  std::int64_t (*shape_bytes)(const Shape&) = nullptr;
  bool count_multiple_input_accesses = false;
  // XLA up to 2025: a tuple result counts as its pointer table, not as the sum of its leaves.
  bool tuple_result_as_pointer_table = false;
  float flops_per_s = 0, bytes_per_s = 0, transcendentals_per_s = 0;  // 0 = not configured
  float flops_min_latency_s = 0, bytes_min_latency_s = 0, transcendentals_min_latency_s = 0;
};

// Walks each called computation once and caches its sum. The module must be verified and outlive
// the counter. Not thread-safe: use one counter per thread. Throws Error if computations nest
// deeper than kMaxCallDepth or sizes exceed 2^62 bytes.
class WorkCounter {
 public:
  explicit WorkCounter(const Module& module, WorkCountOptions options = {});
  [[nodiscard]] WorkCounts of(ComputationId computation, InstrId instruction);
  // Sum over the computation, including dead instructions.
  [[nodiscard]] const WorkCounts& total(ComputationId computation);

  // Size of `shape` according to the options; 0 for shapes without a layout, as in XLA.
  [[nodiscard]] std::int64_t shape_bytes(const Shape& shape) const;
  [[nodiscard]] const WorkCountOptions& options() const { return options_; }

  static constexpr int kMaxCallDepth = 256;

 private:
  const Module& module_;
  WorkCountOptions options_;
  std::unordered_map<std::uint32_t, WorkCounts> totals_;  // by computation
  int depth_ = 0;
};

// (kernel position, output position) pairs of one convolution dimension that touch real input, not
// padding or dilation holes. O(log) in every size; saturates at INT64_MAX. Throws Error for sizes,
// strides, dilations or paddings beyond 2^40 and for strides and dilations below 1.
[[nodiscard]] std::int64_t valid_positions(std::int64_t input_size, std::int64_t output_size,
                                           const WindowDim& window);

// FLOPs of a convolution, dot, scaled-dot or ragged-dot by XLA's rules, except that all rows of a
// ragged-dot are counted (XLA omits its first result dimension); 0 for other opcodes.
[[nodiscard]] float matrix_flops(Opcode opcode, const OpAttrs& attrs, const Shape& lhs,
                                 const Shape& rhs, const Shape& result);

// FLOPs of an fft, cholesky or triangular-solve of `a` (and the right sides `b`) by XLA's rules: 8
// n log2(n) per transform, n^3 / 3, 2 n^2 per column; 0 for other opcodes.
[[nodiscard]] double linear_algebra_flops(Opcode opcode, const OpAttrs& attrs, const Shape& a,
                                          const Shape& b);

}  // namespace tilecast::ir
