#include "ir/dtype.h"

#include <array>

namespace tilecast::ir {
namespace {

enum class Family : std::uint8_t { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
  Family family;
};

// In the order of the enumerators, so that the enumerator is the index.
constexpr std::array kTypes = {
    DTypeInfo{DType::kInvalid, "invalid", 0, Family::kNone},
    DTypeInfo{DType::kPred, "pred", 8, Family::kPred},
    DTypeInfo{DType::kS1, "s1", 1, Family::kSigned},
    DTypeInfo{DType::kS2, "s2", 2, Family::kSigned},
    DTypeInfo{DType::kS4, "s4", 4, Family::kSigned},
    DTypeInfo{DType::kS8, "s8", 8, Family::kSigned},
    DTypeInfo{DType::kS16, "s16", 16, Family::kSigned},
    DTypeInfo{DType::kS32, "s32", 32, Family::kSigned},
    DTypeInfo{DType::kS64, "s64", 64, Family::kSigned},
    DTypeInfo{DType::kU1, "u1", 1, Family::kUnsigned},
    DTypeInfo{DType::kU2, "u2", 2, Family::kUnsigned},
    DTypeInfo{DType::kU4, "u4", 4, Family::kUnsigned},
    DTypeInfo{DType::kU8, "u8", 8, Family::kUnsigned},
    DTypeInfo{DType::kU16, "u16", 16, Family::kUnsigned},
    DTypeInfo{DType::kU32, "u32", 32, Family::kUnsigned},
    DTypeInfo{DType::kU64, "u64", 64, Family::kUnsigned},
    DTypeInfo{DType::kF16, "f16", 16, Family::kFloat},
    DTypeInfo{DType::kBF16, "bf16", 16, Family::kFloat},
    DTypeInfo{DType::kF32, "f32", 32, Family::kFloat},
    DTypeInfo{DType::kF64, "f64", 64, Family::kFloat},
    DTypeInfo{DType::kC64, "c64", 64, Family::kComplex},
    DTypeInfo{DType::kC128, "c128", 128, Family::kComplex},
    DTypeInfo{DType::kF4E2M1FN, "f4e2m1fn", 4, Family::kFloat},
    DTypeInfo{DType::kF8E3M4, "f8e3m4", 8, Family::kFloat},
    DTypeInfo{DType::kF8E4M3, "f8e4m3", 8, Family::kFloat},
    DTypeInfo{DType::kF8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, Family::kFloat},
    DTypeInfo{DType::kF8E4M3FN, "f8e4m3fn", 8, Family::kFloat},
    DTypeInfo{DType::kF8E4M3FNUZ, "f8e4m3fnuz", 8, Family::kFloat},
    DTypeInfo{DType::kF8E5M2, "f8e5m2", 8, Family::kFloat},
    DTypeInfo{DType::kF8E5M2FNUZ, "f8e5m2fnuz", 8, Family::kFloat},
    DTypeInfo{DType::kF8E8M0FNU, "f8e8m0fnu", 8, Family::kFloat},
    DTypeInfo{DType::kToken, "token", 0, Family::kNone},
    DTypeInfo{DType::kOpaque, "opaque", 0, Family::kNone},
    DTypeInfo{DType::kTuple, "tuple", 0, Family::kNone},
    DTypeInfo{DType::kBuffer, "buffer", 0, Family::kNone},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].dtype) != i) return false;
  }
  return kTypes.size() == static_cast<std::size_t>(DType::kBuffer) + 1;
}
static_assert(in_enum_order());

const DTypeInfo& info(DType dtype) {
  return kTypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (text == "opaque_type") return DType::kOpaque;
  for (const DTypeInfo& type : kTypes) {
    if (type.name == text && type.dtype != DType::kInvalid) return type.dtype;
  }
  return std::nullopt;
}

int bits(DType dtype) {
  return info(dtype).bits;
}
int storage_bytes(DType dtype) {
  return (bits(dtype) + 7) / 8;
}
bool is_floating(DType dtype) {
  return info(dtype).family == Family::kFloat;
}
bool is_signed_integer(DType dtype) {
  return info(dtype).family == Family::kSigned;
}
bool is_unsigned_integer(DType dtype) {
  return info(dtype).family == Family::kUnsigned;
}
bool is_complex(DType dtype) {
  return info(dtype).family == Family::kComplex;
}

}  // namespace tilecast::ir
