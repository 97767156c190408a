#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>

#include "ir/message.h"
#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

// Tuples get a comment with the position at every fifth element.
constexpr std::size_t kCommentInterval = 5;

void append(std::string& out, std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

// `(8,128)`; `*` for a combined dimension.
void append_tile(std::string& out, const Dims& tile) {
  out += '(';
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (i > 0) out += ',';
    if (tile[i] == kCombineTileDim) {
      out += '*';
    } else {
      append(out, tile[i]);
    }
  }
  out += ')';
}

void append_item(std::string& out, std::string_view letter, std::int64_t value) {
  out += letter;
  out += '(';
  append(out, value);
  out += ')';
}

// Length of the first item of `items`, e.g. 9 for `P(s32[2]) ...`.
std::size_t item_length(std::string_view items) {
  int depth = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i] == '(') ++depth;
    if (items[i] == ')' && --depth == 0) {
      // `D(S)(D)` is one item of several groups.
      if (i + 1 == items.size() || items[i + 1] != '(') return i + 1;
    }
  }
  return items.size();
}

// Appends the items of `Layout::other` that begin with one of `letters`.
void append_raw_items(std::string& out, std::string_view items, std::string_view letters) {
  while (!items.empty()) {
    const std::size_t length = item_length(items);
    if (letters.find(items.front()) != std::string_view::npos) out += items.substr(0, length);
    items.remove_prefix(length);
  }
}

// Appends the items after `:`, in the fixed order of XLA's layout printer.
void append_properties(std::string& out, const Layout& layout) {
  append_raw_items(out, layout.other, "D");
  if (!layout.tiles.empty()) out += 'T';
  for (const Dims& tile : layout.tiles) append_tile(out, tile);
  if (layout.tail_alignment != 1) append_item(out, "L", layout.tail_alignment);
  append_raw_items(out, layout.other, "#*");
  if (layout.element_bits != 0) append_item(out, "E", layout.element_bits);
  if (layout.memory_space != 0) append_item(out, "S", layout.memory_space);
  if (!layout.split_config.empty()) {
    out += "SC";
    out += layout.split_config;
  }
  append_raw_items(out, layout.other, "P");
  if (layout.dynamic_prefix_bytes != 0) append_item(out, "M", layout.dynamic_prefix_bytes);
}

void append_layout(std::string& out, const Layout& layout, bool is_scalar) {
  const std::size_t start = out.size();
  out += '{';
  for (std::size_t i = 0; i < layout.minor_to_major.size(); ++i) {
    if (i > 0) out += ',';
    append(out, layout.minor_to_major[i]);
  }
  const std::size_t colon = out.size();
  out += ':';
  append_properties(out, layout);
  if (out.size() == colon + 1) out.pop_back();
  out += '}';
  if (is_scalar && out.size() == start + 2) out.resize(start);
}

void append_shape(std::string& out, const Shape& shape, bool with_layout);

void append_elements(std::string& out, const Shape& shape, bool with_layout) {
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && i % kCommentInterval == 0) {
      out += "/*index=";
      append(out, static_cast<std::int64_t>(i));
      out += "*/";
    }
    append_shape(out, shape.elements[i], with_layout);
  }
}

void append_dims(std::string& out, const Shape& shape) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) out += ',';
    const std::int64_t dim = shape.dims[static_cast<std::size_t>(i)];
    if (dim == kUnboundedSize) {
      out += '?';
      continue;
    }
    if (shape.is_dynamic(i)) out += "<=";
    append(out, dim);
  }
}

void append_shape(std::string& out, const Shape& shape, bool with_layout) {
  if (shape.is_tuple() || shape.dtype == DType::kBuffer) {
    out += shape.is_tuple() ? "(" : "b(";
    append_elements(out, shape, with_layout);
    out += ')';
    return;
  }
  out += name(shape.dtype);
  out += '[';
  append_dims(out, shape);
  out += ']';
  if (with_layout && shape.layout && shape.is_array()) {
    append_layout(out, *shape.layout, shape.dims.empty());
  }
}

}  // namespace

std::string to_string(const Shape& shape, bool with_layout) {
  std::string out;
  append_shape(out, shape, with_layout);
  return out;
}

