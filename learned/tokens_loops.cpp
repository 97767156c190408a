#include <fmt/format.h>

#include <cctype>
#include <map>

#include "learned/tokens.h"

namespace tilecast::learned {
namespace {

// Characters of names and of constants with their type.
bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@';
}
bool is_constant_char(char c) {
  return is_name_char(c) || c == ':' || c == '-' || c == '+';
}
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes the word before the next blank off the line.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

class LoopTokens {
 public:
  LoopTokens(const TextSpec& spec, const TokenSink& sink) : write_(spec, sink) {}

  void line(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("program ") || line == "{" || line.empty()) return;
    if (line == "}") return close();
    std::string_view rest = line;
    const std::string_view head = take_word(rest);
    if (head == "input" || head == "output" || head == "temporary") {
      write_.word(head);
      buffer(rest);
    } else if (head == "loop" || head == "parallel" || head == "unroll" || head == "vector") {
      write_.word(head);
      loop(rest);
    } else if (head == "guard") {
      write_.word(head);
      if (write_.operands()) expression(rest);
      open_.emplace_back();
    } else if (head == "copy" || head == "multiply") {
      write_.word(head);
      box(rest);
    } else if (rest.find(' ') == std::string_view::npos) {  // producer_acquire a.shared
      write_.word(head);
      if (write_.operands()) write_.word(name_of(rest));
    } else {
      expression(line);
    }
  }

 private:
  // "main a f32[512,256] strides 1,512 stages 3"
  void buffer(std::string_view rest) {
    write_.word(take_word(rest));
    const std::string name(take_word(rest));
    const std::size_t number = buffers_.size();
    buffers_.emplace(name, fmt::format("${}", number));
    if (write_.operands()) write_.word(name_of(name));
    write_.shape(take_word(rest));
    while (!rest.empty()) {
      write_.word(take_word(rest));
      numbers(take_word(rest), ',');
    }
  }

  // "io < 8 {"
  void loop(std::string_view rest) {
    const std::string variable(take_word(rest));
    const std::string called = fmt::format("i{}", depth_++);
    open_.push_back(variable);
    variables_[variable] = called;
    if (write_.operands()) write_.word(called);
    take_word(rest);
    write_.number(take_word(rest));
  }

  void close() {
    if (open_.empty()) return;  // end of the program
    write_.word("}");
    if (!open_.back().empty()) --depth_;
    open_.pop_back();
  }

  // "a[0] = b[0] size 64x32 async"
  void box(std::string_view rest) {
    const std::size_t size = rest.rfind(" size ");
    if (write_.operands()) expression(rest.substr(0, size));
    rest.remove_prefix(size + 1);
    write_.word(take_word(rest));
    write_.shape(take_word(rest));
    while (!rest.empty()) write_.word(take_word(rest));
  }

  void numbers(std::string_view list, char separator) const {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(separator), list.size());
      write_.number(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }

  [[nodiscard]] std::string_view name_of(std::string_view name) const {
    if (const auto found = buffers_.find(name); found != buffers_.end()) return found->second;
    if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
    return name;
  }

  void expression(std::string_view text) {
    while (!text.empty()) {
      std::size_t size = 0;
      while (size < text.size() && is_constant_char(text[size])) ++size;
      if (text.substr(0, size).find(':') == std::string_view::npos) {
        size = 0;
        while (size < text.size() &&
               (is_name_char(text[size]) || (text[size] == '-' && size > 0))) {
          ++size;
        }
      }
      if (size == 0) {
        size = mark(text);
      } else {
        part(text.substr(0, size), text.substr(size));
      }
      if (!write_.operands() && text.substr(0, size) == "where") return;
      text.remove_prefix(size);
    }
  }

  // Length of a punctuation mark of one or two characters, or a blank.
  std::size_t mark(std::string_view text) {
    const std::size_t size = text.starts_with("<=") || text.starts_with("+=") ? 2 : 1;
    const bool assigns = text[0] == '=';
    if (text[0] != ' ' && (write_.operands() || assigns)) write_.word(text.substr(0, size));
    return size;
  }

  void part(std::string_view text, std::string_view rest) {
    const bool is_op = rest.starts_with('(') || rest.starts_with('=');
    if (is_op || text == "where") return write_.word(text);
    if (!write_.operands()) return;
    if (is_number(text)) return write_.number(text);
    write_.word(name_of(text));
  }

  TokenWriter write_;
  std::map<std::string, std::string, std::less<>> buffers_, variables_;
  std::vector<std::string> open_;  // variables of open loops; empty for guards
  int depth_ = 0;
};

}  // namespace

void loop_tokens(std::string_view text, const TextSpec& spec, const TokenSink& sink) {
  LoopTokens tokens(spec, sink);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    tokens.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace tilecast::learned
