// The attributes that belong to the opcode of an instruction, `, key=value` each, in the order of
// XLA's printer; then raw ones that no rule knows. Called computations are not among them.
// Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"

namespace tilecast::ir {

void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction);

}  // namespace tilecast::ir
