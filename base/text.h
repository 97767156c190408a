// Small text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilecast::base {

inline constexpr std::string_view kBlanks = " \t";

// Without the characters of `blanks` at both ends; a view into `text`.
[[nodiscard]] std::string_view trim(std::string_view text, std::string_view blanks = kBlanks);

// The whole text as a finite number; nothing for any other text.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// Valid UTF-8 without control characters but line breaks, for people and for JSON: other bytes
// become `\xNN`, tabs one space. Text that is already so stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

// JSON with the control characters that its writers leave in strings, from U+007F on, as `\u00NN`.
[[nodiscard]] std::string printable_json(std::string_view json);

// The date in UTC, as 2026-05-31.
[[nodiscard]] std::string today();

}  // namespace tilecast::base
