#include "base/text.h"

#include <fmt/chrono.h>

#include <charconv>
#include <chrono>
#include <cmath>

namespace tilecast::base {

std::string_view trim(std::string_view text, std::string_view blanks) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", std::chrono::system_clock::now());
}

}  // namespace tilecast::base
