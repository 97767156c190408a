// Attribute values with a syntax of their own: windows, convolution labels, paddings, slices,
// replica groups and aliasing.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

std::int64_t number_in(const Cursor& cursor, std::string_view text, std::size_t begin) {
  std::int64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  cursor.fail_at_if(status != std::errc{} || stop != text.data() + text.size(), begin,
                    "expects an integer of 64 bits, got {}", text);
  return value;
}

// The parts of `text` between separators, as numbers.
Dims split_numbers(const Cursor& cursor, std::string_view text, char separator, std::size_t begin) {
  Dims values;
  for (;;) {
    const std::size_t end = text.find(separator);
    values.push_back(number_in(cursor, text.substr(0, end), begin));
    if (end == std::string_view::npos) return values;
    text.remove_prefix(end + 1);
  }
}

// `3`, `3x3`.
Dims read_sizes(Cursor& cursor) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kInteger) && !token.is(Tok::kSizes),
                 "expects token type kInt or kDxD");
  cursor.advance();
  return split_numbers(cursor, token.text, 'x', token.begin);
}

// `0_0x1_1`: groups of numbers.
std::vector<Dims> read_number_groups(Cursor& cursor, std::string_view message) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kPadding), message);
  cursor.advance();
  std::vector<Dims> groups;
  std::string_view rest = token.text;
  for (;;) {
    const std::size_t end = rest.find('x');
    groups.push_back(split_numbers(cursor, rest.substr(0, end), '_', token.begin));
    if (end == std::string_view::npos) return groups;
    rest.remove_prefix(end + 1);
  }
}

struct WindowText {
  Dims size, stride, lhs_dilate, rhs_dilate, rhs_reversal;
  std::vector<Dims> pad;
};

void read_window_item(Cursor& cursor, WindowText& text) {
  const Token key = cursor.token();
  cursor.expect(Tok::kAttributeName, "expects sub-attributes in window");
  if (key.text == "pad") {
    cursor.fail_at_if(!text.pad.empty(), key.begin, "sub-attribute 'pad=' already exists");
    text.pad = read_number_groups(cursor, "expects window pad pattern, e.g., '0_0x3_3'");
    for (const Dims& pair : text.pad) {
      cursor.fail_at_if(pair.size() != 2, key.begin,
                        "expects padding_low and padding_high separated by '_'");
    }
    return;
  }
  Dims* const target = key.text == "size"           ? &text.size
                       : key.text == "stride"       ? &text.stride
                       : key.text == "lhs_dilate"   ? &text.lhs_dilate
                       : key.text == "rhs_dilate"   ? &text.rhs_dilate
                       : key.text == "rhs_reversal" ? &text.rhs_reversal
                                                    : nullptr;
  cursor.fail_at_if(target == nullptr, key.begin, "unexpected attribute name: {}", key.text);
  cursor.fail_at_if(!target->empty(), key.begin, "sub-attribute '{}=' already exists", key.text);
  *target = read_sizes(cursor);
}

void check_window(const Cursor& cursor, const WindowText& text, std::size_t begin) {
  const auto check = [&](std::string_view key, std::size_t count) {
    cursor.fail_at_if(count != 0 && count != text.size.size(), begin,
                      "expects '{}=' has the same size as 'size='", key);
  };
  check("stride", text.stride.size());
  check("lhs_dilate", text.lhs_dilate.size());
  check("rhs_dilate", text.rhs_dilate.size());
  check("pad", text.pad.size());
  check("rhs_reversal", text.rhs_reversal.size());
  cursor.fail_at_if(static_cast<int>(text.size.size()) > Shape::kMaxRank, begin,
                    "a window has at most 32 dimensions");
}

// Positions of two named labels (b and f, or i and o) and of the digits in `labels`.
struct Labels {
  int first = -1, second = -1;
  Dims spatial;
};

Labels read_labels(const Cursor& cursor, std::string_view text, std::string_view side,
                   std::string_view letters, std::size_t begin) {
  Labels labels;
  const auto fail = [&](std::string_view what) {
    cursor.fail_at(begin, "{} in {} dimension numbers, but sees {}", what, side, text);
  };
  labels.spatial.assign(text.size(), -1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '?') continue;
    cursor.fail_at_if(text.find(c, i + 1) != std::string_view::npos, begin,
                      "expects unique {} dimension numbers, but sees {}", side, text);
    if (c == letters[0]) {
      labels.first = static_cast<int>(i);
    } else if (c == letters[1]) {
      labels.second = static_cast<int>(i);
    } else if (c >= '0' && static_cast<std::size_t>(c - '0') < text.size()) {
      labels.spatial[static_cast<std::size_t>(c - '0')] = static_cast<std::int64_t>(i);
      ++count;
    } else {
      fail(fmt::format("expects [0-{}{}]", text.size() - 1, letters));
    }
  }
  labels.spatial.resize(count);
  for (const std::int64_t at : labels.spatial) {
    if (at < 0) fail("expects consecutive spatial dimensions");
  }
  if (labels.first < 0 || labels.second < 0) {
    fail(fmt::format("expects {} and {}", letters[0], letters[1]));
  }
  return labels;
}

}  // namespace

Window read_window(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  cursor.expect(Tok::kLeftBrace, "expected '{' to start window attribute");
  WindowText text;
  while (!cursor.at(Tok::kRightBrace)) {
    read_window_item(cursor, text);
    cursor.accept(Tok::kComma);
  }
  check_window(cursor, text, begin);
  cursor.advance();
  Window window(text.size.size());
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowDim& dim = window[i];
    dim.size = text.size[i];
    if (!text.stride.empty()) dim.stride = text.stride[i];
    if (!text.lhs_dilate.empty()) dim.base_dilation = text.lhs_dilate[i];
    if (!text.rhs_dilate.empty()) dim.window_dilation = text.rhs_dilate[i];
    if (!text.rhs_reversal.empty()) dim.reversal = text.rhs_reversal[i] == 1;
    if (!text.pad.empty()) {
      dim.pad_low = text.pad[i][0];
      dim.pad_high = text.pad[i][1];
    }
  }
  return window;
}

