#include "base/text.h"

#include <fmt/chrono.h>

#include <chrono>

namespace tilecast::base {

std::string_view trim(std::string_view text, std::string_view blanks) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", std::chrono::system_clock::now());
}

}  // namespace tilecast::base
