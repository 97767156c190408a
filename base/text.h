// Small text.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::base {

inline constexpr std::string_view kBlanks = " \t";

// Without the characters of `blanks` at both ends; a view into `text`.
[[nodiscard]] std::string_view trim(std::string_view text, std::string_view blanks = kBlanks);

// The date in UTC, as 2026-05-31.
[[nodiscard]] std::string today();

}  // namespace tilecast::base
