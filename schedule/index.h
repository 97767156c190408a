// A position in a loop program: an integer expression in loop variables.
//
//   Index k = Index::of("ko");
//   ((k + 2) % 3).text()                  // "(ko + 2) % 3"
//   (k * 32 + Index::of("ki")).value({{"ko", 1}, {"ki", 5}})      // 37
//
// A sum of a constant and terms: coefficient x variable, or coefficient x quotient or remainder of
// an index by a constant above 0 (rounding towards minus infinity). Terms are kept in a fixed
// order, so equal sums have equal text. Values beyond 2^62 throw Error. Value type;
// thread-compatible.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilecast::schedule {

struct IndexRange {  // both ends included
  std::int64_t low = 0, high = 0;
};
// Values of loop variables. There are few, so a linear search by hash beats a tree.
class Environment {
 public:
  struct Variable {
    std::uint64_t hash = 0;  // of the name
    std::string name;
    std::int64_t value = 0;
  };
  Environment() = default;
  Environment(std::initializer_list<std::pair<const char*, std::int64_t>> values) {
    for (const auto& [name, value] : values) (*this)[name] = value;
  }
  std::int64_t& operator[](const std::string& variable);                      // inserts 0 if absent
  [[nodiscard]] const std::int64_t* find(const std::string& variable) const;  // nullptr if absent
  void erase(const std::string& variable);
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }

 private:
  std::vector<Variable> variables_;
};
using Extents = std::map<std::string, std::int64_t, std::less<>>;  // of loops, by variable

class Index {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;  // largest magnitude of any number

  Index(std::int64_t constant = 0) : constant_(constant) {}  // NOLINT(google-explicit-constructor)
  static Index of(std::string variable);

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b) { return a + b * -1; }
  friend Index operator*(const Index& a, std::int64_t factor);
  friend Index operator/(const Index& a, std::int64_t divisor);
  friend Index operator%(const Index& a, std::int64_t divisor);
  friend bool operator==(const Index& a, const Index& b) { return a.text() == b.text(); }

  [[nodiscard]] bool is_constant() const { return terms_.empty(); }
  [[nodiscard]] std::int64_t constant() const { return constant_; }
  [[nodiscard]] bool uses(std::string_view variable) const;
  // Whether it is a plain sum of variables, without quotient or remainder.
  [[nodiscard]] bool is_affine() const;
  // The variables of a plain sum, with their coefficients.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::int64_t>> variables() const;
  [[nodiscard]] std::int64_t coefficient(std::string_view variable) const;  // of a plain sum
  // Returns the terms whose coefficient is a multiple of `divisor`, divided; the others go to
  // `rest`.
  [[nodiscard]] Index take_multiples(std::int64_t divisor, Index& rest) const;
  // With the variables of `replacements` replaced.
  [[nodiscard]] Index with(const std::map<std::string, Index, std::less<>>& replacements) const;
  [[nodiscard]] Index with(const std::string& variable, const Index& replacement) const;
  // Throws Error for a variable without a value.
  [[nodiscard]] std::int64_t value(const Environment& variables) const;
  // Range while variables run from 0 to their extent; throws Error for one without extent. May be
  // wider than the exact range, never narrower.
  [[nodiscard]] IndexRange range(const Extents& extents) const;
  // An equal index for variables from 0 to their extent, without the quotients and remainders that
  // these ranges make redundant: (8 * ko + ki) / 8 is ko if ki < 8.
  [[nodiscard]] Index simplified(const Extents& extents) const;
  [[nodiscard]] std::string text() const;

 private:
  enum class Kind : std::uint8_t { kVariable, kQuotient, kRemainder };
  struct Term {
    std::int64_t coefficient = 1;
    Kind kind = Kind::kVariable;
    std::string variable;
    std::vector<Index> of;  // of a quotient or remainder: one entry
    std::int64_t divisor = 1;
    [[nodiscard]] std::string text() const;  // without the coefficient
    [[nodiscard]] std::int64_t value(const Environment& variables) const;
    [[nodiscard]] IndexRange range(const Extents& extents) const;
  };
  static Index of_term(Term term);
  void add(Term term);

  std::int64_t constant_ = 0;
  std::vector<Term> terms_;
};

}  // namespace tilecast::schedule