std::string TypeText::str() const {
  std::string text(name(dtype));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string DimsText::str() const {
  const std::string text = fmt::format("{}", fmt::join(dims, ", "));
  return in_braces ? "{" + text + "}" : text;
}

// Shapes and layouts of HLO text.

namespace {

bool at_word(const Cursor& cursor, std::string_view word) {
  return cursor.at(Tok::kIdentifier) && cursor.token().text == word;
}

// `(…)` after a layout item's letter, as compact text.
std::string item_in_parens(Cursor& cursor) {
  std::string out;
  cursor.expect(Tok::kLeftParen, "expects '(' after a layout item");
  for (int depth = 1;;) {
    if (cursor.at(Tok::kLeftParen)) ++depth;
    if (cursor.at(Tok::kRightParen) && --depth == 0) break;
    cursor.fail_if(cursor.at(Tok::kEof), "expects ')' at the end of a layout item");
    out.append(cursor.token().text);
    if (cursor.at(Tok::kName)) out.push_back(':');
    cursor.advance();
  }
  cursor.advance();
  return "(" + out + ")";
}

std::int64_t int_in_parens(Cursor& cursor, std::string_view what) {
  cursor.expect(Tok::kLeftParen, "expects '(' after a layout item");
  const std::int64_t value = cursor.integer_from(0, what);
  cursor.expect(Tok::kRightParen, "expects ')' at the end of a layout item");
  return value;
}

int small_int_in_parens(Cursor& cursor, std::string_view what) {
  const std::size_t begin = cursor.token().begin;
  const std::int64_t value = int_in_parens(cursor, what);
  cursor.fail_at_if(value > std::numeric_limits<int>::max(), begin, "{} {} is out of range", what,
                    value);
  return static_cast<int>(value);
}

Dims read_tile(Cursor& cursor) {
  Dims tile;
  cursor.expect(Tok::kLeftParen, "expects '(' to start a tile");
  while (!cursor.at(Tok::kRightParen)) {
    cursor.fail_if(static_cast<int>(tile.size()) >= Shape::kMaxRank,
                   "a tile has at most 32 dimensions");
    if (cursor.accept(Tok::kAsterisk)) {
      tile.push_back(kCombineTileDim);
    } else if (cursor.at(Tok::kInteger)) {
      tile.push_back(cursor.integer_from(1, "tile dimension"));
    } else {
      cursor.fail("expects tile dimension to be integer or '*'");
    }
    cursor.fail_if(!cursor.accept(Tok::kComma) && !cursor.at(Tok::kRightParen),
                   "expects ',' or ')' in a tile");
  }
  cursor.advance();
  return tile;
}

void read_tiles(Cursor& cursor, Layout& layout) {
  constexpr std::size_t kMostTiles = 16;
  do {
    cursor.fail_if(layout.tiles.size() >= kMostTiles, "a layout has at most 16 tilings");
    layout.tiles.push_back(read_tile(cursor));
  } while (cursor.at(Tok::kLeftParen));
}

void read_sparse_leftovers(Cursor& cursor, Layout& layout) {
  if (cursor.accept(Tok::kOctothorp)) layout.other += "#" + item_in_parens(cursor);
  if (cursor.accept(Tok::kAsterisk)) layout.other += "*" + item_in_parens(cursor);
}

// `(D,C+,S)`: one level of storage per dimension; `+`: not unique, `~`: not ordered.
std::string read_dim_levels(Cursor& cursor, std::size_t rank) {
  std::string out;
  std::size_t count = 0;
  cursor.expect(Tok::kLeftParen, "expects '(' after D");
  do {
    const std::size_t begin = cursor.token().begin;
    const std::string_view level = cursor.identifier("expects a dimension level");
    const bool modified = cursor.at(Tok::kPlus) || cursor.at(Tok::kTilde);
    cursor.fail_at_if(level.find_first_not_of("DCSH") != std::string_view::npos ||
                          level.size() != 1 || (level == "D" && modified),
                      begin, "invalid DimLevelType/unique/ordered combination in shape");
    out += count++ == 0 ? "" : ",";
    out += level;
    if (cursor.accept(Tok::kPlus)) out += "+";
    if (cursor.accept(Tok::kTilde)) out += "~";
  } while (cursor.accept(Tok::kComma));
  cursor.expect(Tok::kRightParen, "expects ')' after dimension levels");
  cursor.fail_if(count != rank, "Dimensions size is {}, but dim level types size is {}.", rank,
                 count);
  return "(" + out + ")";
}

// `P(shape)`: how a sparse array is stored.
void read_physical_shape(Cursor& cursor, Layout& layout) {
  const bool sparse =
      layout.other.starts_with('D') && layout.other.find_first_of("CSH") < layout.other.find(')');
  cursor.fail_if(!sparse, "dense shapes must not have a physical shape P(...)");
  const Nesting nesting(cursor);
  cursor.advance();
  cursor.expect(Tok::kLeftParen, "expects '(' after P");
  layout.other += "P(" + to_string(read_shape(cursor)) + ")";
  cursor.expect(Tok::kRightParen, "expects ')' after the physical shape");
}

// The items after `:`, in the order in which XLA prints them, each optional.
void read_layout_items(Cursor& cursor, Layout& layout) {
  const auto accept = [&cursor](std::string_view word) {
    if (!at_word(cursor, word)) return false;
    cursor.advance();
    return true;
  };
  if (accept("D")) layout.other += "D" + read_dim_levels(cursor, layout.minor_to_major.size());
  if (accept("T")) read_tiles(cursor, layout);
  if (accept("L")) layout.tail_alignment = std::max<std::int64_t>(1, int_in_parens(cursor, "L"));
  read_sparse_leftovers(cursor, layout);
  if (accept("E")) layout.element_bits = small_int_in_parens(cursor, "element size");
  if (accept("S")) layout.memory_space = small_int_in_parens(cursor, "memory space");
  if (accept("SC")) {
    do {
      layout.split_config += item_in_parens(cursor);
    } while (cursor.at(Tok::kLeftParen));
  }
  if (at_word(cursor, "P")) read_physical_shape(cursor, layout);
  if (accept("M")) layout.dynamic_prefix_bytes = int_in_parens(cursor, "metadata prefix");
}

Layout read_layout(Cursor& cursor) {
  Layout layout;
  cursor.expect(Tok::kLeftBrace, "expects layout to start with '{'");
  if (cursor.at(Tok::kInteger)) {
    do {
      cursor.fail_if(static_cast<int>(layout.minor_to_major.size()) >= Shape::kMaxRank,
                     "a layout has at most 32 dimensions");
      layout.minor_to_major.push_back(cursor.integer_from(0, "dimension number"));
    } while (cursor.accept(Tok::kComma));
  }
  if (cursor.accept(Tok::kColon)) read_layout_items(cursor, layout);
  cursor.expect(Tok::kRightBrace, "expects layout to end with '}'");
  return layout;
}

void read_dimension(Cursor& cursor, Shape& shape) {
  cursor.fail_if(shape.rank() >= Shape::kMaxRank, "a shape has at most {} dimensions",
                 Shape::kMaxRank);
  if (cursor.accept(Tok::kQuestion)) {
    shape.set_dynamic(shape.rank());
    shape.dims.push_back(kUnboundedSize);
    return;
  }
  if (cursor.accept(Tok::kLessEqual)) shape.set_dynamic(shape.rank());
  shape.dims.push_back(cursor.integer_from(0, "dimension size"));
}

void check_element_count(const Cursor& cursor, const Shape& shape, std::size_t begin) {
  std::int64_t product = 1;
  bool overflow = false;
  for (const std::int64_t dim : shape.dims) {
    if (dim == 0) return;
    if (dim == kUnboundedSize) continue;
    overflow = overflow || __builtin_mul_overflow(product, dim, &product);
  }
  cursor.fail_at_if(overflow || product > (std::int64_t{1} << 62), begin,
                    "the shape has more than 2^62 elements");
}

// With `literal_follows`, braces are a layout only when they touch the shape: s32[2] {1,2}.
Shape read_new_array(Cursor& cursor, bool literal_follows) {
  const std::size_t begin = cursor.token().begin;
  Shape shape;
  shape.dtype = cursor.token().dtype;
  cursor.advance();
  cursor.expect(Tok::kLeftSquare, "expects '[' at the start of the shape's dimensions");
  if (!cursor.at(Tok::kRightSquare)) {
    do {
      read_dimension(cursor, shape);
    } while (cursor.accept(Tok::kComma));
  }
  const std::size_t end = cursor.token().end;
  cursor.expect(Tok::kRightSquare, "expects ']' at the end of the shape's dimensions");
  check_element_count(cursor, shape, begin);
  if (cursor.at(Tok::kLeftBrace) && (!literal_follows || cursor.token().begin == end)) {
    const char next = cursor.peek_char();
    if (next == ':' || (next >= '0' && next <= '9')) shape.layout = read_layout(cursor);
  }
  if (shape.layout && shape.layout->minor_to_major.size() != shape.dims.size()) {
    cursor.fail_at(begin, "Dimensions size is {}, but minor to major size is {}.", shape.rank(),
                   shape.layout->minor_to_major.size());
  }
  if (!is_array_element(shape.dtype)) {
    cursor.fail_at_if(!shape.dims.empty(), begin, "token and opaque shapes have no dimensions");
    shape.layout.reset();
  }
  return shape;
}

// The likely text of the array shape at the token: up to its `]`, or to the `}` of a layout
// directly after it. Empty if long.
std::string_view array_text(const Cursor& cursor) {
  constexpr std::size_t kLongest = 96;
  const std::string_view text = cursor.text().substr(cursor.token().begin, kLongest);
  std::size_t end = text.find(']');
  if (end + 2 < text.size() && end != std::string_view::npos && text[end + 1] == '{') {
    const char next = text[end + 2];
    if (next == ':' || (next >= '0' && next <= '9')) end = text.find('}', end);
  }
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

// Caches shapes by text. A cached shape was parsed from exactly that text; if it has no layout, one
// may still follow after a space.
Shape read_array(Cursor& cursor, bool literal_follows) {
  KnownArrays& known = cursor.known_arrays();
  const std::size_t begin = cursor.token().begin;
  const std::string_view text = array_text(cursor);
  if (const Shape* const found = known.find(text)) {
    cursor.rewind(begin + text.size());
    if (text.ends_with('}') || !cursor.at(Tok::kLeftBrace)) return *found;
    cursor.rewind(begin);
  }
  Shape shape = read_new_array(cursor, literal_follows);
  if (cursor.read_up_to() == begin + text.size()) known.add(text, shape);
  return shape;
}

Shape read_tuple(Cursor& cursor) {
  const Nesting nesting(cursor);
  std::vector<Shape> elements;
  cursor.list(
      "a tuple", [&] { elements.push_back(read_shape(cursor)); }, Tok::kLeftParen,
      Tok::kRightParen);
  return Shape::tuple(std::move(elements));
}

Shape read_buffer(Cursor& cursor) {
  const Nesting nesting(cursor);
  Shape shape;
  shape.dtype = DType::kBuffer;
  cursor.advance();
  cursor.expect(Tok::kLeftParen, "expects '(' after b in a buffer shape");
  shape.elements.push_back(read_shape(cursor));
  cursor.expect(Tok::kRightParen, "expects ')' at the end of a buffer shape");
  return shape;
}

}  // namespace

bool at_shape(Cursor& cursor) {
  return (cursor.at(Tok::kType) && cursor.peek_char() == '[') || cursor.at(Tok::kLeftParen) ||
         (at_word(cursor, "b") && cursor.peek_char() == '(');
}

Shape read_shape(Cursor& cursor) {
  if (cursor.at(Tok::kType)) return read_array(cursor, /*literal_follows=*/false);
  if (cursor.at(Tok::kLeftParen)) return read_tuple(cursor);
  if (at_shape(cursor)) return read_buffer(cursor);
  cursor.fail("expected primitive type, saw {}",
              cursor.at(Tok::kEof) ? "the end of the text" : cursor.token().text);
}

Shape read_shape_before_literal(Cursor& cursor) {
  return cursor.at(Tok::kType) ? read_array(cursor, /*literal_follows=*/true) : read_shape(cursor);
}

void fill_default_layouts(Shape& shape) {
  for (Shape& element : shape.elements) fill_default_layouts(element);
  if (shape.is_array() && !shape.layout) shape.layout = default_layout(shape.rank());
}

Dims read_shape_index(Cursor& cursor) {
  Dims index;
  cursor.expect(Tok::kLeftBrace, "Expects '{' at the start of ShapeIndex");
  if (!cursor.at(Tok::kRightBrace)) {
    do {
      index.push_back(cursor.integer_from(0, "shape index"));
    } while (cursor.accept(Tok::kComma));
  }
  cursor.expect(Tok::kRightBrace, "Expects '}' at the end of ShapeIndex");
  return index;
}

}  // namespace tilecast::ir
