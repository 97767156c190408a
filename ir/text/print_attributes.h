// The attributes of one instruction, `, key=value` each, in the order of XLA's printer: those of
// the opcode, called computations, then those every instruction may have. Unknown ones come after
// the opcode's, as written. Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir {

// `wrapped` is what an async-start printed as `<op>-start` wraps, or null.
void append_attributes(std::string& out, const Module& module, const Computation& computation,
                       const Instruction& instruction, const Instruction* wrapped,
                       const PrintOptions& options);

// Of these, those of the opcode, then raw ones that no rule knows; no called computations.
void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction);

// `{{0}: (1, {}), ...}` without the outer braces.
void append_aliases(std::string& out, const std::vector<Alias>& aliases, bool with_kind);

}  // namespace tilecast::ir
