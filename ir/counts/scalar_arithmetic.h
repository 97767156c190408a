// Integer operations on scalars that wrap around as in XLA's evaluator.
#pragma once

#include <cstdint>

#include "ir/counts/trip_count.h"

namespace tilecast::ir {

// Decodes the low bits(type) bits of `bits`; unknown for u64 values of 2^63 and above.
[[nodiscard]] ScalarValue integer_value(DType type, std::uint64_t bits);
// Whether scalar_result() knows the opcode.
[[nodiscard]] bool has_scalar_value(Opcode opcode);
// The value of the scalar `op` from its operands' values. If an operand is symbolic (a loop-state
// element plus a number), the result is symbolic too, or an undecided comparison.
[[nodiscard]] ScalarValue scalar_result(const Instruction& op, const ScalarValues& operands);
// Whether `value` is representable in the type.
[[nodiscard]] bool fits(__int128 value, DType type);

}  // namespace tilecast::ir
