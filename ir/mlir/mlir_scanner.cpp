#include "ir/mlir/mlir_scanner.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace tilecast::ir::mlir {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string unescape_mlir(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    const int low = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    if (c == 'n') {
      out.push_back('\n');
    } else if (c == 't') {
      out.push_back('\t');
    } else if (hex_digit(c) >= 0 && low >= 0) {
      out.push_back(static_cast<char>(hex_digit(c) * 16 + low));
      ++i;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

Scanner::Scanner(const base::SourceText& source, std::string_view part)
    : source_(source),
      text_(source.text()),
      at_(static_cast<std::size_t>(part.data() - text_.data())),
      end_(at_ + part.size()) {}

char Scanner::peek_after_space() {
  for (; at_ < end_; ++at_) {
    const char c = text_[at_];
    if (c == '/' && raw(1) == '/') {
      at_ = std::min(text_.find('\n', at_), end_);
      if (at_ == end_) return '\0';
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      return c;
    }
  }
  return '\0';
}

bool Scanner::accept(char sign) {
  if (peek() != sign || at_ >= end_) return false;
  ++at_;
  return true;
}

bool Scanner::accept(std::string_view sign) {
  peek();
  if (!at(sign)) return false;
  at_ += sign.size();
  return true;
}

bool Scanner::accept_word(std::string_view word) {
  if (!accept(word)) return false;
  if (!is_word_char(raw())) return true;
  at_ -= word.size();
  return false;
}

void Scanner::expect(char sign) {
  if (!accept(sign)) fail_expecting(fmt::format("'{}'", sign));
}

void Scanner::expect(std::string_view sign) {
  if (!accept(sign)) fail_expecting(fmt::format("'{}'", sign));
}

std::string_view Scanner::word(std::string_view what) {
  const char first = peek();
  if (!is_word_char(first) || is_digit(first)) fail_expecting(what);
  const std::size_t begin = at_;
  while (is_word_char(raw())) ++at_;
  return text_from(begin);
}

std::string_view Scanner::suffix_id() {
  const std::size_t begin = at_;
  while (is_word_char(raw()) || (raw() == '-' && raw(1) != '>')) ++at_;
  if (at_ == begin) fail_expecting("a name");
  return text_from(begin);
}

std::string_view Scanner::quoted() {
  expect('"');
  const std::size_t begin = at_;
  for (std::size_t close = text_.find('"', at_); close < end_; close = text_.find('"', close + 1)) {
    const std::string_view inside = text_.substr(begin, close - begin);
    const std::size_t last = inside.find_last_not_of('\\');
    const std::size_t backslashes = inside.size() - (last == std::string_view::npos ? 0 : last + 1);
    if (backslashes % 2 != 0) continue;  // an escaped quote
    if (inside.find('\n') != std::string_view::npos) break;
    at_ = close + 1;
    return inside;
  }
  fail_at(begin - 1, "a string is not closed");
}

std::int64_t Scanner::integer() {
  peek();
  std::int64_t value = 0;
  const auto [stop, status] = std::from_chars(text_.data() + at_, text_.data() + end_, value);
  if (status == std::errc::result_out_of_range) fail("an integer does not fit in 64 bits");
  if (status != std::errc{}) fail_expecting("an integer");
  at_ = static_cast<std::size_t>(stop - text_.data());
  return value;
}

std::string_view Scanner::balanced() {
  peek();
  const std::size_t begin = at_;
  std::string open;  // the expected closing brackets
  do {
    while (is_word_char(raw())) ++at_;
    const char c = raw();
    switch (c) {
      case '"':
        quoted();
        continue;
      case '\0':
        if (at_ >= end_) fail_at(begin, "a bracket is not closed");
        break;
      case '-':
        if (raw(1) == '>') ++at_;
        break;
      case '(':
        open.push_back(')');
        break;
      case '<':
      case '[':
      case '{':
        open.push_back(static_cast<char>(c + 2));  // ASCII: closing = opening + 2
        break;
      case '>':
      case ')':
      case ']':
      case '}':
        if (open.empty() || open.back() != c) fail_at(begin, "a bracket is not closed");
        open.pop_back();
        break;
      default:
        break;
    }
    ++at_;
  } while (!open.empty());
  return text_from(begin);
}

void Scanner::fail_at(std::size_t offset, std::string_view message) const {
  throw Error(source_.describe(offset, message));
}

void Scanner::fail_expecting(std::string_view what) {
  peek();
  fail(fmt::format("expects {}", what));
}

}  // namespace tilecast::ir::mlir
