// Prints the attributes of an instruction, each as `, key=value`, in the order of XLA's printer:
// those of the opcode, called computations, then those common to all instructions. Unknown
// attributes follow the opcode's, as written. Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir {

// `wrapped`: the instruction wrapped by an async-start that is printed as `<op>-start`, or null.
void append_attributes(std::string& out, const Module& module, const Computation& computation,
                       const Instruction& instruction, const Instruction* wrapped,
                       const PrintOptions& options);

// Only the attributes of the opcode and unknown raw ones; no called computations.
void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction);

// `{{0}: (1, {}), ...}` without the outer braces.
void append_aliases(std::string& out, const std::vector<Alias>& aliases, bool with_kind);

}  // namespace tilecast::ir
