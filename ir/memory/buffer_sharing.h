// Finds the results that an op may write over one of its operands.
//
// Always in place: dynamic-update-slice and scatter (alone or at the root of a fusion, in chains,
// also if the fusion is started asynchronously), all-reduce, and declared
// output_to_operand_aliasing. Elementwise ops except copies, and fusions that are elementwise in
// the operand, with equal shapes and layouts: only if the operand itself produces the array.
// Source: XLA's HloDataflowAnalysis::CanShareOperandBufferWithUser and HeapSimulator (openxla/xla,
// public source); the last condition was observed in XLA:TPU's buffer assignments.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct BufferShare {
  std::size_t output = 0;        // leaf of the op's shape
  std::size_t operand = 0;       // operand of the op
  std::size_t operand_leaf = 0;  // leaf of that operand's shape
  bool in_place = true;          // false: only if the operand produces the array
};

// Caches the results for fused computations; not thread-safe.
class BufferSharing {
 public:
  explicit BufferSharing(const Module& module) : module_(module) {}
  // May list an output or operand several times; the first possible entry applies.
  [[nodiscard]] std::vector<BufferShare> shares(const Computation& computation,
                                                const Instruction& op);

 private:
  // Per output of a fused computation, the parameters it may overwrite.
  struct Overwritten {
    std::vector<std::size_t> parameters;
    bool in_place = false;
  };
  const std::vector<Overwritten>& of_fusion(ComputationId fused);

  const Module& module_;
  std::unordered_map<std::uint32_t, std::vector<Overwritten>> fusions_;
};

}  // namespace tilecast::ir
