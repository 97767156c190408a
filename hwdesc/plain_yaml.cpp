#include "hwdesc/plain_yaml.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilecast::hwdesc {
namespace {

using Kind = ConfigNode::Kind;

constexpr int kDeepest = 16;
constexpr std::size_t kLongestKey = 128;

struct NotPlain {};

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/';
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ConfigNode document() {
    next_line();
    if (at_end() || column() != 1) throw NotPlain{};
    ConfigNode root = block_mapping();
    if (!at_end()) throw NotPlain{};
    return root;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }
  [[nodiscard]] int column() const { return static_cast<int>(at_ - line_start_) + 1; }
  [[nodiscard]] ConfigNode node(Kind kind) const {
    ConfigNode made;
    made.kind = kind;
    made.at = {file_, line_, column()};
    return made;
  }

  void skip_spaces() {
    while (look() == ' ') ++at_;
  }
  // Skips blanks, comments and line ends up to the next word.
  void next_line() {
    for (;;) {
      const std::size_t before = at_;
      skip_spaces();
      if (look() == '#' && (at_ > before || column() == 1)) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      }
      if (at_end() || look() != '\n') return;
      ++at_;
      ++line_;
      line_start_ = at_;
    }
  }
  // The same; throws NotPlain where something is left on this line.
  void end_line() {
    const int line = line_;
    next_line();
    if (!at_end() && line_ == line) throw NotPlain{};
  }
  [[nodiscard]] bool at_dash() const { return look() == '-' && look(1) == ' '; }

  [[nodiscard]] std::string quoted() {
    const char quote = look();
    std::string value;
    for (++at_; look() != quote; ++at_) {
      char c = look();
      if (c == '\n') throw NotPlain{};
      if (c == '\\' && quote == '"') {
        constexpr std::string_view kEscaped = "nrt\"\\", kMeant = "\n\r\t\"\\";
        ++at_;
        const std::size_t which = kEscaped.find(look());
        if (which == std::string_view::npos) throw NotPlain{};
        c = kMeant[which];
      }
      value += c;
    }
    ++at_;
    if (look() == '\'') throw NotPlain{};  // a quote within quotes
    return value;
  }
  [[nodiscard]] std::string_view word(bool in_flow) {
    if (!starts_word(look()) && !(look() == '-' && starts_word(look(1)))) throw NotPlain{};
    const std::size_t first = at_;
    std::size_t end = at_;  // without blanks behind it
    for (; look() != '\n'; ++at_) {
      const char c = look();
      if (c == ' ') continue;
      if (c == '#' && end < at_) break;
      if (c == ':' && (look(1) == ' ' || look(1) == '\n')) break;
      if (in_flow) {
        constexpr std::string_view kEnds = ",]}", kUnclear = "[{:\"'?";
        if (kEnds.find(c) != std::string_view::npos) break;
        if (kUnclear.find(c) != std::string_view::npos) throw NotPlain{};
      }
      end = at_ + 1;
    }
    at_ = end;
    return text_.substr(first, end - first);
  }
  [[nodiscard]] ConfigNode scalar(bool in_flow) {
    ConfigNode value = node(Kind::kScalar);
    if (look() == '"' || look() == '\'') {
      value.scalar = quoted();
    } else {
      value.scalar = word(in_flow);
      const std::string& said = value.scalar;
      if (said == "Null" || said == "NULL") throw NotPlain{};
      if (said == "null") value = {.at = std::move(value.at)};
    }
    return value;
  }

  // The key of an entry and the colon behind it.
  [[nodiscard]] std::pair<std::string, Origin> key(const ConfigNode& mapping, bool in_flow) {
    ConfigNode key = scalar(in_flow);
    if (look() != ':' || (look(1) != ' ' && look(1) != '\n')) throw NotPlain{};
    ++at_;
    const std::size_t length = key.scalar.size();  // 0 for null, too
    if (length == 0 || length > kLongestKey || mapping.find(key.scalar)) throw NotPlain{};
    return {std::move(key.scalar), std::move(key.at)};
  }
  static void add(ConfigNode& mapping, std::pair<std::string, Origin> key, ConfigNode value) {
    std::tie(value.key, value.at) = std::move(key);
    mapping.children.push_back(std::move(value));
  }

  // `[a, b]` or `{a: 1, b: 2}`.
  [[nodiscard]] ConfigNode flow() {
    const bool maps = look() == '{';
    const char end = maps ? '}' : ']';
    ConfigNode made = node(maps ? Kind::kMapping : Kind::kSequence);
    const Nested nested(*this);
    ++at_;
    flow_gap();
    while (look() != end) {
      std::pair<std::string, Origin> name;
      if (maps) name = key(made, /*in_flow=*/true);
      if (maps) flow_gap();
      ConfigNode value = look() == '[' || look() == '{' ? flow() : scalar(/*in_flow=*/true);
      if (maps) {
        add(made, std::move(name), std::move(value));
      } else {
        made.children.push_back(std::move(value));
      }
      flow_gap();
      if (look() == end) break;
      if (look() != ',') throw NotPlain{};
      ++at_;
      flow_gap();
      if (look() == end) throw NotPlain{};
    }
    ++at_;
    return made;
  }
  void flow_gap() {
    next_line();
    if (at_end() || column() == 1) throw NotPlain{};
  }

  // What stands behind a key or a dash on its line, and the line's end.
  [[nodiscard]] ConfigNode inline_value() {
    ConfigNode value = look() == '[' || look() == '{' ? flow() : scalar(/*in_flow=*/false);
    end_line();
    return value;
  }
  // The value of a key at this column: on its line, or a block below.
  [[nodiscard]] ConfigNode value_of(int key_column) {
    const int line = line_;
    next_line();
    if (!at_end() && line_ == line) return inline_value();
    if (at_end() || column() < key_column) return node(Kind::kNull);
    if (at_dash()) return block_list();
    return column() > key_column ? block_mapping() : node(Kind::kNull);
  }
  [[nodiscard]] ConfigNode block_mapping() {
    const int first = column();
    ConfigNode mapping = node(Kind::kMapping);
    const Nested nested(*this);
    while (!at_end() && column() == first) {
      auto name = key(mapping, /*in_flow=*/false);
      add(mapping, std::move(name), value_of(first));
    }
    if (!at_end() && column() > first) throw NotPlain{};
    return mapping;
  }
  [[nodiscard]] ConfigNode block_list() {
    const int first = column();
    ConfigNode list = node(Kind::kSequence);
    const Nested nested(*this);
    while (!at_end() && column() == first && at_dash()) {
      ++at_;
      skip_spaces();
      list.children.push_back(at_key() ? block_mapping() : inline_value());
    }
    if (!at_end() && column() > first) throw NotPlain{};
    return list;
  }
  [[nodiscard]] bool at_key() {
    if (look() == '[' || look() == '{') return false;
    const std::size_t first = at_;
    static_cast<void>(scalar(/*in_flow=*/false));
    const bool is_key = look() == ':';
    at_ = first;
    return is_key;
  }

  // Counts the nesting.
  class Nested {
   public:
    explicit Nested(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepest) throw NotPlain{};
    }
    ~Nested() { --reader_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Reader& reader_;
  };

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1, depth_ = 0;
};

}  // namespace

std::optional<ConfigNode> read_plain_yaml(std::string_view text, const std::string& file) {
  if (text.find_first_of("\t\r\x7f") != std::string_view::npos) return std::nullopt;
  try {
    return Reader(text, file).document();
  } catch (const NotPlain&) {
    return std::nullopt;
  }
}

}  // namespace tilecast::hwdesc
