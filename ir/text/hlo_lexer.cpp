#include "ir/text/hlo_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/word_table.h"

namespace tilecast::ir {
namespace {

enum CharClass : std::uint8_t { kOther = 0, kDigit = 1, kLetter = 2, kInner = 4, kSpace = 8 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kDigit;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kLetter;
  table['_'] = kLetter;
  table['.'] = table['-'] = kInner;
  table[' '] = table['\t'] = table['\r'] = table['\n'] = kSpace;
  return table;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

// Tokens of one character; kEof if the character is not one.
constexpr std::array<Tok, 256> make_signs() {
  constexpr std::string_view kCharacters = "=,:*#+~@[]{}()";
  constexpr std::array<Tok, kCharacters.size()> kTokens = {
      Tok::kEqual,     Tok::kComma,      Tok::kColon,     Tok::kAsterisk,   Tok::kOctothorp,
      Tok::kPlus,      Tok::kTilde,      Tok::kAt,        Tok::kLeftSquare, Tok::kRightSquare,
      Tok::kLeftBrace, Tok::kRightBrace, Tok::kLeftParen, Tok::kRightParen};
  std::array<Tok, 256> table{};
  for (std::size_t i = 0; i < kTokens.size(); ++i) {
    table[static_cast<unsigned char>(kCharacters[i])] = kTokens[i];
  }
  return table;
}
constexpr std::array<Tok, 256> kSigns = make_signs();

bool is(char c, int classes) {
  return (kClasses[static_cast<unsigned char>(c)] & classes) != 0;
}

struct Word {
  Tok kind;
  bool table = false;  // starts a table of source locations
};
// Words other than types that are not identifiers; inf and nan start a number.
constexpr base::WordTable kWords(
    std::to_array<base::WordEntry<Word>>({{"inf", {Tok::kNonFinite}},
                                          {"nan", {Tok::kNonFinite}},
                                          {"true", {Tok::kKeyword}},
                                          {"ROOT", {Tok::kKeyword}},
                                          {"false", {Tok::kKeyword}},
                                          {"ENTRY", {Tok::kKeyword}},
                                          {"HloModule", {Tok::kKeyword}},
                                          {"FileNames", {Tok::kKeyword, true}},
                                          {"FunctionNames", {Tok::kKeyword, true}},
                                          {"FileLocations", {Tok::kKeyword, true}},
                                          {"StackFrames", {Tok::kKeyword, true}}}));

}  // namespace

bool is_table(std::string_view word) {
  const Word* const known = kWords.find(word);
  return known != nullptr && known->table;
}

std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t end = begin + 1;; ++end) {
    end = text.find(text[begin], end);
    if (end == std::string_view::npos) return end;
    std::size_t slashes = 0;
    while (text[end - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return end;
  }
}

std::size_t json_dict_end(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
    if (text[i] == '"') i = string_end(text, i);
    if (i == std::string_view::npos) break;
  }
  return std::string_view::npos;
}

void Lexer::fail(std::size_t offset, std::string_view message) const {
  const base::Position position = source_.position(offset);
  throw Error(source_.describe(
      offset, message, fmt::format("was parsing {}:{}: error", position.line, position.column)));
}

void Lexer::skip_block_comment() {
  const std::size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) fail(at_, "unterminated comment: expects '*/'");
  at_ = end + 2;
}

void Lexer::skip_space() {
  for (;;) {
    while (at_ < text_.size() && is(text_[at_], kSpace)) ++at_;
    if (at(at_) != '/') return;
    if (at(at_ + 1) == '*') {
      skip_block_comment();
    } else if (at(at_ + 1) == '/') {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    } else {
      return;
    }
  }
}

char Lexer::peek_char() {
  skip_space();
  return at(at_);
}

