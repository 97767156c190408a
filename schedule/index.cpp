#include "schedule/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text_hash.h"

namespace tilecast::schedule {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return a - floor_div(a, b) * b;
}

std::int64_t checked(std::int64_t a, std::int64_t b, bool product) {
  std::int64_t made = 0;
  const bool overflows =
      product ? __builtin_mul_overflow(a, b, &made) : __builtin_add_overflow(a, b, &made);
  if (overflows || made > Index::kMost || made < -Index::kMost) {
    throw Error("an index above 2^62");
  }
  return made;
}

}  // namespace

const std::int64_t* Environment::find(const std::string& variable) const {
  const std::uint64_t hash = base::hash_text(variable);
  for (const Variable& known : variables_) {
    if (known.hash == hash && known.name == variable) return &known.value;
  }
  return nullptr;
}

std::int64_t& Environment::operator[](const std::string& variable) {
  if (const std::int64_t* found = find(variable)) return const_cast<std::int64_t&>(*found);
  return variables_.emplace_back(base::hash_text(variable), variable, 0).value;
}

void Environment::erase(const std::string& variable) {
  std::erase_if(variables_, [&](const Variable& known) { return known.name == variable; });
}

Index Index::of(std::string variable) {
  Term term;
  term.variable = std::move(variable);
  return of_term(std::move(term));
}

Index Index::of_term(Term term) {
  Index made;
  made.terms_.push_back(std::move(term));
  return made;
}

std::string Index::Term::text() const {
  if (kind == Kind::kVariable) return variable;
  const bool single = of[0].constant_ == 0 && of[0].terms_.size() == 1 &&
                      of[0].terms_[0].coefficient == 1 && of[0].terms_[0].kind == Kind::kVariable;
  const std::string inner = of[0].text();
  return fmt::format("{} {} {}", single ? inner : "(" + inner + ")",
                     kind == Kind::kQuotient ? '/' : '%', divisor);
}

std::int64_t Index::Term::value(const Environment& variables) const {
  if (kind == Kind::kQuotient) return floor_div(of[0].value(variables), divisor);
  if (kind == Kind::kRemainder) return floor_mod(of[0].value(variables), divisor);
  const std::int64_t* found = variables.find(variable);
  if (found == nullptr) throw Error(fmt::format("loop variable {} has no value", variable));
  return *found;
}

IndexRange Index::Term::range(const Extents& extents) const {
  if (kind == Kind::kVariable) {
    const auto found = extents.find(variable);
    if (found == extents.end()) throw Error(fmt::format("no loop runs {}", variable));
    return {0, found->second - 1};
  }
  const IndexRange inner = of[0].range(extents);
  if (kind == Kind::kQuotient) {
    return {floor_div(inner.low, divisor), floor_div(inner.high, divisor)};
  }
  if (floor_div(inner.low, divisor) == floor_div(inner.high, divisor)) {
    return {floor_mod(inner.low, divisor), floor_mod(inner.high, divisor)};
  }
  return {0, divisor - 1};
}

void Index::add(Term term) {
  const std::string name = term.text();
  const auto place =
      std::find_if(terms_.begin(), terms_.end(), [&](const Term& t) { return t.text() >= name; });
  if (place == terms_.end() || place->text() != name) {
    terms_.insert(place, std::move(term));
    return;
  }
  place->coefficient = checked(place->coefficient, term.coefficient, false);
  if (place->coefficient == 0) terms_.erase(place);
}

Index operator+(const Index& a, const Index& b) {
  Index sum = a;
  sum.constant_ = checked(sum.constant_, b.constant_, false);
  for (const Index::Term& term : b.terms_) sum.add(term);
  return sum;
}

Index operator*(const Index& a, std::int64_t factor) {
  if (factor == 0) return {};
  Index product = a;
  product.constant_ = checked(product.constant_, factor, true);
  for (Index::Term& term : product.terms_) {
    term.coefficient = checked(term.coefficient, factor, true);
  }
  return product;
}

Index Index::take_multiples(std::int64_t divisor, Index& rest) const {
  Index taken = floor_div(constant_, divisor);
  rest = floor_mod(constant_, divisor);
  for (Term term : terms_) {
    if (term.coefficient % divisor == 0) {
      term.coefficient /= divisor;
      taken.add(std::move(term));
    } else {
      rest.add(std::move(term));
    }
  }
  return taken;
}