ConvDims read_conv_dims(Cursor& cursor) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kDimLabels), "expects dim labels pattern, e.g., 'bf0_0io->0bf'");
  const std::string_view text = token.text;
  const std::size_t underscore = text.find('_');
  const std::size_t arrow = text.find("->");
  const std::string_view lhs = text.substr(0, underscore);
  const std::string_view rhs = text.substr(underscore + 1, arrow - underscore - 1);
  const std::string_view out = text.substr(arrow + 2);
  const Labels input = read_labels(cursor, lhs, "lhs", "bf", token.begin);
  const Labels kernel = read_labels(cursor, rhs, "rhs", "io", token.begin);
  const Labels output = read_labels(cursor, out, "output", "bf", token.begin);
  cursor.fail_if(input.spatial.size() != kernel.spatial.size() ||
                     input.spatial.size() != output.spatial.size(),
                 "convolution lhs, rhs, and output must have the same rank");
  cursor.advance();
  ConvDims dims;
  dims.input_batch = input.first;
  dims.input_feature = input.second;
  dims.kernel_input_feature = kernel.first;
  dims.kernel_output_feature = kernel.second;
  dims.output_batch = output.first;
  dims.output_feature = output.second;
  dims.input_spatial = input.spatial;
  dims.kernel_spatial = kernel.spatial;
  dims.output_spatial = output.spatial;
  dims.text = text;
  return dims;
}

std::vector<PadDim> read_padding(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  std::vector<PadDim> dims;
  if (cursor.at(Tok::kString) && cursor.token().text.empty()) {
    cursor.advance();
    return dims;
  }
  constexpr std::string_view kExpected =
      "expects padding config pattern like 'low_high_interior' or 'low_high'";
  for (const Dims& part : read_number_groups(cursor, kExpected)) {
    cursor.fail_at_if(part.size() != 2 && part.size() != 3, begin, kExpected);
    dims.push_back({part[0], part[1], part.size() == 3 ? part[2] : 0});
    cursor.fail_at_if(dims.back().interior < 0, begin, "interior padding must be >= 0");
  }
  return dims;
}

std::vector<SliceDim> read_slices(Cursor& cursor) {
  std::vector<SliceDim> dims;
  cursor.expect(Tok::kLeftBrace, "expects '{' to start ranges");
  while (!cursor.at(Tok::kRightBrace)) {
    cursor.expect(Tok::kLeftSquare, "expects '[' to start a range");
    SliceDim dim;
    dim.start = cursor.integer();
    cursor.expect(Tok::kColon, "expects ':' between start and limit");
    dim.limit = cursor.integer();
    if (cursor.accept(Tok::kColon)) dim.stride = cursor.integer();
    cursor.expect(Tok::kRightSquare, "expects ']' to end a range");
    dims.push_back(dim);
    cursor.fail_if(!cursor.accept(Tok::kComma) && !cursor.at(Tok::kRightBrace),
                   "expects ',' or '}' in ranges");
  }
  cursor.advance();
  return dims;
}

Dims read_square_dims(Cursor& cursor) {
  Dims dims;
  cursor.expect(Tok::kLeftSquare, "expects '[' to start a list of dimensions");
  do {
    cursor.fail_if(static_cast<int>(dims.size()) >= Shape::kMaxRank, "at most 32 dimensions");
    dims.push_back(cursor.integer_from(1, "dimension"));
  } while (cursor.accept(Tok::kComma));
  cursor.expect(Tok::kRightSquare, "expects ']' at the end of a list of dimensions");
  return dims;
}

namespace {

bool read_alias_kind(Cursor& cursor) {
  const Token word = cursor.token();
  const std::string_view text = cursor.identifier("expects 'may-alias' or 'must-alias'");
  cursor.fail_at_if(text != "may-alias" && text != "must-alias", word.begin,
                    "Unexpected aliasing kind {}, expects 'may-alias' or "
                    "'must-alias'",
                    text);
  return text == "must-alias";
}

}  // namespace

std::vector<Alias> read_aliases(Cursor& cursor, bool with_kind) {
  constexpr std::string_view kFormat =
      "Expected format: <output_shape_index>: (<input_param>, <input_param_shape_index>) OR "
      "<output_shape_index>: <input_param>";
  std::vector<Alias> aliases;
  cursor.expect(Tok::kLeftBrace, "Expects '{' at the start of aliasing description");
  while (!cursor.at(Tok::kRightBrace)) {
    Alias alias;
    alias.output_index = read_shape_index(cursor);
    cursor.expect(Tok::kColon, kFormat);
    cursor.expect(Tok::kLeftParen, kFormat);
    alias.operand = cursor.integer_from(0, "number of the aliased operand");
    cursor.expect(Tok::kComma, kFormat);
    alias.operand_index = read_shape_index(cursor);
    if (with_kind && cursor.accept(Tok::kComma)) alias.must_alias = read_alias_kind(cursor);
    cursor.expect(Tok::kRightParen, kFormat);
    aliases.push_back(std::move(alias));
    if (!cursor.accept(Tok::kComma)) break;
  }
  cursor.expect(Tok::kRightBrace, "Expects '}' at the end of aliasing description");
  return aliases;
}

}  // namespace tilecast::ir