const Token& Lexer::next() {
  while (is(text_.data()[at_], kSpace)) ++at_;  // stops at the NUL after the text
  if (at(at_) == '/') skip_space();
  const std::size_t begin = at_;
  if (begin >= text_.size()) return make(Tok::kEof, text_.size(), text_.size());
  const char c = text_[begin];
  if (is(c, kLetter)) return identifier(begin);
  if (is(c, kDigit)) return number(begin);
  if (c == '%') return percent_name(begin);
  if (c == '"' || c == '\'') return string(begin);
  if (c == '-') return minus(begin);
  if (c != '?') return punctuation(begin);
  const std::size_t labels = match_dim_labels(begin);
  return labels != std::string_view::npos ? make(Tok::kDimLabels, begin, labels)
                                          : make(Tok::kQuestion, begin, begin + 1);
}

Token& Lexer::punctuation(std::size_t begin) {
  const Tok sign = kSigns[static_cast<unsigned char>(text_[begin])];
  if (sign != Tok::kEof) return make(sign, begin, begin + 1);
  if (text_.substr(begin, 2) == "<=") return make(Tok::kLessEqual, begin, begin + 2);
  if (text_.substr(begin, 3) == "...") return make(Tok::kDots, begin, begin + 3);
  const auto byte = static_cast<unsigned char>(text_[begin]);
  fail(begin, byte > 32 && byte < 127 ? fmt::format("unexpected character '{}'", text_[begin])
                                      : fmt::format("unexpected byte 0x{:02x}", byte));
}

Token& Lexer::minus(std::size_t begin) {
  const char c = at(begin + 1);
  if (c == '>') return make(Tok::kArrow, begin, begin + 2);
  if (is(c, kDigit) || c == '.') return number(begin);
  if (text_.substr(begin + 1, 3) == "inf" || text_.substr(begin + 1, 3) == "nan") {
    return non_finite(begin, begin + 1);
  }
  fail(begin, "unexpected character '-'");
}

// The end of the name that continues at `offset`; the NUL after the text ends it at the latest.
std::size_t Lexer::name_end(std::size_t offset) const {
  const char* at = text_.data() + offset;
  while (is(*at, kLetter | kDigit | kInner)) ++at;
  return static_cast<std::size_t>(at - text_.data());
}

Token& Lexer::percent_name(std::size_t begin) {
  std::size_t end = begin + 1;
  if (!is(at(end), kLetter)) fail(begin, "expects a name after '%'");
  end = name_end(end);
  Token& token = make(Tok::kName, begin, end);
  token.text.remove_prefix(1);
  return token;
}

Token& Lexer::identifier(std::size_t begin) {
  std::size_t end = name_end(begin + 1);
  const char next = at(end);
  if (next == ':' || next == '=') {
    Token& token = make(next == ':' ? Tok::kName : Tok::kAttributeName, begin, end);
    token.end = at_ = end + 1;
    return token;
  }
  if (next == '>' || next == '?') {
    const std::size_t labels = match_dim_labels(begin);
    if (labels != std::string_view::npos) return make(Tok::kDimLabels, begin, labels);
    if (text_[end - 1] == '-' && next == '>') --end;  // `a->b`
  }
  return word(begin, end);
}

Token& Lexer::word(std::size_t begin, std::size_t end) {
  const std::string_view text(text_.data() + begin, end - begin);
  const std::optional<DType> dtype = parse_dtype(text);
  if (dtype && *dtype != DType::kTuple && *dtype != DType::kBuffer) {  // not written by name
    Token& token = make(Tok::kType, begin, end);
    token.dtype = *dtype;
    return token;
  }
  const Word* const known = kWords.find(text);
  if (known == nullptr) return make(Tok::kIdentifier, begin, end);
  return known->kind == Tok::kNonFinite ? non_finite(begin, begin) : make(known->kind, begin, end);
}

