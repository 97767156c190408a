// Attributes that carry no computation: metadata, frontend attributes, statistics, accuracy and
// origin. They are checked and kept as canonical text, as XLA prints them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

// In the order in which XLA prints them.
enum class MetadataKind { kString, kInteger, kIntegers, kBoolean };
struct MetadataField {
  std::string_view key;
  MetadataKind kind;
};
constexpr std::array<MetadataField, 12> kMetadataFields = {{
    {"op_type", MetadataKind::kString},
    {"op_name", MetadataKind::kString},
    {"source_file", MetadataKind::kString},
    {"source_line", MetadataKind::kInteger},
    {"source_end_line", MetadataKind::kInteger},
    {"source_column", MetadataKind::kInteger},
    {"source_end_column", MetadataKind::kInteger},
    {"profile_type", MetadataKind::kIntegers},
    {"deduplicated_name", MetadataKind::kString},
    {"preserve_layout", MetadataKind::kBoolean},
    {"scheduling_name", MetadataKind::kString},
    {"stack_frame_id", MetadataKind::kInteger},
}};

// Canonical text of the field's value; empty when it is the default, which is not printed.
std::string read_metadata_value(Cursor& cursor, MetadataKind kind) {
  switch (kind) {
    case MetadataKind::kString: {
      std::string text = cursor.quoted_string();
      return text == "\"\"" ? std::string() : text;
    }
    case MetadataKind::kInteger: {
      const std::int64_t value = cursor.integer();
      return value == 0 ? std::string() : std::to_string(value);
    }
    case MetadataKind::kIntegers: {
      const Dims values = cursor.int_list();
      return values.empty() ? std::string() : to_text({values.data(), values.size()});
    }
    case MetadataKind::kBoolean:
      return cursor.boolean() ? "true" : "";
  }
  return {};
}

void append_item(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (!out.empty()) out.push_back(' ');
  out.append(key);
  out.push_back('=');
  out.append(value);
}

// A double as absl::StrCat prints it: six significant digits.
std::string short_number(double value) {
  return fmt::format("{:g}", value);
}

}  // namespace

std::string read_metadata(Cursor& cursor) {
  std::array<std::string, kMetadataFields.size()> values;
  std::uint32_t seen = 0;
  std::string unknown;
  cursor.expect(Tok::kLeftBrace, "expects '{' to start metadata");
  while (!cursor.accept(Tok::kRightBrace)) {
    const Token key = cursor.token();
    cursor.expect(Tok::kAttributeName, "expects sub-attributes in metadata");
    const auto field = std::find_if(kMetadataFields.begin(), kMetadataFields.end(),
                                    [&](const MetadataField& f) { return f.key == key.text; });
    if (field == kMetadataFields.end()) {
      cursor.complain(key.begin, fmt::format("unexpected attribute \"{}\" in metadata", key.text));
      append_item(unknown, key.text, cursor.any_value());
    } else {
      const auto index = static_cast<std::size_t>(field - kMetadataFields.begin());
      const std::uint32_t bit = std::uint32_t{1} << index;
      cursor.fail_at_if((seen & bit) != 0, key.begin, "attribute {} already exists", key.text);
      seen |= bit;
      values[index] = read_metadata_value(cursor, field->kind);
    }
    cursor.accept(Tok::kComma);
  }
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    append_item(out, kMetadataFields[i].key, values[i]);
  }
  if (!unknown.empty()) out += (out.empty() ? "" : " ") + unknown;
  return out;
}

std::string read_metadata_list(Cursor& cursor) {
  if (cursor.at(Tok::kLeftBrace) && cursor.peek_char() != '{') {
    return "{" + read_metadata(cursor) + "}";
  }
  std::string out;
  cursor.list("a list of metadata",
              [&] { out += (out.empty() ? "{" : ", {") + read_metadata(cursor) + "}"; });
  return "{" + out + "}";
}

