// Element types of HLO, their widths and their names in HLO text (specs: XLA's primitive types).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilecast::ir {

enum class DType : std::uint8_t {
  kInvalid,
  kPred,
  kS1,
  kS2,
  kS4,
  kS8,
  kS16,
  kS32,
  kS64,
  kU1,
  kU2,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
  kF4E2M1FN,
  kF8E3M4,
  kF8E4M3,
  kF8E4M3B11FNUZ,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
  kToken,
  kOpaque,
  kTuple,
  kBuffer,
};

// "bf16", "f8e4m3fn", ...
[[nodiscard]] std::string_view name(DType dtype);
// The type spelled `text`; "opaque_type" is accepted for opaque. Nothing when unknown.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);

// Width in bits: pred 8, u4 4, c64 64; 0 for token, opaque, tuple, buffer and invalid.
[[nodiscard]] int bits(DType dtype);
// Bytes an element takes in a buffer when the layout has no E(bits): sub-byte types take one byte.
[[nodiscard]] int storage_bytes(DType dtype);

[[nodiscard]] bool is_floating(DType dtype);  // f8 .. f64, bf16; not complex
[[nodiscard]] bool is_signed_integer(DType dtype);
[[nodiscard]] bool is_unsigned_integer(DType dtype);
[[nodiscard]] bool is_complex(DType dtype);
[[nodiscard]] inline bool is_integer(DType dtype) {
  return is_signed_integer(dtype) || is_unsigned_integer(dtype);
}
[[nodiscard]] inline bool is_array_element(DType dtype) {
  return bits(dtype) != 0;
}

}  // namespace tilecast::ir
