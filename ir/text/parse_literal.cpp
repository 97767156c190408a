// Literals: counts, nesting and ranges are checked as in XLA's parser. Contents are kept as
// canonical text; small integer ones also as numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/literal.h"
#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

// Bounds of an integer type; for u64, of the values bit-cast to s64.
struct IntegerRange {
  std::int64_t least = INT64_MIN, most = INT64_MAX;
};

IntegerRange range_of(DType dtype) {
  if (dtype == DType::kPred) return {0, 1};
  const int width = bits(dtype);
  if (width >= 64) return {};
  if (is_unsigned_integer(dtype)) return {0, (std::int64_t{1} << width) - 1};
  return {-(std::int64_t{1} << (width - 1)), (std::int64_t{1} << (width - 1)) - 1};
}

constexpr std::int64_t kMostIntegers = 64;  // kept as numbers

// Reads the literal of one array as the texts of its elements, in row-major order.
class ArrayReader {
 public:
  ArrayReader(Cursor& cursor, const Shape& shape, Literal& literal)
      : cursor_(cursor), shape_(shape), literal_(literal), seen_(shape.dims.size(), 0) {}

  void read() {
    if (!cursor_.options().strict && read_placeholder()) {
      elided_ = true;
    } else if (shape_.rank() == 0) {
      read_element();
    } else if (!cursor_.at(Tok::kLeftBrace)) {
      return read_splat();
    } else {
      do {
        read_token();
      } while (nest_level_ > 0);
    }
    print();
  }

 private:
  bool read_placeholder();
  void read_splat();
  void read_token();
  void open();
  void close();
  void elide();
  void read_element();
  void count_element();
  void append_integer();
  void append_float(DType dtype);
  void append_complex();
  void append_nan(DType dtype);
  void print();
  [[nodiscard]] std::string position(int depth) const;
  [[nodiscard]] std::int64_t size(int dim) const {
    return shape_.dims[static_cast<std::size_t>(dim)];
  }

  Cursor& cursor_;
  const Shape& shape_;
  Literal& literal_;
  Dims seen_;  // elements or sub-arrays read so far, per dimension
  int nest_level_ = 0;
  bool elided_ = false;
  std::int64_t count_ = 0;
  std::string texts_;              // of the elements, concatenated
  std::vector<std::size_t> ends_;  // end offset of each
};

// In lenient mode, accepts `{{NAME}}` (a template placeholder) and `{...}` of any rank; the value
// is unknown.
bool ArrayReader::read_placeholder() {
  if (!cursor_.at(Tok::kLeftBrace)) return false;
  const char next = cursor_.peek_char();
  if (next != '{' && next != '.') return false;
  const std::size_t begin = cursor_.token().begin;
  const auto matches = [this](bool hole) {
    cursor_.advance();
    if (hole && !cursor_.accept(Tok::kLeftBrace)) return false;
    if (!cursor_.accept(hole ? Tok::kIdentifier : Tok::kDots)) return false;
    if (hole && !cursor_.accept(Tok::kRightBrace)) return false;
    return cursor_.accept(Tok::kRightBrace);
  };
  const bool found = matches(next == '{');
  if (!found) {
    cursor_.rewind(begin);
  } else if (next == '{') {
    cursor_.complain(begin, "a template's placeholder instead of a literal: value unknown");
  }
  return found;
}

// One number for all elements: `s8[3] constant(0)`.
void ArrayReader::read_splat() {
  const std::size_t begin = cursor_.token().begin;
  Literal one;
  ArrayReader(cursor_, Shape::array(shape_.dtype, {}), one).read();
  if (shape_.dtype == DType::kPred) one.text = one.integers.at(0) != 0 ? "1" : "0";
  if (!fits_in_text(shape_.dims)) {
    cursor_.complain(begin, "a literal of more than a million elements: contents left out");
    literal_.elided = true;
    literal_.text += "{...}";
    return;
  }
  append_array_literal(literal_.text, shape_.dims, [&](std::string& out) { out += one.text; });
  const std::int64_t count = element_count(shape_);
  if (count <= kMostIntegers && !one.integers.empty()) {
    literal_.integers.insert(literal_.integers.end(), static_cast<std::size_t>(count),
                             one.integers[0]);
  }
}

std::string ArrayReader::position(int depth) const {
  std::string out;
  for (int i = 0; i < depth; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ",", seen_[static_cast<std::size_t>(i)] - 1);
  }
  return "[" + out + "]";
}

