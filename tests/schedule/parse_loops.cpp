#include "tests/schedule/parse_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <set>

#include "base/error.h"

namespace tilecast::schedule {
namespace {

// Words, numbers and marks of a program's text.
class Tokens {
  static constexpr std::int64_t kMaxNumber = std::int64_t{1} << 40;

 public:
  explicit Tokens(const base::SourceText& source) : source_(source), text_(source.text()) {}

 protected:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(source_.describe(at_, what));
  }

  // --- tokens
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool peek(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected `" + std::string(token) + "`");
  }
  std::string word(std::string_view what) {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '-' && at_ > start))) ++at_;
    if (at_ == start) fail("expected " + std::string(what));
    return std::string(text_.substr(start, at_ - start));
  }
  bool take_word(std::string_view expected) {
    skip_blanks();
    const std::size_t end = at_ + expected.size();
    if (text_.substr(at_, expected.size()) != expected) return false;
    if (end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect_word(std::string_view expected) {
    if (!take_word(expected)) fail("expected `" + std::string(expected) + "`");
  }
  std::int64_t number(std::int64_t most = kMaxNumber) {  // `most` is a power of two
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value > most || value < -most) {
      const int power = std::countr_zero(static_cast<std::uint64_t>(most));
      fail("expected a whole number of at most 2^" + std::to_string(power));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::int64_t positive() {
    const std::size_t start = at_;
    const std::int64_t value = number();
    if (value > 0) return value;
    at_ = start;
    fail("expected a number above 0");
  }
  ir::Dims numbers(char separator) {
    ir::Dims made{positive()};
    while (at_ < text_.size() && text_[at_] == separator) {
      ++at_;
      made.push_back(positive());
    }
    return made;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@';
  }

  const base::SourceText& source_;

 protected:
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxStages = 1024;

class Parser : private Tokens {
 public:
  using Tokens::Tokens;

  LoopProgram parse() {
    expect_word("program");
    program_.name = word("the program's name");
    while (!peek('{')) parse_buffer();
    program_.body = parse_body();
    skip_blanks();
    if (at_ != text_.size()) fail("got more text after the program's end");
    return std::move(program_);
  }

 private:
  // --- buffers
  void parse_buffer() {
    Buffer buffer;
    if (take_word("input")) {
      buffer.role = Role::kInput;
    } else if (take_word("output")) {
      buffer.role = Role::kOutput;
    } else if (!take_word("temporary")) {
      fail("expected `input`, `output`, `temporary` or `{`");
    }
    if (take_word("shared")) {
      buffer.scope = Scope::kShared;
    } else if (take_word("register")) {
      buffer.scope = Scope::kRegister;
    } else if (!take_word("main")) {
      fail("expected a scope: `main`, `shared` or `register`");
    }
    skip_blanks();
    const std::size_t place = at_;
    buffer.name = word("the buffer's name");
    if (program_.find(buffer.name) != nullptr) {
      at_ = place;
      fail(fmt::format("a second buffer {}", buffer.name));
    }
    buffer.dtype = parse_dtype(word("an element type"));
    expect("[");
    if (!peek(']')) buffer.dims = numbers(',');
    expect("]");
    if (take_word("strides")) buffer.strides = numbers(',');
    if (!buffer.strides.empty() && buffer.strides.size() != buffer.dims.size()) {
      fail("expected a stride a dimension");
    }
    if (take_word("stages")) {
      const std::int64_t stages = positive();
      if (stages > kMaxStages) fail("expected at most 1024 stages");
      buffer.stages = static_cast<int>(stages);
    }
    program_.buffers.push_back(std::move(buffer));
  }

  ir::DType parse_dtype(const std::string& text) {
    const auto dtype = ir::parse_dtype(text);
    if (!dtype || !ir::is_array_element(*dtype)) fail(fmt::format("{} is no element type", text));
    return *dtype;
  }

  // --- indices: sums of products; one side of * / % is a number
  Index parse_index() {
    Index sum = parse_product();
    for (;;) {
      if (take("+")) {
        sum = sum + parse_product();
      } else if (take("-")) {
        sum = sum - parse_product();
      } else {
        return sum;
      }
    }
  }
  Index parse_product() {
    Index made = parse_factor();
    for (;;) {
      if (take("*")) {
        const Index other = parse_factor();
        if (!made.is_constant() && !other.is_constant()) fail("a product of two variables");
        made = made.is_constant() ? other * made.constant() : made * other.constant();
      } else if (take("/")) {
        made = made / positive();
      } else if (take("%")) {
        made = made % positive();
      } else {
        return made;
      }
    }
  }
  Index parse_factor() {
    if (++depth_ > kMaxDepth) fail("nested deeper than 64");
    Index made;
    skip_blanks();
    if (take("(")) {
      made = parse_index();
      expect(")");
    } else if (take("-")) {
      made = parse_factor() * -1;
    } else if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      made = number(Index::kMost);  // any number that text() prints
    } else {
      const std::size_t place = at_;
      const std::string variable = word("a loop variable or a number");
      if (loops_.count(variable) == 0) {
        at_ = place;
        fail(fmt::format("no loop runs {} here", variable));
      }
      made = Index::of(variable);
    }
    --depth_;
    return made;
  }
  std::vector<Index> parse_list() {
    std::vector<Index> made;
    expect("[");
    if (!peek(']')) {
      do made.push_back(parse_index());
      while (take(","));
    }
    expect("]");
    return made;
  }

  Access parse_access() {
    skip_blanks();
    const std::size_t place = at_;
    return parse_access(word("a buffer"), place);
  }
  Access parse_access(const std::string& name, std::size_t place) {
    Access access{name, std::nullopt, {}};
    const Buffer* buffer = program_.find(name);
    if (buffer == nullptr) {
      at_ = place;
      fail(fmt::format("no buffer {}", name));
    }
    access.at = parse_list();
    if (peek('[')) {
      if (access.at.size() != 1) fail("expected one index of the slot");
      access.slot = access.at[0];
      access.at = parse_list();
    }
    if (access.at.size() != buffer->dims.size()) {
      fail(fmt::format("{} has {} dimensions, got {} indices", name, buffer->dims.size(),
                       access.at.size()));
    }
    return access;
  }

  // --- values
  Value parse_value() {
    if (++depth_ > kMaxDepth) fail("nested deeper than 64");
    skip_blanks();
    Value made;
    const char c = at_ < text_.size() ? text_[at_] : ' ';
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' ||
        text_.substr(at_, 3) == "inf" || text_.substr(at_, 3) == "nan") {
      made = parse_constant();
    } else {
      const std::size_t place = at_;
      const std::string name = word("a value");
      made = peek('(') ? parse_apply(name, place) : parse_read(name, place);
    }
    --depth_;
    return made;
  }
  Value parse_read(const std::string& name, std::size_t place) {
    Access access = parse_access(name, place);
    const ir::DType dtype = program_.buffer(name).dtype;
    return Value::of(std::move(access), dtype);
  }
  Value parse_constant() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    expect(":");
    return Value::of(value, parse_dtype(word("an element type")));
  }
  Value parse_apply(const std::string& name, std::size_t place) {
    const std::size_t last = name.rfind('.');
    const std::size_t first = name.find('.');
    at_ = last == std::string::npos ? place : at_;
    if (last == std::string::npos) fail("expected an op and its type, such as add.f32(...)");
    const auto opcode = ir::parse_opcode(name.substr(0, first));
    if (!opcode) {
      at_ = place;
      fail(fmt::format("no op {}", name.substr(0, first)));
    }
    Value made = Value::apply(*opcode, parse_dtype(name.substr(last + 1)), {});
    if (first != last) made.direction = name.substr(first + 1, last - first - 1);
    expect("(");
    do made.operands.push_back(parse_value());
    while (take(","));
    expect(")");
    const int arity = ir::info(*opcode).arity;
    if (arity != static_cast<int>(made.operands.size())) {
      fail(fmt::format("{} takes {} operands", ir::name(*opcode), arity));
    }
    return made;
  }

  // --- statements
  std::vector<Bound> parse_bounds() {
    std::vector<Bound> made;
    do {
      if (number() != 0) fail("expected 0 <=");
      expect("<=");
      Index index = parse_index();
      expect("<");
      made.push_back({std::move(index), positive()});
    } while (take(","));
    return made;
  }
  Body parse_body() {
    if (++depth_ > kMaxDepth) fail("nested deeper than 64");
    Body body;
    expect("{");
    while (!take("}")) body.push_back(parse_statement());
    --depth_;
    return body;
  }

  Statement parse_statement() {
    for (const LoopKind kind :
         {LoopKind::kSequential, LoopKind::kParallel, LoopKind::kUnrolled, LoopKind::kVectorized}) {
      if (take_word(schedule::name(kind))) return {parse_loop(kind)};
    }
    for (int kind = 0; kind < 4; ++kind) {
      const auto sync = static_cast<Sync::Kind>(kind);
      if (take_word(schedule::name(sync))) return {Sync{sync, word("a pipeline")}};
    }
    if (take_word("guard")) {
      Guard guard;
      guard.where = parse_bounds();
      guard.body = parse_body();
      return {std::move(guard)};
    }
    if (take_word("copy")) return {parse_copy()};
    if (take_word("multiply")) return {parse_multiply()};
    return {parse_assign()};
  }

  Loop parse_loop(LoopKind kind) {
    Loop loop;
    loop.kind = kind;
    loop.variable = word("a loop variable");
    expect("<");
    loop.extent = positive();
    if (!loops_.insert(loop.variable).second) {
      fail(fmt::format("a loop around this one runs {} already", loop.variable));
    }
    loop.body = parse_body();
    loops_.erase(loop.variable);
    return loop;
  }

  Copy parse_copy() {
    Copy copy;
    copy.to = parse_access();
    expect("=");
    copy.from = parse_access();
    expect_word("size");
    copy.extents = numbers('x');
    if (copy.extents.size() != copy.to.at.size() || copy.to.at.size() != copy.from.at.size()) {
      fail("expected a size, a target and a source of the same dimensions");
    }
    copy.async = take_word("async");
    copy.padded = take_word("padded");
    return copy;
  }

  Multiply parse_multiply() {
    Multiply made;
    made.c = parse_access();
    expect("+=");
    made.a = parse_access();
    expect("*");
    made.b = parse_access();
    expect_word("size");
    const ir::Dims sizes = numbers('x');
    const std::size_t rank = std::min({made.a.at.size(), made.b.at.size(), made.c.at.size()});
    if (sizes.size() != 3 || rank < 2) fail("expected rows x columns x depth of three matrices");
    made.rows = sizes[0];
    made.columns = sizes[1];
    made.depth = sizes[2];
    return made;
  }

  Assign parse_assign() {
    Assign made;
    made.to = parse_access();
    if (!take("=")) {
      const std::string name = word("an assignment");
      made.combine = ir::parse_opcode(name);
      if (!made.combine || ir::info(*made.combine).arity != 2) {
        fail(fmt::format("{} does not combine two values", name));
      }
      expect("=");
    }
    made.value = parse_value();
    if (take_word("where")) made.where = parse_bounds();
    return made;
  }

  int depth_ = 0;
  LoopProgram program_;
  std::set<std::string, std::less<>> loops_;
};

}  // namespace

LoopProgram parse_loops(const base::SourceText& source) {
  return Parser(source).parse();
}

}  // namespace tilecast::schedule
