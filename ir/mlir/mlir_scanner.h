// A position in MLIR text, and readers of the grammar's elements. There are no tokens, because the
// meaning of `2x3` or `0:4` depends on the context.
//
// Every reader first skips white space and comments, then consumes its input or throws Error at
// that position. Views point into the text. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/source_text.h"
#include "ir/mlir/mlir_tree.h"

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
// Characters of words and of names after a sign.
[[nodiscard]] inline bool is_word_char(char c) {
  return kWordCharacters[static_cast<unsigned char>(c)];
}
[[nodiscard]] int hex_digit(char c);  // -1: none
// `text` is the content of a string; \22,
// , \t, \\ and \" are resolved.
[[nodiscard]] std::string unescape_mlir(std::string_view text);

class Scanner {
 public:
  explicit Scanner(const base::SourceText& source)
      : source_(source), text_(source.text()), end_(text_.size()) {}
  // Reads only `part`, which must be a part of the text of `source`.
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
  // Skips white space and comments; returns the next character without consuming it.
  char peek() {
    const char c = raw();
    return static_cast<unsigned char>(c) > ' ' && c != '/' ? c : peek_after_space();
  }
  bool accept(char sign);
  bool accept(std::string_view sign);
  // As above, but the whole word must match.
  bool accept_word(std::string_view word);
  void expect(char sign);
  void expect(std::string_view sign);
  std::string_view word(std::string_view what);
  // The name after `%`, `@`, `#`, `!` or `^`: letters, digits, `_ $ . -`. Does not skip white
  // space.
  std::string_view suffix_id();
  // The content of a string, with escapes as written.
  std::string_view quoted();
  std::int64_t integer();
  // From an opening bracket to the matching one, both included; brackets in strings are ignored.
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

// The visible values, by name. Most names are a stem with consecutive numbers (`%17`, `%cst_4`), so
// each stem has a table. Thread-compatible; names are views and must outlive the table.
class ValueNames {
 public:
  struct Definition {
    ValueId first;
    std::uint32_t count = 0;  // 0: no such name
  };
  // False if the name is already visible.
  bool define(std::string_view name, Definition definition);
  [[nodiscard]] Definition find(std::string_view name) const;
  // release() removes the names defined since mark().
  [[nodiscard]] std::size_t mark() const { return defined_.size(); }
  void release(std::size_t mark);

 private:
  [[nodiscard]] Definition* slot(std::string_view name) const;

  // By stem: the name itself, then stem0, stem1 ...
  mutable std::unordered_map<std::string_view, std::vector<Definition>> tables_;
  std::vector<std::string_view> defined_;
};

}  // namespace tilecast::ir::mlir
