// Tokens of a loop program's text: words, numbers and marks. Internal to text.cpp.
#pragma once

#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/source_text.h"
#include "ir/shape.h"

namespace tilecast::schedule {

class Tokens {
  static constexpr std::int64_t kMaxNumber = std::int64_t{1} << 40;

 public:
  explicit Tokens(const base::SourceText& source) : source_(source), text_(source.text()) {}

 protected:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(source_.describe(at_, what));
  }

  // --- tokens
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool peek(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected `" + std::string(token) + "`");
  }
  std::string word(std::string_view what) {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '-' && at_ > start))) ++at_;
    if (at_ == start) fail("expected " + std::string(what));
    return std::string(text_.substr(start, at_ - start));
  }
  bool take_word(std::string_view expected) {
    skip_blanks();
    const std::size_t end = at_ + expected.size();
    if (text_.substr(at_, expected.size()) != expected) return false;
    if (end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect_word(std::string_view expected) {
    if (!take_word(expected)) fail("expected `" + std::string(expected) + "`");
  }
  std::int64_t number(std::int64_t most = kMaxNumber) {  // `most` is a power of two
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value > most || value < -most) {
      const int power = std::countr_zero(static_cast<std::uint64_t>(most));
      fail("expected a whole number of at most 2^" + std::to_string(power));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::int64_t positive() {
    const std::size_t start = at_;
    const std::int64_t value = number();
    if (value > 0) return value;
    at_ = start;
    fail("expected a number above 0");
  }
  ir::Dims numbers(char separator) {
    ir::Dims made{positive()};
    while (at_ < text_.size() && text_[at_] == separator) {
      ++at_;
      made.push_back(positive());
    }
    return made;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@';
  }

  const base::SourceText& source_;

 protected:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tilecast::schedule
