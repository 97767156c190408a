// Part of the implementation of ir/stablehlo/stablehlo.h: one rule per op. A rule adds the op's
// instructions to the current computation and binds the op's results.
#pragma once

#include <span>
#include <string_view>

#include "ir/stablehlo/annotations.h"
#include "ir/stablehlo/lowering.h"

namespace tilecast::ir::stablehlo {

struct Rule {
  Opcode opcode;
  void (*lower)(Lowering& lowering, const Operation& op, Opcode opcode);
};

// The rule for an op such as "stablehlo.add"; null if HLO has no equivalent.
[[nodiscard]] const Rule* find_rule(std::string_view name);

// Lowers ops on quantised types; returns false if `op` has none. Arithmetic is done on dequantised
// values, products on the stored integers, as the specification allows.
[[nodiscard]] bool lower_quantised(Lowering& lowering, const Operation& op);

// Lowers an op of an unknown dialect to an opaque custom call of the same name, with a warning.
void lower_foreign(Lowering& lowering, const Operation& op);

// Converts a function of several blocks to a single block, with its loop as an op.
[[nodiscard]] mlir::Block structured(const Lowering& lowering, const Operation& function);

struct NamedRule {
  std::string_view names;  // separated by spaces; those without a dot belong to stablehlo and mhlo
  Rule rule;
};
// Tables that find_rule() combines with its own.
[[nodiscard]] std::span<const NamedRule>
window_rules();  // dot, convolution, gather, collectives ...
[[nodiscard]] std::span<const NamedRule> control_rules();  // calls, branches, loops, dynamic sizes

// Shared by several tables.
void lower_elementwise(Lowering& lowering, const Operation& op, Opcode opcode);
// Broadcasts `operand` to the shape `result`: its dimension i becomes dimension `dimensions[i]`,
// repeated if its size is 1.
[[nodiscard]] InstrId broadcast_in_dim(Lowering& lowering, const Operation& op, InstrId operand,
                                       const Dims& dimensions, Shape result);
void lower_reduce_window(Lowering& lowering, const Operation& op, Instruction made,
                         const Window& window);
[[nodiscard]] Window read_window_attributes(const Lowering& lowering, const Operation& op,
                                            const Dims& sizes);
void lower_top_k(Lowering& lowering, const Operation& op, std::int64_t k);

}  // namespace tilecast::ir::stablehlo
