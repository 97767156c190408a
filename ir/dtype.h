// Element types of HLO, their widths and their names in HLO text (specs: XLA's primitive types).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilecast::ir {

// Name in C++, name in HLO text, width in bits, family.
// clang-format off
#define TILECAST_DTYPES(X)                      \
  X(kInvalid, "invalid", 0, kNone)              \
  X(kPred, "pred", 8, kPred)                    \
  X(kS1, "s1", 1, kSigned)                      \
  X(kS2, "s2", 2, kSigned)                      \
  X(kS4, "s4", 4, kSigned)                      \
  X(kS8, "s8", 8, kSigned)                      \
  X(kS16, "s16", 16, kSigned)                   \
  X(kS32, "s32", 32, kSigned)                   \
  X(kS64, "s64", 64, kSigned)                   \
  X(kU1, "u1", 1, kUnsigned)                    \
  X(kU2, "u2", 2, kUnsigned)                    \
  X(kU4, "u4", 4, kUnsigned)                    \
  X(kU8, "u8", 8, kUnsigned)                    \
  X(kU16, "u16", 16, kUnsigned)                 \
  X(kU32, "u32", 32, kUnsigned)                 \
  X(kU64, "u64", 64, kUnsigned)                 \
  X(kF16, "f16", 16, kFloat)                    \
  X(kBF16, "bf16", 16, kFloat)                  \
  X(kF32, "f32", 32, kFloat)                    \
  X(kF64, "f64", 64, kFloat)                    \
  X(kC64, "c64", 64, kComplex)                  \
  X(kC128, "c128", 128, kComplex)               \
  X(kF4E2M1FN, "f4e2m1fn", 4, kFloat)           \
  X(kF8E3M4, "f8e3m4", 8, kFloat)               \
  X(kF8E4M3, "f8e4m3", 8, kFloat)               \
  X(kF8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, kFloat) \
  X(kF8E4M3FN, "f8e4m3fn", 8, kFloat)           \
  X(kF8E4M3FNUZ, "f8e4m3fnuz", 8, kFloat)       \
  X(kF8E5M2, "f8e5m2", 8, kFloat)               \
  X(kF8E5M2FNUZ, "f8e5m2fnuz", 8, kFloat)       \
  X(kF8E8M0FNU, "f8e8m0fnu", 8, kFloat)         \
  X(kToken, "token", 0, kNone)                  \
  X(kOpaque, "opaque", 0, kNone)                \
  X(kTuple, "tuple", 0, kNone)                  \
  X(kBuffer, "buffer", 0, kNone)
// clang-format on

enum class DType : std::uint8_t {
#define TILECAST_DTYPE_ENUM(id, text, bits, family) id,
  TILECAST_DTYPES(TILECAST_DTYPE_ENUM)
#undef TILECAST_DTYPE_ENUM
};

// "bf16", "f8e4m3fn", ...
[[nodiscard]] std::string_view name(DType dtype);
// The type spelled `text`; "opaque_type" is accepted for opaque. nullopt if unknown.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);

// Width in bits: pred 8, u4 4, c64 64; 0 for token, opaque, tuple, buffer and invalid.
inline constexpr std::array kTypeBits = {
#define TILECAST_DTYPE_BITS(id, text, bits, family) bits,
    TILECAST_DTYPES(TILECAST_DTYPE_BITS)
#undef TILECAST_DTYPE_BITS
};
[[nodiscard]] constexpr int bits(DType dtype) {
  return kTypeBits[static_cast<std::size_t>(dtype)];
}
// Bytes per element in a buffer when the layout has no E(bits): sub-byte types take one byte.
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
