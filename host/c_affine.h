// Index arithmetic for generated C: sums of symbols with integer coefficients, and their ranges.
//
//   Symbols symbols;
//   SymbolId t = symbols.tile(0, {.size = 100, .step = 32});    // "t0": 0 .. 3
//   Affine start = Affine::of(t) * 32;                          // "32*t0"
//   symbols.range(start);                                       // 0 .. 96
//
// Affine and Range are values. A Symbols object belongs to one generated function; not thread-safe.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/shape.h"

namespace tilecast::host {

using SymbolId = int;

// Converts a dimension or loop number to a container index.
constexpr std::size_t at(std::int64_t d) {
  return static_cast<std::size_t>(d);
}

[[nodiscard]] inline bool contains(const ir::Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

struct Range {  // both ends included
  std::int64_t low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

struct Affine {
  std::int64_t constant = 0;
  boost::container::small_vector<std::pair<SymbolId, std::int64_t>, 4> terms;  // sorted by symbol

  Affine() = default;
  explicit Affine(std::int64_t value) : constant(value) {}
  static Affine of(SymbolId symbol, std::int64_t coefficient = 1);

  [[nodiscard]] bool is_constant() const { return terms.empty(); }
  [[nodiscard]] bool is(std::int64_t value) const { return terms.empty() && constant == value; }
  [[nodiscard]] std::int64_t coefficient(SymbolId symbol) const;
  // A copy without the symbol's term.
  [[nodiscard]] Affine without(SymbolId symbol) const;
  // Whether `divisor` divides the constant and all coefficients.
  [[nodiscard]] bool divisible_by(std::int64_t divisor) const;
  [[nodiscard]] Affine divided_by(std::int64_t divisor) const;  // requires divisible_by()

  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b);
  friend Affine operator*(const Affine& a, std::int64_t factor);
  friend Affine operator+(const Affine& a, std::int64_t b) { return a + Affine(b); }
  friend Affine operator-(const Affine& a, std::int64_t b) { return a - Affine(b); }
  friend bool operator==(const Affine&, const Affine&) = default;
};

struct TileLoop {  // `size` elements in steps of `step`; the last step may be smaller
  std::int64_t size = 1, step = 1;
  [[nodiscard]] std::int64_t trips() const { return (size + step - 1) / step; }
  [[nodiscard]] bool ragged() const { return size % step != 0; }
};

// Symbol table of a function. Tile symbols count the tiles of a loop; piece symbols are the number
// of elements in the current tile; locals index inside a tile; values are computed once per tile or
// element.
class Symbols {
 public:
  SymbolId tile(int loop, const TileLoop& tile);
  SymbolId piece(int loop);  // requires a ragged loop added by tile()
  SymbolId local(std::int64_t largest_size);
  // `loops`: bit i is set if the value changes with tile loop i.
  SymbolId value(Range range, std::uint32_t loops);

  [[nodiscard]] const std::string& name(SymbolId symbol) const { return at(symbol).name; }
  // The range over all tiles. A tile symbol and its piece symbol are evaluated together.
  [[nodiscard]] Range range(const Affine& expression) const;
  [[nodiscard]] std::uint32_t loops(const Affine& expression) const;
  [[nodiscard]] std::string text(const Affine& expression) const;

 private:
  enum class Kind { kTile, kPiece, kLocal, kValue };
  struct Symbol {
    std::string name;
    Kind kind = Kind::kValue;
    Range range;
    std::uint32_t loops = 0;
    int loop = -1;
    TileLoop tile;
  };
  [[nodiscard]] const Symbol& at(SymbolId symbol) const {
    return symbols_[static_cast<std::size_t>(symbol)];
  }
  SymbolId add(Symbol symbol);

  std::vector<Symbol> symbols_;
};

}  // namespace tilecast::host
