// Arguments of error messages that are formatted only if the message is, so that a passing check
// formats nothing.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>

#include "ir/shape.h"

namespace tilecast::ir {

struct ShapeText {
  const Shape& shape;
  bool with_layout = true;
  [[nodiscard]] std::string str() const { return to_string(shape, with_layout); }
};
struct TypeText {
  DType dtype;
  [[nodiscard]] std::string str() const;
};
struct DimsText {
  const Dims& dims;
  bool in_braces = false;
  [[nodiscard]] std::string str() const;
};
// f32[2,3]
[[nodiscard]] inline ShapeText human(const Shape& shape) {
  return {shape, false};
}
// F32
[[nodiscard]] inline TypeText type_name(DType dtype) {
  return {dtype};
}
// 1, 2
[[nodiscard]] inline DimsText join(const Dims& dims) {
  return {dims};
}

}  // namespace tilecast::ir

template <class Text>
requires requires(const Text& text) {
  { text.str() } -> std::same_as<std::string>;
}
struct fmt::formatter<Text> : fmt::formatter<std::string_view> {
  auto format(const Text& text, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
