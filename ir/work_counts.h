// How much work a computation is, counted exactly as XLA's HloCostAnalysis counts it
// (specs/hlo.md 2.10). Counts are properties of the program; time is analytical/'s business.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

// XLA keeps these as 32-bit floats; so do we, to come out equal. -1 = unknown (custom-call).
struct WorkCounts {
  float flops = 0;            // a multiply-add is 2
  float transcendentals = 0;
  float bytes_accessed = 0;   // total; operands + result, XLA's rules
  std::vector<float> operand_bytes;  // per operand, all leaves of it summed
  float output_bytes = 0;
  float optimal_s = 0;        // only when rates are configured
};

struct WorkCountOptions {
  // Size of a shape in bytes; default is unpadded with an 8-byte pointer per tuple element.
  std::function<std::int64_t(const Shape&)> shape_bytes;
  bool count_multiple_input_accesses = false;
  float flops_per_s = 0, bytes_per_s = 0, transcendentals_per_s = 0;  // 0 = not configured
  float flops_min_latency_s = 0, bytes_min_latency_s = 0, transcendentals_min_latency_s = 0;
};

// Walks computations once and remembers the counts of every instruction.
class WorkCounter {
 public:
  explicit WorkCounter(const Module& module, WorkCountOptions options = {});
  [[nodiscard]] const WorkCounts& of(ComputationId computation, InstrId instruction);
  // Sum over the computation, dead instructions included.
  [[nodiscard]] WorkCounts total(ComputationId computation);
  // Sum over what the root reaches, as XLA's unit tests walk it.
  [[nodiscard]] WorkCounts total_from_root(ComputationId computation);

 private:
  const Module& module_;
  WorkCountOptions options_;
  std::vector<std::vector<std::optional<WorkCounts>>> done_;
};

// (kernel position, output position) pairs of one convolution dimension that touch real input.
[[nodiscard]] std::int64_t valid_positions(std::int64_t input_size, std::int64_t output_size,
                                           const WindowDim& window);

}  // namespace tilecast::ir
