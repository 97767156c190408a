// Integer operations on single values, wrapping as XLA's evaluator does.
#pragma once

#include <cstdint>

#include "ir/counts/trip_count.h"

namespace tilecast::ir {

// The number that the low bits(type) bits of `bits` are; unknown for u64 from 2^63.
[[nodiscard]] ScalarValue integer_value(DType type, std::uint64_t bits);
// Whether scalar_result() knows the opcode.
[[nodiscard]] bool has_scalar_value(Opcode opcode);
// `op` of one element, by its operands' values; an operand that is a loop state's element plus a
// number makes another such, or a comparison that is not decided.
[[nodiscard]] ScalarValue scalar_result(const Instruction& op, const ScalarValues& operands);
// Whether `value` is a number of the type.
[[nodiscard]] bool fits(__int128 value, DType type);

}  // namespace tilecast::ir
