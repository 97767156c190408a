// Reads the numbers in `dense<...>`: one value for all elements, nested lists, or the bytes in
// hexadecimal.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/literal.h"
#include "ir/mlir/mlir_parser.h"
#include "ir/mlir/mlir_scanner.h"

namespace tilecast::ir::mlir {
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
