#include "host/c_types.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace tilecast::host {

using ir::DType;

namespace {

using ValueType = std::pair<DType, std::string_view>;
constexpr ValueType kValueTypes[] = {
    {DType::kPred, "_Bool"},   {DType::kS8, "int8_t"},    {DType::kS16, "int16_t"},
    {DType::kS32, "int32_t"},  {DType::kS64, "int64_t"},  {DType::kU8, "uint8_t"},
    {DType::kU16, "uint16_t"}, {DType::kU32, "uint32_t"}, {DType::kU64, "uint64_t"},
    {DType::kF16, "float"},    {DType::kBF16, "float"},   {DType::kF32, "float"},
    {DType::kF64, "double"}};

}  // namespace

std::string_view storage_type(DType dtype) {
  if (dtype == DType::kPred) return "uint8_t";
  return is_half(dtype) ? "uint16_t" : value_type(dtype);
}

std::string_view value_type(DType dtype) {
  const auto* known = std::ranges::find(kValueTypes, dtype, &ValueType::first);
  return known == std::end(kValueTypes) ? "float" : known->second;
}

bool is_generated(DType dtype) {
  return std::ranges::find(kValueTypes, dtype, &ValueType::first) != std::end(kValueTypes);
}

std::string_view accumulator_type(DType dtype) {
  return dtype == DType::kPred ? "uint8_t" : value_type(dtype);
}

std::string_view product_type(DType dtype) {
  if (ir::is_floating(dtype)) return dtype == DType::kF64 ? "double" : "float";
  return ir::bits(dtype) == 64 ? "int64_t" : "int32_t";
}

int bytes_of(std::string_view c_type) {
  if (c_type == "float") return 4;
  if (c_type == "double") return 8;
  for (const int bits : {8, 16, 32, 64}) {
    const std::string width = std::to_string(bits) + "_t";
    if (c_type == "int" + width || c_type == "uint" + width) return bits / 8;
  }
  TC_CHECK(false, "a C type of known size");
}

std::string loaded(DType dtype, const std::string& place) {
  if (dtype == DType::kBF16) return "tc_from_bf16(" + place + ")";
  if (dtype == DType::kF16) return "tc_from_f16(" + place + ")";
  if (dtype == DType::kPred) return "(" + place + "!=0)";
  return place;
}

std::string stored(DType dtype, const std::string& value) {
  if (dtype == DType::kBF16) return "tc_store_bf16(" + value + ")";
  if (dtype == DType::kF16) return "tc_to_f16(" + value + ")";
  return value;
}

std::string rounded(DType dtype, const std::string& value) {
  if (dtype == DType::kBF16) return "tc_round_bf16(" + value + ")";
  if (dtype == DType::kF16) return "tc_round_f16(" + value + ")";
  return value;
}

std::string converted(DType from, DType to, const std::string& value) {
  if (from == to) return value;
  if (to == DType::kPred) return "(" + value + "!=0)";
  if (ir::is_floating(to)) {
    const bool exact = is_half(from) && !is_half(to);
    const std::string plain = "(" + std::string(value_type(to)) + ")(" + value + ")";
    return exact ? plain : rounded(to, plain);
  }
  if (ir::is_floating(from)) {
    return "tc_" + suffix(to) + "_of_" + suffix(from) + "(" + value + ")";
  }
  return "(" + std::string(value_type(to)) + ")(" + value + ")";
}

std::string suffix(DType dtype) {
  if (dtype == DType::kF64) return "d";
  if (ir::is_floating(dtype)) return "f";
  const std::string bits = std::to_string(ir::bits(dtype));
  return (ir::is_signed_integer(dtype) ? "i" : "u") + bits;
}

}  // namespace tilecast::host
