#include "ir/stablehlo/print_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace tilecast::ir::stablehlo {
namespace {

std::string mlir_element(DType dtype) {
  if (dtype == DType::kPred) return "i1";
  if (dtype == DType::kC64) return "complex<f32>";
  if (dtype == DType::kC128) return "complex<f64>";
  std::string text(name(dtype));
  if (is_signed_integer(dtype)) return "i" + text.substr(1);
  if (is_unsigned_integer(dtype)) return "ui" + text.substr(1);
  // f8e4m3fn becomes f8E4M3FN.
  if (text.starts_with("f8") || text.starts_with("f4")) {
    std::transform(text.begin() + 2, text.end(), text.begin() + 2,
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return text;
}

std::string mlir_tensor_type(const Shape& shape) {
  std::string text = "tensor<", bounds;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t size = shape.dims[static_cast<std::size_t>(i)];
    const bool open = size == kUnboundedSize || shape.is_dynamic(i);
    text += open ? "?x" : fmt::format("{}x", size);
    bounds += bounds.empty() ? "" : ", ";
    bounds += open && size != kUnboundedSize ? std::to_string(size) : "?";
  }
  text += mlir_element(shape.dtype);
  if (shape.dynamic_mask != 0) text += fmt::format(", #stablehlo.bounds<{}>", bounds);
  return text + ">";
}

// The bits of infinity, or of the NaN that HLO text prints without payload, in MLIR syntax; empty
// if unknown for the type.
std::string special_bits(DType dtype, bool is_nan, bool negative) {
  struct Bits {
    int digits;
    std::uint64_t infinity, quiet, sign;
  };
  const auto bits = [&]() -> std::optional<Bits> {
    switch (dtype) {
      case DType::kF16:
        return Bits{4, 0x7C00, 0x200, 0x8000};
      case DType::kBF16:
        return Bits{4, 0x7F80, 0x40, 0x8000};
      case DType::kF32:
        return Bits{8, 0x7F800000, 0x400000, 0x80000000};
      case DType::kF64:
        return Bits{16, 0x7FF0000000000000, 0x8000000000000, 0x8000000000000000};
      default:
        return std::nullopt;
    }
  }();
  if (!bits) return {};
  return fmt::format("0x{:0{}X}",
                     bits->infinity | (is_nan ? bits->quiet : 0) | (negative ? bits->sign : 0),
                     bits->digits);
}

}  // namespace

std::string mlir_type(const Shape& shape) {
  if (shape.is_array()) return mlir_tensor_type(shape);
  if (shape.is_token()) return "!stablehlo.token";
  if (shape.is_tuple()) {
    std::vector<std::string> elements;
    for (const Shape& element : shape.elements) elements.push_back(mlir_type(element));
    return fmt::format("tuple<{}>", fmt::join(elements, ", "));
  }
  return fmt::format("!mhlo.{}", name(shape.dtype));
}

std::vector<std::string> mlir_types(const Shape& shape, bool apart) {
  if (!apart || !shape.is_tuple()) return {mlir_type(shape)};
  std::vector<std::string> types;
  for_each_leaf(shape, [&](const Shape& leaf) { types.push_back(mlir_type(leaf)); });
  return types;
}

bool is_value(const Shape& shape) {
  return shape.is_array() || shape.is_token();
}

bool splits(const Shape& shape) {
  return is_value(shape) || (shape.is_tuple() && shape.elements.size() > 1 &&
                             std::ranges::all_of(shape.elements, is_value));
}

std::string mlir_number(std::string_view number, DType dtype) {
  std::string text(number);
  if (dtype == DType::kPred) return text == "1" || text == "true" ? "true" : "false";
  const bool is_nan = text.ends_with("nan");
  if (is_nan || text.ends_with("inf")) return special_bits(dtype, is_nan, text.front() == '-');
  const bool decimal = is_floating(dtype) || is_complex(dtype);
  if (decimal && text.find('.') == std::string::npos) {
    text.insert(std::min(text.find('e'), text.size()), ".0");
  }
  return text;
}

std::string mlir_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string int_list(const Dims& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string int_array(const Dims& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::optional<std::string> dense_text(const Literal& literal, const Shape& shape) {
  const bool has_payloads = literal.text.find("nan(") != std::string::npos;
  if (!shape.is_array() || shape.is_unbounded() || literal.elided || has_payloads) {
    return std::nullopt;
  }
  if (element_count(shape) == 0) return "";
  std::string out;
  const std::string_view text = literal.text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,{}()/", i), text.size());
    if (end > i) {
      const std::string number = mlir_number(text.substr(i, end - i), shape.dtype);
      if (number.empty()) return std::nullopt;
      out += number;
      i = end;
    } else if (text[i] == '/') {  // /*i0=0*/
      i = text.find("*/", i) + 2;
    } else {
      if (text[i] != ' ') out += text[i] == '{' ? '[' : text[i] == '}' ? ']' : text[i];
      ++i;
    }
  }
  return out;
}

}  // namespace tilecast::ir::stablehlo
