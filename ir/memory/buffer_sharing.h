// Which results an op may write over one of its operands.
//
// In place, whatever the operand is: dynamic-update-slice and scatter (alone, or at the root of a
// fusion, also one that is started asynchronously, and one after the other), all-reduce, declared
// output_to_operand_aliasing. Elementwise ops, but copies, and fusions that are elementwise on that
// operand, with equal shapes and layouts: only where the operand itself makes the array. After
// XLA's HloDataflowAnalysis::CanShareOperandBufferWithUser and HeapSimulator (openxla/xla, public
// source); of what HeapSimulator shares XLA:TPU's assignments show the last condition.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct BufferShare {
  std::size_t output = 0;        // leaf of the op's shape
  std::size_t operand = 0;       // of the op
  std::size_t operand_leaf = 0;  // of that operand's shape
  bool in_place = true;          // false: only where the operand makes the array
};

// Leaves of `shape` before the one at `index`, depth first; nothing where there is none.
[[nodiscard]] std::optional<std::size_t> leaf_at(const Shape& shape, const Dims& index);

// Remembers fused computations; one per thread.
class BufferSharing {
 public:
  explicit BufferSharing(const Module& module) : module_(module) {}
  // May name one output or operand several times: the first that can be had is meant.
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
