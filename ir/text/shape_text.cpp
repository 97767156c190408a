#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "ir/message.h"

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

}  // namespace tilecast::ir
