// The numbers and number-like patterns of HLO text, and string escapes.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ir/text/hlo_lexer.h"

namespace tilecast::ir {
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
