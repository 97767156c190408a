#include "ir/dtype.h"

#include <algorithm>
#include <array>

#include "base/word_table.h"

namespace tilecast::ir {
namespace {

enum class Family : std::uint8_t { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  Family family;
};

constexpr std::array kTypes = {
#define TILECAST_DTYPE_ROW(id, text, bits, family) DTypeInfo{DType::id, text, Family::family},
    TILECAST_DTYPES(TILECAST_DTYPE_ROW)
#undef TILECAST_DTYPE_ROW
};

constexpr auto spellings() {
  std::array<base::WordEntry<DType>, kTypes.size()> all{};
  std::transform(kTypes.begin(), kTypes.end(), all.begin(), [](const DTypeInfo& type) {
    return base::WordEntry<DType>{type.name, type.dtype};
  });
  all[static_cast<std::size_t>(DType::kInvalid)] = {"opaque_type", DType::kOpaque};
  return all;
}
constexpr base::WordTable kSpellings(spellings());

const DTypeInfo& info(DType dtype) {
  return kTypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  const DType* const found = kSpellings.find(text);
  return found != nullptr ? std::optional(*found) : std::nullopt;
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
