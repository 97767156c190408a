// The parser's position in the text: the current token, and readers of simple attribute values.
// Internal to the parse_*.cpp files.
//
// Every reader either consumes its input or throws Error at the offending token.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/hlo.h"
#include "ir/message.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/known_arrays.h"

namespace tilecast::ir {

inline constexpr int kMaxDepth = 128;  // nesting of shapes, literals, computations and braces

class Cursor {
 public:
  Cursor(const base::SourceText& source, ParseOptions options) : lexer_(source), options_(options) {
    advance();
  }

  [[nodiscard]] const Token& token() const { return lexer_.token(); }
  [[nodiscard]] const ParseOptions& options() const { return options_; }
  [[nodiscard]] std::string_view text() const { return lexer_.source().text(); }
  [[nodiscard]] std::vector<std::string>& warnings() { return warnings_; }
  void advance() {
    read_up_to_ = token().end;
    lexer_.next();
  }
  [[nodiscard]] std::size_t read_up_to() const { return read_up_to_; }  // end of the token before
  [[nodiscard]] KnownArrays& known_arrays() { return known_arrays_; }
  [[nodiscard]] bool at(Tok kind) const { return token().is(kind); }
  [[nodiscard]] bool at_keyword(std::string_view word) const { return token().is_keyword(word); }
  // The next character after the current token, ignoring white space and comments.
  [[nodiscard]] char peek_char() { return lexer_.peek_char(); }
  // Moves back to the token that starts at `offset`.
  void rewind(std::size_t offset);
  bool accept(Tok kind) { return at(kind) && (advance(), true); }
  void expect(Tok kind, std::string_view message);

  // Throw Error at the current token or at `offset`, with a message or a format and its arguments.
  [[noreturn]] void fail(std::string_view message) const;
  template <class Arg, class... Args>
  [[noreturn]] void fail(fmt::format_string<Arg, Args...> format, Arg&& arg, Args&&... args) const {
    fail(fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const {
    lexer_.fail(offset, message);
  }
  template <class Arg, class... Args>
  [[noreturn]] void fail_at(std::size_t offset, fmt::format_string<Arg, Args...> format, Arg&& arg,
                            Args&&... args) const {
    fail_at(offset, fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
  }
  void fail_if(bool wrong, std::string_view message) const {
    if (wrong) [[unlikely]]
      fail(message);
  }
  template <class Arg, class... Args>
  void fail_if(bool wrong, fmt::format_string<Arg, Args...> format, Arg&& arg,
               Args&&... args) const {
    if (wrong) [[unlikely]]
      fail(format, std::forward<Arg>(arg), std::forward<Args>(args)...);
  }
  void fail_at_if(bool wrong, std::size_t offset, std::string_view message) const {
    if (wrong) [[unlikely]]
      fail_at(offset, message);
  }
  template <class Arg, class... Args>
  void fail_at_if(bool wrong, std::size_t offset, fmt::format_string<Arg, Args...> format,
                  Arg&& arg, Args&&... args) const {
    if (wrong) [[unlikely]]
      fail_at(offset, format, std::forward<Arg>(arg), std::forward<Args>(args)...);
  }
  void complain(std::size_t offset, const std::string& message);  // warns; fails in strict mode

  std::int64_t integer(std::string_view message = "expects integer");
  // As above, at least `least`.
  std::int64_t integer_from(std::int64_t least, std::string_view what);
  double number();
  bool boolean();
  std::string string();         // unescaped
  std::string quoted_string();  // canonical, with its quotes
  std::string_view name();      // `%x`, `x` or `x:`; also `f16`
  void enter(std::string_view computation) { inside_ = computation; }  // for messages
  std::string_view identifier(std::string_view message);               // also keywords
  // Reads `{a, b}`, which may be empty, calling `read` at each item. `what` describes the list in
  // messages; `open` and `close` choose other brackets.
  template <class Read>
  void list(std::string_view what, Read&& read, Tok open = Tok::kLeftBrace,
            Tok close = Tok::kRightBrace) {
    const auto sign = [](Tok kind) {
      return kind == Tok::kLeftBrace    ? '{'
             : kind == Tok::kRightBrace ? '}'
             : kind == Tok::kLeftParen  ? '('
             : kind == Tok::kRightParen ? ')'
             : kind == Tok::kLeftSquare ? '['
                                        : ']';
    };
    fail_if(!at(open), "expects '{}' to start {}", sign(open), what);
    advance();
    if (!at(close)) {
      do {
        read();
      } while (accept(Tok::kComma));
    }
    fail_if(!at(close), "expects '{}' at the end of {}", sign(close), what);
    advance();
  }
  Dims int_list();                // {0,1}
  std::vector<Dims> int_lists();  // {{0,1},{2,3}}
  // Consumes the text from the current `{` to its `}`, ignoring braces in strings.
  std::string_view braces();
  // Consumes the text of any value: braces, string, word or number.
  std::string_view any_value();

 private:
  friend class Nesting;
  Lexer lexer_;
  ParseOptions options_;
  std::string_view inside_;  // name of the computation being parsed
  std::size_t read_up_to_ = 0;
  KnownArrays known_arrays_;
  std::vector<std::string> warnings_;
  int depth_ = 0;
};

// Counts one level of recursion; throws Error beyond kMaxDepth.
class Nesting {
 public:
  explicit Nesting(Cursor& cursor);
  ~Nesting() { --cursor_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Cursor& cursor_;
};

}  // namespace tilecast::ir