void ArrayReader::open() {
  ++nest_level_;
  cursor_.fail_if(nest_level_ > shape_.rank(), "expects nested array in rank {}, but sees larger",
                  shape_.rank());
  if (nest_level_ > 1) {
    const int dim = nest_level_ - 2;
    if (++seen_[static_cast<std::size_t>(dim)] > size(dim)) {
      cursor_.fail("expects {} elements in the {}th element, but sees more", size(dim),
                   position(nest_level_ - 2));
    }
  }
  cursor_.advance();
}

void ArrayReader::close() {
  cursor_.fail_if(nest_level_ == 0, "unexpected '}' token");
  --nest_level_;
  std::int64_t& seen = seen_[static_cast<std::size_t>(nest_level_)];
  if (seen != size(nest_level_)) {
    cursor_.fail("expects {} elements in the {}th element, but sees {}", size(nest_level_),
                 position(nest_level_), seen);
  }
  seen = 0;
  cursor_.advance();
}

void ArrayReader::elide() {
  cursor_.fail_if(nest_level_ != 1, "expects `...` at nest level 1, but sees it at nest level {}",
                  nest_level_);
  seen_[0] = size(0);
  elided_ = true;
  cursor_.advance();
}

void ArrayReader::read_token() {
  switch (cursor_.token().kind) {
    case Tok::kLeftBrace:
      open();
      break;
    case Tok::kRightBrace:
      close();
      break;
    case Tok::kDots:
      elide();
      break;
    case Tok::kComma:
      cursor_.advance();
      break;
    default:
      read_element();
  }
}

void ArrayReader::count_element() {
  ++count_;
  if (shape_.rank() == 0) return;
  cursor_.fail_if(nest_level_ != shape_.rank(), "expects nested array in rank {}, but sees {}",
                  shape_.rank(), nest_level_);
  cursor_.fail_if(++seen_.back() > shape_.dims.back(),
                  "expects {} elements on the minor-most dimension, but sees more",
                  shape_.dims.back());
}

void ArrayReader::read_element() {
  switch (cursor_.token().kind) {
    case Tok::kInteger:
    case Tok::kDecimal:
    case Tok::kNonFinite:
      break;
    case Tok::kLeftParen:
      if (is_complex(shape_.dtype)) break;
      cursor_.fail("unexpected '(' in literal.  Parens are only valid for complex literals");
    case Tok::kRightBrace:
      cursor_.fail("unexpected '}' token");
    case Tok::kLeftBrace:
      open();
      return;
    default:
      cursor_.fail_if(!cursor_.at_keyword("true") && !cursor_.at_keyword("false"),
                      "unexpected token type in a literal");
  }
  count_element();
  if (is_complex(shape_.dtype)) {
    append_complex();
  } else if (is_floating(shape_.dtype)) {
    append_float(shape_.dtype);
  } else {
    append_integer();
  }
  ends_.push_back(texts_.size());
}

void ArrayReader::append_integer() {
  const Token token = cursor_.token();
  std::int64_t value = token.is_keyword("true") ? 1 : 0;
  if (token.is(Tok::kInteger)) {
    value = token.integer;
  } else if (!token.is(Tok::kKeyword)) {
    cursor_.fail("expects integer for primitive type: {}", type_name(shape_.dtype));
  }
  const IntegerRange range = range_of(shape_.dtype);
  cursor_.fail_if(value < range.least || value > range.most,
                  "value {} is out of range for literal's primitive type {} namely [{}, {}]",
                  token.text, type_name(shape_.dtype), range.least, range.most);
  cursor_.advance();
  if (literal_.integers.size() < static_cast<std::size_t>(kMostIntegers))
    literal_.integers.push_back(value);
  const auto out = std::back_inserter(texts_);
  if (shape_.dtype == DType::kPred && shape_.rank() == 0) {
    fmt::format_to(out, "{}", value != 0);
  } else if (shape_.dtype == DType::kU64) {
    fmt::format_to(out, "{}", static_cast<std::uint64_t>(value));
  } else {
    fmt::format_to(out, "{}", value);
  }
}

