// Changed texts.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace tilecast::support {

// `text` with the first `from`, which has to be there, replaced by `to`.
[[nodiscard]] inline std::string replaced(std::string text, const std::string& from,
                                          const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// `text` with every `from` replaced by `to`.
[[nodiscard]] inline std::string replaced_all(std::string text, const std::string& from,
                                              const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace tilecast::support