Index operator/(const Index& a, std::int64_t divisor) {
  Index rest;
  Index whole = a.take_multiples(divisor, rest);
  if (rest.is_constant()) return whole;
  Index::Term term;
  term.kind = Index::Kind::kQuotient;
  term.of = {rest};
  term.divisor = divisor;
  return whole + Index::of_term(std::move(term));
}

Index operator%(const Index& a, std::int64_t divisor) {
  Index rest;
  (void)a.take_multiples(divisor, rest);
  if (rest.is_constant()) return rest;
  Index::Term term;
  term.kind = Index::Kind::kRemainder;
  term.of = {rest};
  term.divisor = divisor;
  return Index::of_term(std::move(term));
}

bool Index::uses(std::string_view variable) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return term.kind == Kind::kVariable ? term.variable == variable : term.of[0].uses(variable);
  });
}

bool Index::is_affine() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const Term& term) { return term.kind == Kind::kVariable; });
}

std::vector<std::pair<std::string_view, std::int64_t>> Index::variables() const {
  std::vector<std::pair<std::string_view, std::int64_t>> made;
  for (const Term& term : terms_) made.emplace_back(term.variable, term.coefficient);
  return made;
}

std::int64_t Index::coefficient(std::string_view variable) const {
  const auto found = std::find_if(terms_.begin(), terms_.end(),
                                  [&](const Term& term) { return term.variable == variable; });
  return found == terms_.end() ? 0 : found->coefficient;
}

Index Index::with(const std::map<std::string, Index, std::less<>>& replacements) const {
  Index made = constant_;
  for (const Term& term : terms_) {
    Index part = of_term(term) * 1;
    part.terms_[0].coefficient = 1;
    if (term.kind == Kind::kVariable) {
      const auto found = replacements.find(term.variable);
      if (found != replacements.end()) part = found->second;
    } else {
      const Index inner = term.of[0].with(replacements);
      part = term.kind == Kind::kQuotient ? inner / term.divisor : inner % term.divisor;
    }
    made = made + part * term.coefficient;
  }
  return made;
}

Index Index::with(const std::string& variable, const Index& replacement) const {
  return with({{variable, replacement}});
}

std::int64_t Index::value(const Environment& variables) const {
  std::int64_t sum = constant_;
  for (const Term& term : terms_) {
    sum = checked(sum, checked(term.coefficient, term.value(variables), true), false);
  }
  return sum;
}

IndexRange Index::range(const Extents& extents) const {
  IndexRange sum{constant_, constant_};
  for (const Term& term : terms_) {
    const IndexRange part = term.range(extents);
    const std::int64_t a = checked(part.low, term.coefficient, true);
    const std::int64_t b = checked(part.high, term.coefficient, true);
    sum.low = checked(sum.low, std::min(a, b), false);
    sum.high = checked(sum.high, std::max(a, b), false);
  }
  return sum;
}

Index Index::simplified(const Extents& extents) const {
  Index made = constant_;
  for (const Term& term : terms_) {
    Index part = of_term(term);
    part.terms_[0].coefficient = 1;
    if (term.kind != Kind::kVariable) {
      const Index inner = term.of[0].simplified(extents);
      const IndexRange range = inner.range(extents);
      const std::int64_t low = floor_div(range.low, term.divisor);
      const bool one = low == floor_div(range.high, term.divisor);
      if (term.kind == Kind::kQuotient) {
        part = one ? Index(low) : inner / term.divisor;
      } else {
        part = one ? inner - low * term.divisor : inner % term.divisor;
      }
    }
    made = made + part * term.coefficient;
  }
  return made;
}

std::string Index::text() const {
  std::string text;
  for (const Term& term : terms_) {
    const std::int64_t size = std::abs(term.coefficient);
    const bool negative = term.coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const std::string part = term.text();
    const bool plain = term.kind == Kind::kVariable;
    text += size == 1
                ? (plain || terms_.size() + (constant_ != 0 ? 1 : 0) == 1 ? part : "(" + part + ")")
                : fmt::format("{} * {}", size, plain ? part : "(" + part + ")");
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ != 0) text += fmt::format(" {} {}", constant_ < 0 ? '-' : '+', std::abs(constant_));
  return text;
}

}  // namespace tilecast::schedule
