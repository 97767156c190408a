// Small text utilities.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tilecast::base {

inline constexpr std::string_view kBlanks = " \t";

// `text` without leading and trailing characters of `blanks`; a view into `text`.
[[nodiscard]] std::string_view trim(std::string_view text, std::string_view blanks = kBlanks);

// The whole text as a finite number of this type, else nullopt.
template <class Number = double>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// Makes text safe to show and to put in JSON: valid UTF-8 without control characters except line
// breaks. Other bytes become `\xNN`, tabs one space. Text that is already safe is unchanged.
[[nodiscard]] std::string printable(std::string_view text);

// Escapes control characters from U+007F on, which JSON writers leave in strings, as `\u00NN`.
[[nodiscard]] std::string printable_json(std::string_view json);

// The UTC date, as 2026-05-31.
[[nodiscard]] std::string today();

}  // namespace tilecast::base
