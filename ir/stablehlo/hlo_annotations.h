// Reads what ir/stablehlo/conventions.h adds to StableHLO, for ir/stablehlo/lowering.h. Throws
// Error at the op. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ir/stablehlo/attribute_values.h"

namespace tilecast::ir::stablehlo {

// Whether we printed the module.
[[nodiscard]] bool is_printed(const Operation& module);
// The module's attributes from HLO's header; nothing of its computations.
void apply_header(const AttributeValues& values, const Operation& module, Module& into);

// What an op of the fallback form is; without operands and computations, which follow it.
[[nodiscard]] bool is_fallback(const Operation& op);
[[nodiscard]] Instruction fallback_instruction(const AttributeValues& values, const Operation& op);
[[nodiscard]] std::vector<std::string> called_names(const AttributeValues& values,
                                                    const Operation& op);
// Throws where the fallback has not the operands and computations that its opcode needs.
void check_fallback(const AttributeValues& values, const Operation& op,
                    const Computation& computation, const Instruction& instruction);

// The instruction of this name; throws where the computation has none yet.
[[nodiscard]] InstrId find_instruction(const AttributeValues& values, const Operation& op,
                                       const Computation& computation, const std::string& name);

// Of a function: "" where there is none.
[[nodiscard]] std::string execution_thread(const Operation& function);
// Name, shape, HLO attributes and control predecessors of the instruction that `op` became;
// `type`: that of its result, as a shape.
void apply_annotations(const AttributeValues& values, const Operation& op, const Shape& type,
                       Computation& computation, InstrId id);
// The same of argument `index` of a function.
void apply_argument(const AttributeValues& values, const Operation& function, std::size_t index,
                    std::string_view ssa_name, Instruction& parameter);

// Argument `number` of all regions of `op`.
void apply_region_argument(const AttributeValues& values, const Operation& op, std::size_t number,
                           Instruction& parameter);

}  // namespace tilecast::ir::stablehlo
