// Builds the interior graph of one scheduled instruction: called fusions are inlined, tuples are
// resolved to their array leaves. Part of make_kernel() (ir/kernel.h); not thread-safe.
#pragma once

#include <map>

#include "ir/kernels/kernel_sources.h"

namespace tilecast::ir {

class KernelInliner {
 public:
  KernelInliner(const Module& module, ComputationId computation, const Instruction& instruction,
                WorkCounter& counter);
  // `worker` is the instruction itself, or the one wrapped by an async-start.
  [[nodiscard]] Kernel build(const Computation& where, const Instruction& worker, WorkCounts work);
  // The sources of the parameters; call after build().
  [[nodiscard]] std::vector<ArraySource> take_sources() { return std::move(sources_); }

 private:
  // One leaf of a value: an op of the kernel, an array defined outside and not used yet, or nothing
  // (token, opaque).
  struct Leaf {
    enum class Kind : std::uint8_t { kNone, kOp, kOutside } kind = Kind::kNone;
    std::uint32_t index = 0;
  };
  using Value = boost::container::small_vector<Leaf, 1>;  // all leaves, depth first
  struct Outside {
    InstrId id;
    const Instruction* instruction;
    const Shape* shape;
    std::size_t leaf;
    OpId op;  // once used
  };

  [[nodiscard]] std::size_t expected_ops() const;
  [[nodiscard]] Value outside_value(InstrId id);
  [[nodiscard]] OpId use(const Leaf& leaf);
  [[nodiscard]] Value inline_computation(ComputationId id, std::vector<Value> arguments, int depth);
  [[nodiscard]] Value inline_instruction(const Computation& computation,
                                         const Instruction& instruction,
                                         const std::vector<Value>& values,
                                         const std::vector<Value>& arguments, int depth);
  [[nodiscard]] Value add_op(const Instruction& instruction, const Shape& shape,
                             const std::vector<const Value*>& operands);
  [[nodiscard]] std::vector<OpId> outputs(const Value& result, const Shape& shape);
  void note_in_place(const std::vector<OpId>& outputs, const std::vector<Value>& operands);
  [[nodiscard]] std::optional<std::size_t> updated_parameter(OpId output) const;
  [[nodiscard]] std::optional<std::size_t> parameter_at(OpId id) const;
  void read_config(const Computation& where, const Instruction& instruction);

  const Module& module_;
  const Computation& caller_;
  const Instruction& instruction_;
  WorkCounter& counter_;
  KernelBuilder builder_;
  std::vector<Outside> outside_;
  std::vector<ArraySource> sources_;
  std::map<InstrId, std::size_t> first_outside_;  // operand -> index of its first entry in outside_
};

}  // namespace tilecast::ir