Token& Lexer::non_finite(std::size_t begin, std::size_t word_begin) {
  const bool is_nan = text_[word_begin] == 'n';
  const double sign = begin == word_begin ? 1.0 : -1.0;
  std::size_t end = word_begin + 3;
  std::int64_t payload = -1;
  if (is_nan && text_.substr(end, 3) == "(0x") {
    std::uint64_t value = 0;
    const char* const first = text_.data() + end + 3;
    const auto [stop, status] = std::from_chars(first, text_.data() + text_.size(), value, 16);
    const auto close = static_cast<std::size_t>(stop - text_.data());
    if (status != std::errc{} || at(close) != ')' || value > (std::uint64_t{1} << 52)) {
      fail(begin, "invalid NaN payload, expects nan(0x<hexadecimal digits>)");
    }
    payload = static_cast<std::int64_t>(value);
    end = close + 1;
  }
  Token& token = make(Tok::kNonFinite, begin, end);
  token.integer = payload;
  token.number = std::copysign(
      is_nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity(),
      sign);
  return token;
}

Token& Lexer::string(std::size_t begin) {
  const std::size_t end = string_end(text_, begin);
  if (end == std::string_view::npos) fail(begin, "unterminated string");
  Token& token = make(Tok::kString, begin, end + 1);
  token.text = text_.substr(begin + 1, end - begin - 1);
  return token;
}

std::string_view Lexer::take_json_dict(std::size_t offset) {
  const std::size_t end = json_dict_end(text_, offset);
  if (end == std::string_view::npos)
    fail(offset, "unterminated dictionary: expects a matching '}'");
  at_ = end;
  return text_.substr(offset, end - offset);
}

// The numbers and number-like patterns of HLO text, and string escapes.

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Escapes such as
// , by letter and by value.
constexpr std::string_view kEscapeLetters = "ntrabfv";
constexpr std::string_view kEscapeValues = "\n\t\r\a\b\f\v";

}  // namespace

std::size_t Lexer::skip_digits(std::size_t offset) const {
  while (is_digit(at(offset))) ++offset;
  return offset;
}

// [-] (digits '.' [digits] | '.' digits) [exponent] | [-] digits exponent; npos if it does not
// match.
std::size_t Lexer::match_decimal(std::size_t begin) const {
  std::size_t end = at(begin) == '-' ? begin + 1 : begin;
  const std::size_t whole = end;
  end = skip_digits(end);
  bool has_digits = end != whole;
  bool decimal = false;
  if (at(end) == '.') {
    const std::size_t fraction = end + 1;
    end = skip_digits(fraction);
    has_digits = has_digits || end != fraction;
    decimal = true;
  }
  if (!has_digits) return std::string_view::npos;
  if (at(end) == 'e' || at(end) == 'E') {
    const std::size_t sign = at(end + 1) == '-' || at(end + 1) == '+' ? end + 2 : end + 1;
    if (const std::size_t stop = skip_digits(sign); stop != sign) return stop;
  }
  return decimal ? end : std::string_view::npos;
}

// [0-9bf?]{2,} _ [0-9io?]{2,} -> [0-9bf?]{2,}
std::size_t Lexer::match_dim_labels(std::size_t begin) const {
  const auto run = [this](std::size_t offset, char a, char b) {
    std::size_t end = offset;
    while (is_digit(at(end)) || at(end) == a || at(end) == b || at(end) == '?') ++end;
    return end - offset >= 2 ? end : std::string_view::npos;
  };
  const std::size_t lhs = run(begin, 'b', 'f');
  if (lhs == std::string_view::npos || at(lhs) != '_') return std::string_view::npos;
  const std::size_t rhs = run(lhs + 1, 'i', 'o');
  if (rhs == std::string_view::npos || at(rhs) != '-' || at(rhs + 1) != '>')
    return std::string_view::npos;
  return run(rhs + 2, 'b', 'f');
}

