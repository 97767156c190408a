#include "ir/text/parse_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "ir/text/value_readers.h"

namespace tilecast::ir {

void Cursor::rewind(std::size_t offset) {
  lexer_.seek(offset);
  advance();
}

void Cursor::fail(std::string_view message) const {
  if (!at(Tok::kEof) || inside_.empty()) lexer_.fail(token().begin, message);
  lexer_.fail(token().begin,
              fmt::format("{}; the text ends inside computation {}", message, inside_));
}

void Cursor::expect(Tok kind, std::string_view message) {
  fail_if(!at(kind), message);
  advance();
}

void Cursor::complain(std::size_t offset, const std::string& message) {
  if (options_.strict) fail_at(offset, message);
  constexpr std::size_t kMostWarnings = 100;
  if (warnings_.size() >= kMostWarnings) return;
  const base::SourceText& source = lexer_.source();
  const base::Position position = source.position(offset);
  warnings_.push_back(base::printable(
      fmt::format("{}:{}:{}: {}", source.file(), position.line, position.column, message)));
}

std::int64_t Cursor::integer(std::string_view message) {
  if (token().kind != Tok::kInteger) fail(message);
  const std::int64_t value = token().integer;
  advance();
  return value;
}

std::int64_t Cursor::integer_from(std::int64_t least, std::string_view what) {
  const std::size_t begin = token().begin;
  const std::int64_t value = integer();
  fail_at_if(value < least, begin, "{} must be >= {}, got {}", what, least, value);
  return value;
}

double Cursor::number() {
  double value = 0;
  switch (token().kind) {
    case Tok::kInteger:
      value = static_cast<double>(token().integer);
      break;
    case Tok::kDecimal:
    case Tok::kNonFinite:
      value = token().number;
      break;
    default:
      fail("expects decimal or integer");
  }
  advance();
  return value;
}

bool Cursor::boolean() {
  const bool value = at_keyword("true");
  if (!value && !at_keyword("false")) fail("expects true or false");
  advance();
  return value;
}

std::string canonical_string(std::string_view literal_body) {
  const bool plain = std::all_of(literal_body.begin(), literal_body.end(), [](char c) {
    return c >= 32 && c < 127 && c != '\\' && c != '\'' && c != '"';
  });
  std::string out;
  out.reserve(literal_body.size() + 2);
  out.push_back('"');
  if (plain) {
    out.append(literal_body);
  } else {
    out += escape(unescape(literal_body));
  }
  out.push_back('"');
  return out;
}

std::string Cursor::string() {
  if (token().kind != Tok::kString) fail("expects string");
  std::string value = unescape(token().text);
  advance();
  return value;
}

std::string Cursor::quoted_string() {
  if (token().kind != Tok::kString) fail("expects string");
  std::string value = canonical_string(token().text);
  advance();
  return value;
}

std::string_view Cursor::name() {
  const bool is_name = at(Tok::kName) || at(Tok::kIdentifier) || at(Tok::kType);  // also `f16`
  if (!is_name) fail("expects name");
  const std::string_view value = token().text;
  advance();
  return value;
}

std::string_view Cursor::identifier(std::string_view message) {
  if (token().kind != Tok::kIdentifier && token().kind != Tok::kKeyword) fail(message);
  const std::string_view value = token().text;
  advance();
  return value;
}

Dims Cursor::int_list() {
  Dims values;
  list("a list of integers", [&] { values.push_back(integer()); });
  return values;
}

std::vector<Dims> Cursor::int_lists() {
  std::vector<Dims> lists;
  list("a list of lists", [&] { lists.push_back(int_list()); });
  return lists;
}

std::string_view Cursor::braces() {
  if (token().kind != Tok::kLeftBrace) fail("expects '{'");
  const std::string_view text = lexer_.take_json_dict(token().begin);
  advance();
  return text;
}

std::string_view Cursor::any_value() {
  if (token().kind == Tok::kLeftBrace) return braces();
  const Token first = token();
  switch (first.kind) {
    case Tok::kEof:
    case Tok::kComma:
    case Tok::kRightBrace:
    case Tok::kRightParen:
      fail("expects a value");
    default:
      advance();
  }
  const std::size_t length = first.end - first.begin;
  return lexer_.source().text().substr(first.begin, length);
}

Nesting::Nesting(Cursor& cursor) : cursor_(cursor) {
  cursor_.fail_if(cursor_.depth_ >= kMaxDepth, "nested too deeply, the limit is {} levels",
                  kMaxDepth);
  ++cursor_.depth_;
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0, end = 0; i < text.size(); i = end) {
    end = i + 1;
    if (text[i] == '"') end = std::min(string_end(text, i), text.size() - 1) + 1;
    if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      out.append(text, i, end - i);
    } else if (!out.ends_with(' ')) {
      out += ' ';
    }
  }
  return out;
}

std::string to_text(std::span<const std::int64_t> values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::string to_text(const std::vector<Dims>& lists) {
  std::string out = "{";
  for (const Dims& list : lists) {
    if (out.size() > 1) out.push_back(',');
    out += to_text(std::span<const std::int64_t>(list.data(), list.size()));
  }
  return out + "}";
}

}  // namespace tilecast::ir
