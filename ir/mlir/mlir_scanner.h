// A position in MLIR text and readers of what its grammar is made of. No tokens: what `2x3` or
// `0:4` mean depends on where they stand.
//
// Every reader skips white space and comments first, and consumes what it read or throws Error at
// it. Views point into the text. One scanner belongs to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/source_text.h"

namespace tilecast::ir::mlir {

[[nodiscard]] inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline constexpr std::array<bool, 256> kWordCharacters = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view("0123456789abcdefghijklmnopqrstuvwxyz_$."
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    is[static_cast<unsigned char>(c)] = true;
  }
  return is;
}();
// What words and names after a sign consist of.
[[nodiscard]] inline bool is_word_char(char c) {
  return kWordCharacters[static_cast<unsigned char>(c)];
}
[[nodiscard]] int hex_digit(char c);  // -1: none
// What is between the quotes, with \22, \n, \t, \\ and \" resolved.
[[nodiscard]] std::string unescape_mlir(std::string_view text);

class Scanner {
 public:
  explicit Scanner(const base::SourceText& source)
      : source_(source), text_(source.text()), end_(text_.size()) {}
  // Reads `part` only, which lies in the text of `source`.
  Scanner(const base::SourceText& source, std::string_view part);

  [[nodiscard]] const base::SourceText& source() const { return source_; }
  [[nodiscard]] std::size_t offset() const { return at_; }
  void seek(std::size_t offset) { at_ = offset; }
  [[nodiscard]] std::size_t offset_before_space() const {
    const std::size_t last = text_.substr(0, at_).find_last_not_of(" \t\r\n");
    return last == std::string_view::npos ? 0 : last + 1;
  }
  [[nodiscard]] std::string_view text_from(std::size_t begin) const {
    return text_.substr(begin, at_ - begin);
  }
  // The very next character; '\0' at the end.
  [[nodiscard]] char raw(std::size_t ahead = 0) const {
    return at_ + ahead < end_ ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool at(std::string_view sign) const {
    return text_.substr(at_, std::min(sign.size(), end_ - at_)) == sign;
  }
  // The next character after white space and comments, which are skipped.
  char peek() {
    const char c = raw();
    return static_cast<unsigned char>(c) > ' ' && c != '/' ? c : peek_after_space();
  }
  bool accept(char sign);
  bool accept(std::string_view sign);
  // As above; the word must end there.
  bool accept_word(std::string_view word);
  void expect(char sign);
  void expect(std::string_view sign);
  std::string_view word(std::string_view what);
  // What follows `%`, `@`, `#`, `!` or `^`: letters, digits, `_ $ . -`. Nothing is skipped.
  std::string_view suffix_id();
  // Between the quotes, escapes as written.
  std::string_view quoted();
  std::int64_t integer();
  // From an opening bracket to the one that closes it, both included; strings are skipped.
  std::string_view balanced();

  [[noreturn]] void fail(std::string_view message) { fail_at(at_, message); }
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const;
  [[noreturn]] void fail_expecting(std::string_view what);

 private:
  char peek_after_space();

  const base::SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t end_;
};

}  // namespace tilecast::ir::mlir
