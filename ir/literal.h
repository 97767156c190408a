// Prints literals as XLA does, and rounds numbers to narrow types.
//
//   canonical_float(3.14159265, DType::kF32)   "3.14159274"
//   canonical_float(1e9, DType::kF8E5M2)       "inf"; check representable() first
//
// Source: XLA's literal printer and RoundTripFpToString; formats of the 8-bit types as in
// ml_dtypes. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ir/dtype.h"
#include "ir/shape.h"

namespace tilecast::ir {

// `value` rounded to the nearest number of the floating-point type (ties to even); beyond its range
// infinite, even if the type has no infinity, or the largest number of a type that saturates.
// Complex types: rounded as one of their parts. Other types: unchanged.
[[nodiscard]] double round_to(double value, DType dtype);
// True if `value` is not finite, or stays finite when rounded.
[[nodiscard]] bool representable(double value, DType dtype);

// Decodes the low bits(dtype) bits of `pattern` as a number of the floating-point type. Complex
// types: one part.
[[nodiscard]] double from_bits(std::uint64_t pattern, DType dtype);

// The shortest of two precisions that reads back as the same number of `dtype`: 6 or 9 digits for
// f32, 15 or 17 for f64, max_digits10 for narrower types. Complex types: one part.
[[nodiscard]] std::string canonical_float(double value, DType dtype);

// Number of free bits in a NaN payload; 0 if the type has at most one NaN per sign.
[[nodiscard]] int nan_payload_bits(DType dtype);
// `nan`, `-nan`, `nan(0x7f)`; the payload of the default quiet NaN is not printed.
[[nodiscard]] std::string canonical_nan(bool negative, std::optional<std::uint64_t> payload,
                                        DType dtype);

// The text of the number encoded in the low bits(dtype) bits of `bits`, as in memory. Complex
// types: one part.
[[nodiscard]] std::string canonical_float_bits(std::uint64_t bits, DType dtype);

// Largest array, in elements, whose text is kept. Longer contents are printed as `{...}`.
inline constexpr std::int64_t kMostInText = std::int64_t{1} << 20;
// Whether an array of these sizes has at most kMostInText elements or, if it is empty, at most that
// many pairs of braces.
[[nodiscard]] bool fits_in_text(const Dims& dims);

// Appends `{ { 1, 2 }, { 3, 4 } }`, `{1, 2}` or, at rank 0, one element. `append_element` is called
// once per element in row-major order and appends its text. The caller bounds the element count.
void append_array_literal(std::string& out, const Dims& dims,
                          const std::function<void(std::string&)>& append_element);

}  // namespace tilecast::ir
