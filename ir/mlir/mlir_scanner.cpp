#include "ir/mlir/mlir_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/mlir/mlir_parser.h"

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

namespace {

// A name split into stem and number, `%cst_4` into `cst_` and 4; kNoNumber if it ends in none.
struct NameParts {
  std::string_view stem;
  std::size_t number;
};
constexpr std::size_t kNoNumber = SIZE_MAX;

NameParts split_name(std::string_view name) {
  constexpr std::size_t kMaxDigits = 9;
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1]) && name.size() - begin < kMaxDigits) --begin;
  while (begin + 1 < name.size() && name[begin] == '0') ++begin;  // x01 is not x1
  if (begin == name.size()) return {name, kNoNumber};
  std::size_t number = 0;
  for (const char c : name.substr(begin)) number = number * 10 + static_cast<std::size_t>(c - '0');
  return {name.substr(0, begin), number};
}

}  // namespace

// Null if not defined.
ValueNames::Definition* ValueNames::slot(std::string_view name) const {
  const auto [stem, number] = split_name(name);
  if (const auto table = tables_.find(stem); table != tables_.end()) {
    const std::size_t index = number + 1;  // 0 for kNoNumber
    if (index < table->second.size() && table->second[index].count > 0) {
      return &table->second[index];
    }
  }
  if (number == kNoNumber) return nullptr;
  const auto whole = tables_.find(name);  // for numbers too far from the others
  const bool known =
      whole != tables_.end() && !whole->second.empty() && whole->second.front().count > 0;
  return known ? &whole->second.front() : nullptr;
}

ValueNames::Definition ValueNames::find(std::string_view name) const {
  const Definition* known = slot(name);
  return known == nullptr ? Definition{} : *known;
}

bool ValueNames::define(std::string_view name, Definition definition) {
  if (slot(name) != nullptr) return false;
  auto [stem, number] = split_name(name);
  std::vector<Definition>* table = &tables_[stem];
  const std::size_t slack = stem.empty() ? 4096 : 16;  // outliers must not enlarge the table
  if (number != kNoNumber && number > 2 * table->size() + slack) {
    table = &tables_[name];
    number = kNoNumber;
  }
  const std::size_t index = number + 1;
  if (index >= table->size()) table->resize(std::max(index + 1, 2 * table->size()));
  (*table)[index] = definition;
  defined_.push_back(name);
  return true;
}

void ValueNames::release(std::size_t mark) {
  for (; defined_.size() > mark; defined_.pop_back()) *slot(defined_.back()) = {};
}

// Reads the numbers in `dense<...>`: one value for all elements, nested lists, or the bytes in
// hexadecimal.

namespace {

class DenseReader {
 public:
  DenseReader(const Attribute& dense, const Type& type, const base::SourceText& text,
              std::size_t most)
      : in_(text, dense.text), dense_(dense), shape_(type.shape), most_(most) {
    if (type.kind != Type::Kind::kArray && type.kind != Type::Kind::kScalar) {
      in_.fail(fmt::format("dense values of type {}", type.text));
    }
  }

  DenseValues read() {
    const std::string_view text = dense_.text;
    if (text.empty()) {
      if (elements() != 0) in_.fail("no values");
    } else if (text.front() == '"') {
      read_hex(in_.quoted());
    } else if (is_word_char(text.front()) && !is_digit(text.front()) && text != "true" &&
               text != "false") {
      values_.elided = true;  // a resource name, or values of another kind
      return std::move(values_);
    } else if (text.front() == '[') {
      read_list(0);
    } else {
      values_.splat = true;
      read_element();
    }
    if (in_.peek() != '\0') in_.fail_expecting("'>'");
    return std::move(values_);
  }

 private:
  std::int64_t elements() { return shape_.is_unbounded() ? 0 : element_count(shape_); }

  // The recursion depth is the rank of the shape, at most 32.
  void read_list(std::size_t level) {
    if (level == shape_.dims.size()) return read_element();
    std::int64_t size = 0;
    in_.expect('[');
    if (in_.peek() != ']') {
      do {
        read_list(level + 1);
        ++size;
      } while (in_.accept(','));
    }
    in_.expect(']');
    if (size != shape_.dims[level] && shape_.dims[level] != kUnboundedSize) {
      in_.fail(
          fmt::format("{} values in dimension {} of size {}", size, level, shape_.dims[level]));
    }
  }

  void read_element() {
    ++values_.count;
    if (is_complex(shape_.dtype)) {
      const bool is_pair = in_.accept('(');  // a bare number if the imaginary part is 0
      number();
      if (is_pair) {
        in_.expect(',');
        number();
        in_.expect(')');
      } else {
        keep(0.0);
      }
    } else if (is_floating(shape_.dtype)) {
      number();
    } else {
      keep(integer());
    }
  }

