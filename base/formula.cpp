#include "base/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/source_text.h"

namespace tilecast::base {
namespace {

using Arguments = std::span<const double>;

struct Operator {
  std::string_view name;
  std::size_t least, most;  // arguments
  double (*value)(Arguments);
};

constexpr std::size_t kAny = 64;

constexpr std::array kOperators = {
    Operator{"+", 2, 2, [](Arguments a) { return a[0] + a[1]; }},
    Operator{"-", 2, 2, [](Arguments a) { return a[0] - a[1]; }},
    Operator{"*", 2, 2, [](Arguments a) { return a[0] * a[1]; }},
    Operator{"/", 2, 2, [](Arguments a) { return a[0] / a[1]; }},
    Operator{"^", 2, 2, [](Arguments a) { return std::pow(a[0], a[1]); }},
    Operator{"<=", 2, 2, [](Arguments a) { return a[0] <= a[1] ? 1.0 : 0.0; }},
    Operator{">=", 2, 2, [](Arguments a) { return a[0] >= a[1] ? 1.0 : 0.0; }},
    Operator{"==", 2, 2, [](Arguments a) { return a[0] == a[1] ? 1.0 : 0.0; }},
    Operator{"!=", 2, 2, [](Arguments a) { return a[0] != a[1] ? 1.0 : 0.0; }},
    Operator{"<", 2, 2, [](Arguments a) { return a[0] < a[1] ? 1.0 : 0.0; }},
    Operator{">", 2, 2, [](Arguments a) { return a[0] > a[1] ? 1.0 : 0.0; }},
    Operator{"and", 2, 2, [](Arguments a) { return a[0] != 0 && a[1] != 0 ? 1.0 : 0.0; }},
    Operator{"or", 2, 2, [](Arguments a) { return a[0] != 0 || a[1] != 0 ? 1.0 : 0.0; }},
    Operator{"not", 1, 1, [](Arguments a) { return a[0] == 0 ? 1.0 : 0.0; }},
    Operator{"sign", 1, 1, [](Arguments a) { return -a[0]; }},
    Operator{"min", 2, kAny, [](Arguments a) { return *std::ranges::min_element(a); }},
    Operator{"max", 2, kAny, [](Arguments a) { return *std::ranges::max_element(a); }},
    Operator{"log", 1, 1, [](Arguments a) { return std::log(a[0]); }},
    Operator{"log2", 1, 1, [](Arguments a) { return std::log2(a[0]); }},
    Operator{"exp", 1, 1, [](Arguments a) { return std::exp(a[0]); }},
    Operator{"sqrt", 1, 1, [](Arguments a) { return std::sqrt(a[0]); }},
    Operator{"abs", 1, 1, [](Arguments a) { return std::abs(a[0]); }},
    Operator{"floor", 1, 1, [](Arguments a) { return std::floor(a[0]); }},
    Operator{"ceil", 1, 1, [](Arguments a) { return std::ceil(a[0]); }},
    Operator{"round", 1, 1, [](Arguments a) { return std::round(a[0]); }},
    Operator{"if", 3, 3, [](Arguments a) { return a[0] != 0 ? a[1] : a[2]; }}};
constexpr std::size_t kFirstFunction = 15;  // entries before it are infix or prefix operators

std::size_t operator_of(std::string_view name) {
  const auto* found = std::ranges::find(kOperators, name, &Operator::name);
  return static_cast<std::size_t>(found - kOperators.begin());
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_figure(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

// Recursive descent: or, and, not, comparison, sum, product, sign, power, operand.
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) { formula_.text_ = text; }

  Formula read() {
    disjunction();
    skip_blanks();
    if (at_ < text_.size()) fail(fmt::format("got '{}', expected an operator", text_.substr(at_)));
    return std::move(formula_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw FormulaError(at_, message); }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  [[nodiscard]] std::string_view word() const {
    std::size_t end = at_;
    const auto inside = [&](std::size_t i) {
      return is_letter(text_[i]) || is_figure(text_[i]) ||
             (text_[i] == '.' && i + 1 < text_.size() &&
              (is_letter(text_[i + 1]) || is_figure(text_[i + 1])));
    };
    while (end < text_.size() && inside(end)) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view wanted) {
    skip_blanks();
    if (word() != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  void apply(std::string_view name, std::size_t arguments) {
    formula_.steps_.push_back({Formula::Step::Kind::kOperator, 0, operator_of(name), arguments});
  }

  void disjunction() {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) fail("nested more than 100 deep");
    conjunction();
    while (take_word("or")) {
      conjunction();
      apply("or", 2);
    }
    --depth_;
  }
  void conjunction() {
    negation();
    while (take_word("and")) {
      negation();
      apply("and", 2);
    }
  }
  void negation() {
    std::size_t nots = 0;
    while (take_word("not")) ++nots;
    comparison();
    for (; nots > 0; --nots) apply("not", 1);
  }
  void comparison() {
    sum();
    for (const std::string_view symbol : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(symbol)) continue;
      sum();
      apply(symbol, 2);
      return;
    }
  }
  void sum() {
    product();
    while (true) {
      const bool plus = take("+");
      if (!plus && !take("-")) return;
      product();
      apply(plus ? "+" : "-", 2);
    }
  }
  void product() {
    signed_power();
    while (true) {
      const bool times = take("*");
      if (!times && !take("/")) return;
      signed_power();
      apply(times ? "*" : "/", 2);
    }
  }
  void signed_power() {
    bool negative = false;
    while (true) {
      if (take("-")) {
        negative = !negative;
      } else if (!take("+")) {
        break;
      }
    }
    power();
    if (negative) apply("sign", 1);
  }
  void power() {
    operand();
    if (!take("^")) return;
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) fail("nested more than 100 deep");
    signed_power();
    --depth_;
    apply("^", 2);
  }
  void operand() {
    skip_blanks();
    if (take("(")) {
      disjunction();
      if (!take(")")) fail("the parenthesis is not closed; expected ')'");
    } else if (at_ < text_.size() && is_letter(text_[at_])) {
      name_or_call();
    } else {
      number();
    }
  }
  void number() {
    double value = 0;
    const char* const end = text_.data() + text_.size();
    const bool begins = at_ < text_.size() && is_figure(text_[at_]);
    const auto [next, failed] = std::from_chars(text_.data() + at_, end, value);
    if (!begins || failed != std::errc()) {
      fail(at_ == text_.size()
               ? "it ends where a number or a name is expected"
               : fmt::format("got '{}', expected a number or a name", text_.substr(at_)));
    }
    at_ = static_cast<std::size_t>(next - text_.data());
    formula_.steps_.push_back({Formula::Step::Kind::kNumber, value, 0, 0});
  }
  void name_or_call() {
    const std::size_t begin = at_;
    const std::string_view name = word();
    at_ += name.size();
    if (take("(")) {
      call(name, begin);
      return;
    }
    auto& names = formula_.names_;
    auto known = std::ranges::find(names, name);
    if (known == names.end()) known = names.emplace(names.end(), name);
    formula_.steps_.push_back(
        {Formula::Step::Kind::kName, 0, static_cast<std::size_t>(known - names.begin()), 0});
  }
  void call(std::string_view name, std::size_t begin) {
    std::size_t arguments = 0;
    do {
      disjunction();
      ++arguments;
    } while (take(","));
    if (!take(")")) fail("the call is not closed; expected ',' or ')'");
    const std::size_t index = operator_of(name);
    if (index < kFirstFunction || index == kOperators.size()) {
      at_ = begin;
      std::vector<std::string_view> known;
      for (std::size_t i = kFirstFunction; i < kOperators.size(); ++i) {
        known.push_back(kOperators[i].name);
      }
      const std::string near = nearest(name, known);
      fail(fmt::format("there is no function '{}'{}", name,
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    const Operator& function = kOperators[index];
    if (arguments < function.least || arguments > function.most) {
      at_ = begin;
      fail(fmt::format("{}: got {} arguments, expected {}{}", name, arguments, function.least,
                       function.most > function.least ? " or more" : ""));
    }
    apply(name, arguments);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Formula formula_;
};

Formula Formula::parse(std::string_view text) {
  return FormulaReader(text).read();
}

Formula::Known Formula::apply(const Step& step, const Known* arguments) {
  std::array<double, kAny> values;
  for (std::size_t i = 0; i < step.arguments; ++i) values[i] = arguments[i].value;
  const Operator& applied = kOperators[step.index];
  const double value = applied.value({values.data(), step.arguments});
  const auto before = [](double less, double more) {
    const double size = std::max(std::abs(less), std::abs(more));
    return size > 0 ? (more - less) / size : 0;
  };
  double slack = value == 0 ? -1 : 1;
  if (applied.name == "<=" || applied.name == "<") slack = before(values[0], values[1]);
  if (applied.name == ">=" || applied.name == ">") slack = before(values[1], values[0]);
  if (applied.name == "==") slack = -std::abs(before(values[0], values[1]));
  if (applied.name == "and") slack = std::min(arguments[0].slack, arguments[1].slack);
  if (applied.name == "or") slack = std::max(arguments[0].slack, arguments[1].slack);
  if (applied.name == "not") slack = -arguments[0].slack;
  return {value, slack};
}

Formula::Known Formula::known(const Lookup& lookup) const {
  std::vector<Known> stack;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kOperator) {
      const Known result = apply(step, stack.data() + (stack.size() - step.arguments));
      stack.resize(stack.size() - step.arguments);
      stack.push_back(result);
      continue;
    }
    const double value =
        step.kind == Step::Kind::kNumber ? step.number : lookup(names_[step.index]);
    stack.push_back({value, value == 0 ? -1.0 : 1.0});
  }
  TC_CHECK(stack.size() == 1, "a formula leaves one number");
  return stack.back();
}

double Formula::value(const Lookup& lookup) const {
  return known(lookup).value;
}

double Formula::slack(const Lookup& lookup) const {
  return known(lookup).slack;
}

}  // namespace tilecast::base