// low_high[_interior], joined by x.
std::size_t Lexer::match_padding(std::size_t begin) const {
  std::size_t end = begin;
  for (;;) {
    for (int part = 0; part < 3; ++part) {
      if (part > 0) {
        if (at(end) != '_') {
          if (part == 1) return std::string_view::npos;
          break;
        }
        ++end;
      }
      const std::size_t digits = at(end) == '-' ? end + 1 : end;
      end = skip_digits(digits);
      if (end == digits) return std::string_view::npos;
    }
    if (at(end) != 'x') return end;
    ++end;
  }
}

Token& Lexer::number(std::size_t begin) {
  const std::size_t digits_end = skip_digits(at(begin) == '-' ? begin + 1 : begin);
  switch (at(digits_end)) {
    case '.':
    case 'e':
    case 'E':
      if (const std::size_t end = match_decimal(begin); end != std::string_view::npos) {
        return decimal(begin, end);
      }
      break;
    case '_':
    case 'b':
    case 'f':
    case '?':
      if (const std::size_t end = match_dim_labels(begin); end != std::string_view::npos) {
        return make(Tok::kDimLabels, begin, end);
      }
      if (const std::size_t end = match_padding(begin); end != std::string_view::npos) {
        return make(Tok::kPadding, begin, end);
      }
      break;
    case 'x': {
      std::size_t end = digits_end;
      while (at(end) == 'x' && skip_digits(end + 1) != end + 1) end = skip_digits(end + 1);
      if (end != digits_end && at(begin) != '-') return make(Tok::kSizes, begin, end);
      break;
    }
    default:
      break;
  }
  return integer(begin, digits_end);
}

Token& Lexer::decimal(std::size_t begin, std::size_t end) {
  Token& token = make(Tok::kDecimal, begin, end);
  const char* const last = text_.data() + end;
  const auto [stop, status] = std::from_chars(text_.data() + begin, last, token.number);
  if (status == std::errc::result_out_of_range) {
    const bool tiny = text_.substr(begin, end - begin).find("e-") != std::string_view::npos ||
                      text_.substr(begin, end - begin).find("E-") != std::string_view::npos;
    token.number = tiny ? 0.0 : (text_[begin] == '-' ? -HUGE_VAL : HUGE_VAL);
  } else if (status != std::errc{} || stop != last) {
    fail(begin, "invalid number");
  }
  return token;
}

Token& Lexer::integer(std::size_t begin, std::size_t end) {
  Token& token = make(Tok::kInteger, begin, end);
  const char* const first = text_.data() + begin;
  const char* const last = text_.data() + end;
  if (std::from_chars(first, last, token.integer).ec == std::errc{}) return token;
  std::uint64_t bits = 0;
  if (*first == '-' || std::from_chars(first, last, bits).ec != std::errc{}) {
    fail(begin, fmt::format("integer {} does not fit in 64 bits", token.text));
  }
  token.integer = static_cast<std::int64_t>(bits);
  return token;
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    if (c >= '0' && c <= '7') {
      int value = c - '0';
      for (int n = 0; n < 2 && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '7';
           ++n) {
        value = value * 8 + (text[++i] - '0');
      }
      out.push_back(static_cast<char>(value));
    } else if (c == 'x' && i + 1 < text.size() && hex_value(text[i + 1]) >= 0) {
      int value = hex_value(text[++i]);
      if (i + 1 < text.size() && hex_value(text[i + 1]) >= 0) {
        value = value * 16 + hex_value(text[++i]);
      }
      out.push_back(static_cast<char>(value));
    } else {
      const std::size_t letter = kEscapeLetters.find(c);
      out.push_back(letter != std::string_view::npos ? kEscapeValues[letter] : c);
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t letter = kEscapeValues.substr(0, 3).find(c);  // \n \t \r
    if (letter != std::string_view::npos) {
      out += {'\\', kEscapeLetters[letter]};
    } else if (c == '"' || c == '\'' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 32 || byte >= 127) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace tilecast::ir
