// Lexer of HLO text. The parser requests one token at a time, because values such as
// `backend_config={...}` are not made of tokens and are read as raw text (take_json_dict).
//
//   Lexer lexer(text);                        // a base::SourceText, which must outlive the lexer
//   for (Token t = lexer.next(); t.kind != Tok::kEof; t = lexer.next()) ...
//
// Tokens are views into the text. Throws Error with the position for lexical errors. Grammar: XLA's
// HLO lexer. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/source_text.h"
#include "ir/dtype.h"

namespace tilecast::ir {

enum class Tok : std::uint8_t {
  kEof,
  kEqual,
  kComma,
  kColon,
  kAsterisk,
  kOctothorp,
  kPlus,
  kTilde,
  kQuestion,
  kAt,  // = , : * # + ~ ? @
  kLeftSquare,
  kRightSquare,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kArrow,
  kLessEqual,
  kDots,           // -> <= ...
  kName,           // `%x` or `x:`; text is x
  kAttributeName,  // `x=` without a space; text is x
  kIdentifier,
  kType,       // f32, bf16 ...; see Token::dtype
  kKeyword,    // true false inf HloModule ENTRY ROOT ...; text says which
  kInteger,    // see Token::integer; 2^63 .. 2^64-1 are kept as the same 64 bits
  kDecimal,    // 1.5, 2e-3; see Token::number
  kNonFinite,  // inf -inf nan -nan nan(0x7fc00000); number, payload in Token::integer (-1: none)
  kDimLabels,  // b01f_01io->b01f
  kSizes,      // 3x3
  kPadding,    // 0_0x1_1
  kString,     // "x", and 'x' of a mesh axis; text is between the quotes, escapes as written
};

struct Token {
  Tok kind = Tok::kEof;
  DType dtype = DType::kInvalid;
  std::size_t begin = 0, end = 0;  // offsets in the source text
  std::string_view text;
  std::int64_t integer = 0;
  double number = 0;

  [[nodiscard]] bool is(Tok k) const { return kind == k; }
  [[nodiscard]] bool is_keyword(std::string_view word) const {
    return kind == Tok::kKeyword && text == word;
  }
};

class Lexer {
 public:
  explicit Lexer(const base::SourceText& source) : source_(source), text_(source.text()) {}

  // Reads the next token; the reference is valid until the following call.
  const Token& next();
  [[nodiscard]] const Token& token() const { return token_; }
  // Continues reading at `offset` (a token's begin, or the end of a raw value).
  void seek(std::size_t offset) { at_ = offset; }
  // The next character after white space and comments, '\0' at the end; does not consume it.
  [[nodiscard]] char peek_char();
  // The text from the `{` at `offset` to its matching `}`, ignoring braces inside strings; reading
  // continues after it. Throws Error if it is not closed.
  std::string_view take_json_dict(std::size_t offset);

  [[nodiscard]] const base::SourceText& source() const { return source_; }
  // Error "file:L:C: was parsing L:C: error: message", the source line and a caret.
  [[noreturn]] void fail(std::size_t offset, std::string_view message) const;

 private:
  void skip_space();
  void skip_block_comment();
  [[nodiscard]] std::size_t name_end(std::size_t offset) const;
  Token& identifier(std::size_t begin);
  Token& percent_name(std::size_t begin);
  Token& word(std::size_t begin, std::size_t end);
  Token& number(std::size_t begin);
  Token& decimal(std::size_t begin, std::size_t end);
  Token& integer(std::size_t begin, std::size_t end);
  Token& non_finite(std::size_t begin, std::size_t word_begin);
  Token& string(std::size_t begin);
  Token& punctuation(std::size_t begin);
  Token& minus(std::size_t begin);
  Token& make(Tok kind, std::size_t begin, std::size_t end) {  // in place, to avoid a copy
    token_.kind = kind;
    token_.dtype = DType::kInvalid;
    token_.begin = begin;
    token_.end = at_ = end;
    token_.text = {text_.data() + begin, end - begin};
    token_.integer = 0;
    token_.number = 0;
    return token_;
  }
  [[nodiscard]] std::size_t match_dim_labels(std::size_t begin) const;
  [[nodiscard]] std::size_t match_padding(std::size_t begin) const;
  [[nodiscard]] std::size_t match_decimal(std::size_t begin) const;
  [[nodiscard]] std::size_t skip_digits(std::size_t at) const;
  [[nodiscard]] char at(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }

  const base::SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  Token token_;
};

// Whether the word starts a table of source locations after the module header.
[[nodiscard]] bool is_table(std::string_view word);

// The closing quote of the string that starts with the quote at `begin`; npos if it is not closed.
[[nodiscard]] std::size_t string_end(std::string_view text, std::size_t begin);
// The end of the dict that starts with the `{` at `begin`; npos if it is not closed.
[[nodiscard]] std::size_t json_dict_end(std::string_view text, std::size_t begin);

// Resolves the escapes
// \t \" \\ \' \xHH \ooo of a string token; escape() is the inverse.
[[nodiscard]] std::string unescape(std::string_view text);
[[nodiscard]] std::string escape(std::string_view text);

}  // namespace tilecast::ir