  void keep(double number) {
    if (values_.numbers.size() < most_) values_.numbers.push_back(number);
  }
  void keep(std::int64_t integer) {
    if (values_.integers.size() < most_) values_.integers.push_back(integer);
  }

  [[nodiscard]] DType part() const {
    return shape_.dtype == DType::kC64    ? DType::kF32
           : shape_.dtype == DType::kC128 ? DType::kF64
                                          : shape_.dtype;
  }

  // Consumes the characters of a number.
  std::string_view number_text() {
    in_.peek();
    const std::size_t begin = in_.offset();
    while (is_word_char(in_.raw()) || in_.raw() == '-' || in_.raw() == '+') {
      in_.seek(in_.offset() + 1);
    }
    return in_.text_from(begin);
  }

  void number() {
    const std::string_view text = number_text();
    const char* const end = text.data() + text.size();
    if (text.starts_with("0x")) {
      std::uint64_t pattern = 0;
      const auto read = std::from_chars(text.data() + 2, end, pattern, 16);
      if (read.ptr != end || read.ec != std::errc{}) in_.fail("not a number");
      return keep(from_bits(pattern, part()));
    }
    double value = 0;
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ptr != end || text.empty()) in_.fail("not a number");
    if (read.ec == std::errc::result_out_of_range) {
      value = text.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
      if (text.front() == '-') value = -value;
    }
    keep(value);
  }

  std::int64_t integer() {
    const std::string_view text = number_text();
    if (text == "true" || text == "false") return text == "true" ? 1 : 0;
    const bool negative = text.starts_with('-');
    const std::string_view digits = text.substr(negative ? 1 : 0);
    const bool hex = digits.starts_with("0x");
    std::uint64_t magnitude = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(digits.data() + (hex ? 2 : 0), end, magnitude, hex ? 16 : 10);
    if (read.ptr != end || read.ec != std::errc{}) in_.fail("not an integer");
    return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  }

  // Little endian. i1 takes a byte or a bit per element, other narrow types a byte. A single
  // element is a splat.
  void read_hex(std::string_view text) {
    if (!text.starts_with("0x") || text.size() % 2 != 0) in_.fail("expects \"0x\" and bytes");
    text.remove_prefix(2);
    const auto bytes = static_cast<std::int64_t>(text.size() / 2);
    const std::int64_t width = std::max(bits(part()) / 8, 1) * (is_complex(shape_.dtype) ? 2 : 1);
    const std::int64_t expected = elements();
    const bool packed =
        shape_.dtype == DType::kPred && bytes != expected && bytes == (expected + 7) / 8;
    values_.splat = bytes == width && expected != 1 && !(packed && expected <= 8);
    values_.count = values_.splat ? 1 : expected;
    if (!packed && bytes != values_.count * width) {
      in_.fail(fmt::format("{} bytes for {} elements of {} bytes", bytes, expected, width));
    }
    const auto parts = static_cast<std::size_t>(values_.count * (is_complex(shape_.dtype) ? 2 : 1));
    for (std::size_t i = 0; i < std::min(parts, most_); ++i) {
      if (packed) {
        keep(static_cast<std::int64_t>(pattern(text, i / 8, 1) >> (i % 8) & 1U));
      } else {
        keep_pattern(text, i);
      }
    }
    for (const char c : text) {
      if (hex_digit(c) < 0) in_.fail("not a hexadecimal digit");
    }
  }

  void keep_pattern(std::string_view text, std::size_t index) {
    const auto size = static_cast<std::size_t>(std::max(bits(part()) / 8, 1));
    const std::uint64_t value = pattern(text, index * size, size);
    if (is_floating(part())) return keep(from_bits(value, part()));
    const int unused = is_signed_integer(part()) ? 64 - bits(part()) : 0;
    keep(static_cast<std::int64_t>(value << unused) >> unused);
  }

  static std::uint64_t pattern(std::string_view text, std::size_t byte, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
      const std::size_t at = 2 * (byte + i);
      value = value << 8 | static_cast<std::uint64_t>(hex_digit(text[at]) & 15) << 4 |
              static_cast<std::uint64_t>(hex_digit(text[at + 1]) & 15);
    }
    return value;
  }

  Scanner in_;
  const Attribute& dense_;
  const Shape& shape_;
  std::size_t most_;
  DenseValues values_;
};

}  // namespace

DenseValues read_dense(const Attribute& dense, const Type& type, const base::SourceText& text,
                       std::size_t most) {
  return DenseReader(dense, type, text, most).read();
}

}  // namespace tilecast::ir::mlir