std::string read_frontend_attributes(Cursor& cursor) {
  std::map<std::string, std::string, std::less<>> items;  // printed sorted by key
  cursor.expect(Tok::kLeftBrace, "expects '{' to start frontend attributes");
  while (!cursor.accept(Tok::kRightBrace)) {
    const Token key = cursor.token();
    std::string name;
    if (key.is(Tok::kString)) {
      name = cursor.quoted_string();
      cursor.expect(Tok::kEqual, "expects '=' after the name of a frontend attribute");
    } else {
      cursor.expect(Tok::kAttributeName, "expects attribute name");
      name = key.text;
    }
    std::string value =
        cursor.at(Tok::kLeftBrace) ? std::string(cursor.braces()) : cursor.quoted_string();
    cursor.fail_at_if(!items.emplace(std::move(name), std::move(value)).second, key.begin,
                      "attribute {} already exists", key.text);
    cursor.fail_if(!cursor.accept(Tok::kComma) && !cursor.at(Tok::kRightBrace),
                   "expects ',' or '}' in frontend attributes");
  }
  std::string out = "{";
  for (const auto& [name, value] : items) {
    out += fmt::format("{}{}={}", out.size() > 1 ? "," : "", name, value);
  }
  return out + "}";
}

std::string read_statistics(Cursor& cursor) {
  std::string out = "{";
  cursor.expect(Tok::kLeftBrace, "expects '{' to start statistics");
  const Token first = cursor.token();
  cursor.fail_if(!first.is(Tok::kAttributeName) || first.text != "visualizing_index",
                 "expects 'visualizing_index=' at the start of statistics");
  cursor.advance();
  out += fmt::format("visualizing_index={}", cursor.integer());
  while (cursor.accept(Tok::kComma)) {
    const Token key = cursor.token();
    cursor.expect(Tok::kAttributeName, "expects the name of a statistic");
    const Token value = cursor.token();
    static_cast<void>(cursor.number());
    out += fmt::format(",{}={}", key.text, value.text);
  }
  cursor.expect(Tok::kRightBrace, "expects '}' at the end of statistics");
  return out + "}";
}

namespace {

std::string read_tolerance(Cursor& cursor) {
  constexpr std::array<std::string_view, 3> kKeys = {"atol", "rtol", "ulps"};
  std::array<std::string, 3> values = {"0", "0", "0"};
  cursor.expect(Tok::kLeftBrace, "expects '{' to start tolerance");
  while (!cursor.accept(Tok::kRightBrace)) {
    const Token key = cursor.token();
    cursor.expect(Tok::kAttributeName, "expects attribute name");
    const auto found = std::find(kKeys.begin(), kKeys.end(), key.text);
    cursor.fail_at_if(found == kKeys.end(), key.begin, "invalid attribute name");
    const double number =
        *found == "ulps" ? static_cast<double>(cursor.integer()) : cursor.number();
    values[static_cast<std::size_t>(found - kKeys.begin())] = short_number(number);
    cursor.accept(Tok::kComma);
  }
  return fmt::format("{{atol={},rtol={},ulps={}}}", values[0], values[1], values[2]);
}

}  // namespace

std::string read_result_accuracy(Cursor& cursor) {
  std::string out;
  cursor.expect(Tok::kLeftBrace, "expects '{' to start result_accuracy");
  const Token key = cursor.token();
  cursor.expect(Tok::kAttributeName, "expects attribute name");
  if (key.text == "mode") {
    const Token mode = cursor.token();
    const std::string_view word = cursor.identifier("expects a mode of accuracy");
    cursor.fail_at_if(word != "default" && word != "highest", mode.begin,
                      "Unknown accuracy mode {}", word);
    if (word == "highest") out = "{mode=highest}";
  } else if (key.text == "tolerance") {
    out = "{tolerance=" + read_tolerance(cursor) + "}";
  } else {
    cursor.fail_at(key.begin, "invalid attribute name");
  }
  cursor.expect(Tok::kRightBrace, "expects '}' at the end of result_accuracy");
  return out;
}

std::string read_origin(Cursor& cursor) {
  std::string out;
  int depth = 0;
  Tok last = Tok::kComma;
  do {
    const Token token = cursor.token();
    switch (token.kind) {
      case Tok::kEof:
        cursor.fail("expects '}' at the end of origin");
      case Tok::kLeftBrace:
      case Tok::kLeftParen:
        cursor.fail_if(++depth > kMaxDepth, "origin is nested too deeply");
        if (last == Tok::kString) out.push_back(' ');
        out += token.text;
        break;
      case Tok::kRightBrace:
      case Tok::kRightParen:
        --depth;
        out += token.text;
        break;
      case Tok::kComma:
        out += ", ";
        break;
      case Tok::kString:
        out += canonical_string(token.text);
        break;
      default:
        cursor.fail_if(depth == 0, "expects '{' to start origin");
        out += token.text;
    }
    last = token.kind;
    cursor.advance();
  } while (depth > 0);
  return out;
}

}  // namespace tilecast::ir