void ArrayReader::append_nan(DType dtype) {
  const Token token = cursor_.token();
  std::optional<std::uint64_t> payload;
  if (token.integer >= 0) {
    payload = static_cast<std::uint64_t>(token.integer);
    const std::uint64_t most = (std::uint64_t{1} << nan_payload_bits(dtype)) - 1;
    cursor_.fail_if(*payload > most,
                    "tries to set NaN payload 0x{:x} to a literal in shape {} at linear "
                    "index {}, but the NaN payload is out of range [0x0, 0x{:x}]",
                    *payload, ShapeText{shape_}, count_ - 1, most);
  }
  texts_ += canonical_nan(std::signbit(token.number), payload, dtype);
}

void ArrayReader::append_float(DType dtype) {
  const Token token = cursor_.token();
  double value = 0;
  switch (token.kind) {
    case Tok::kKeyword:
      value = token.is_keyword("true") ? 1 : 0;
      break;
    case Tok::kInteger:
      value = token.integer < 0 && token.text[0] != '-'
                  ? static_cast<double>(static_cast<std::uint64_t>(token.integer))
                  : static_cast<double>(token.integer);
      if (token.integer == 0 && token.text[0] == '-') value = -0.0;
      break;
    case Tok::kDecimal:
    case Tok::kNonFinite:
      value = token.number;
      break;
    default:
      cursor_.fail("expect floating point value for primitive type: {}", type_name(dtype));
  }
  if (std::isnan(value)) {
    append_nan(dtype);
  } else {
    const bool overflows = token.is(Tok::kDecimal) && std::isinf(value);
    cursor_.fail_if(overflows || !representable(value, dtype),
                    "value {} is out of range for literal's primitive type {}", token.text,
                    type_name(dtype));
    texts_ += canonical_float(value, dtype);
  }
  cursor_.advance();
}

void ArrayReader::append_complex() {
  const DType part = shape_.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
  texts_.push_back('(');
  if (cursor_.accept(Tok::kLeftParen)) {
    append_float(part);
    cursor_.expect(Tok::kComma, "expect ',' between the parts of a complex literal");
    texts_ += ", ";
    append_float(part);
    cursor_.expect(Tok::kRightParen, "expect ')' at the end of a complex literal");
  } else {
    append_float(part);
    texts_ += ", 0";
  }
  texts_.push_back(')');
}

void ArrayReader::print() {
  literal_.elided = literal_.elided || elided_;
  if (elided_) {
    literal_.text += "{...}";
    return;
  }
  cursor_.fail_if(static_cast<std::int64_t>(ends_.size()) != element_count(shape_),
                  "expects a literal of shape {}", ShapeText{shape_, false});
  std::size_t index = 0;
  append_array_literal(literal_.text, shape_.dims, [&](std::string& out) {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    out.append(texts_, begin, ends_[index] - begin);
    ++index;
  });
}

void read_part(Cursor& cursor, const Shape& shape, Literal& literal);

void read_tuple(Cursor& cursor, const Shape& shape, Literal& literal) {
  const Nesting nesting(cursor);
  cursor.expect(Tok::kLeftParen, "expects '(' in front of tuple elements");
  literal.text += "(";
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    if (i > 0) cursor.expect(Tok::kComma, "expects ',' to separate tuple elements");
    literal.text += i > 0 ? ", " : " ";
    read_part(cursor, shape.elements[i], literal);
  }
  cursor.expect(
      Tok::kRightParen,
      fmt::format("expects ')' at the end of the tuple with {} elements", shape.elements.size()));
  literal.text += shape.elements.empty() ? ")" : " )";
}

void read_part(Cursor& cursor, const Shape& shape, Literal& literal) {
  // Older XLA writes the type before each element of a tuple.
  if (!cursor.options().strict && cursor.at(Tok::kType)) {
    static_cast<void>(read_shape_before_literal(cursor));
  }
  if (shape.is_tuple()) {
    read_tuple(cursor, shape, literal);
  } else if (shape.is_array()) {
    cursor.fail_if(shape.is_unbounded(), "a literal cannot have an unbounded dimension");
    ArrayReader(cursor, shape, literal).read();
  } else {
    cursor.fail("a literal of type {} is not allowed", name(shape.dtype));
  }
}

}  // namespace

Literal read_literal(Cursor& cursor, const Shape& shape) {
  Literal literal;
  read_part(cursor, shape, literal);
  literal.is_integer = shape.is_array() && !literal.elided &&
                       (is_integer(shape.dtype) || shape.dtype == DType::kPred) &&
                       static_cast<std::int64_t>(literal.integers.size()) == element_count(shape);
  if (!literal.is_integer) literal.integers.clear();
  return literal;
}

}  // namespace tilecast::ir
