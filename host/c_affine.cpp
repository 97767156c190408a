#include "host/c_affine.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tilecast::host {

Affine Affine::of(SymbolId symbol, std::int64_t coefficient) {
  Affine made;
  if (coefficient != 0) made.terms.emplace_back(symbol, coefficient);
  return made;
}

std::int64_t Affine::coefficient(SymbolId symbol) const {
  for (const auto& [id, factor] : terms) {
    if (id == symbol) return factor;
  }
  return 0;
}

Affine Affine::without(SymbolId symbol) const {
  return *this - of(symbol, coefficient(symbol));
}

bool Affine::divisible_by(std::int64_t divisor) const {
  return constant % divisor == 0 &&
         std::all_of(terms.begin(), terms.end(),
                     [divisor](const auto& term) { return term.second % divisor == 0; });
}

Affine Affine::divided_by(std::int64_t divisor) const {
  TC_CHECK(divisible_by(divisor), "an index that divides");
  Affine made(constant / divisor);
  for (const auto& [id, factor] : terms) made.terms.emplace_back(id, factor / divisor);
  return made;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum(a.constant + b.constant);
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      sum.terms.push_back(*j++);
    } else {
      const std::int64_t factor = i->second + j->second;
      if (factor != 0) sum.terms.emplace_back(i->first, factor);
      ++i;
      ++j;
    }
  }
  return sum;
}

Affine operator*(const Affine& a, std::int64_t factor) {
  if (factor == 0) return {};
  Affine made = a;
  made.constant *= factor;
  for (auto& term : made.terms) term.second *= factor;
  return made;
}

Affine operator-(const Affine& a, const Affine& b) {
  return a + b * -1;
}

SymbolId Symbols::add(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return static_cast<SymbolId>(symbols_.size()) - 1;
}

SymbolId Symbols::tile(int loop, const TileLoop& tile) {
  return add({.name = "t" + std::to_string(loop),
              .kind = Kind::kTile,
              .range = {0, tile.trips() - 1},
              .loops = 1U << loop,
              .loop = loop,
              .tile = tile});
}

SymbolId Symbols::piece(int loop) {
  const auto at = std::find_if(symbols_.rbegin(), symbols_.rend(), [loop](const Symbol& symbol) {
    return symbol.kind == Kind::kTile && symbol.loop == loop;
  });
  TC_CHECK(at != symbols_.rend(), "a piece of a known tile loop");
  const TileLoop tile = at->tile;
  return add({.name = "s" + std::to_string(loop),
              .kind = Kind::kPiece,
              .range = {tile.size - (tile.trips() - 1) * tile.step, tile.step},
              .loops = 1U << loop,
              .loop = loop,
              .tile = tile});
}

SymbolId Symbols::local(std::int64_t largest_size) {
  return add({.name = "i" + std::to_string(symbols_.size()),
              .kind = Kind::kLocal,
              .range = {0, std::max<std::int64_t>(largest_size - 1, 0)}});
}

SymbolId Symbols::value(Range range, std::uint32_t loops) {
  return add({.name = "q" + std::to_string(symbols_.size()), .range = range, .loops = loops});
}

Range Symbols::range(const Affine& expression) const {
  Range total{expression.constant, expression.constant};
  const auto widen = [&total](std::int64_t a, std::int64_t b) {
    total.low += std::min(a, b);
    total.high += std::max(a, b);
  };
  for (const auto& [id, factor] : expression.terms) {
    const Symbol& symbol = at(id);
    if (symbol.kind != Kind::kTile && symbol.kind != Kind::kPiece) {
      widen(factor * symbol.range.low, factor * symbol.range.high);
      continue;
    }
    std::int64_t of_tile = 0, of_piece = 0;
    for (const auto& [other, coefficient] : expression.terms) {
      if (at(other).loop != symbol.loop) continue;
      (at(other).kind == Kind::kTile ? of_tile : of_piece) += coefficient;
    }
    if (symbol.kind == Kind::kPiece && of_tile != 0) continue;  // evaluated together with its tile
    // A linear function over (0, step) ... (trips - 2, step), (trips - 1, rest): extremes at ends.
    const TileLoop& tile = symbol.tile;
    const std::int64_t last = tile.trips() - 1;
    const std::int64_t rest = tile.size - last * tile.step;
    std::array<std::int64_t, 3> ends{of_piece * (last > 0 ? tile.step : rest), 0,
                                     of_tile * last + of_piece * rest};
    ends[1] = last > 0 ? of_tile * (last - 1) + of_piece * tile.step : ends[0];
    total.low += *std::min_element(ends.begin(), ends.end());
    total.high += *std::max_element(ends.begin(), ends.end());
  }
  return total;
}

std::uint32_t Symbols::loops(const Affine& expression) const {
  std::uint32_t mask = 0;
  for (const auto& term : expression.terms) mask |= at(term.first).loops;
  return mask;
}

std::string Symbols::text(const Affine& expression) const {
  std::string out;
  for (const auto& [id, factor] : expression.terms) {
    if (!out.empty() || factor < 0) out += factor < 0 ? '-' : '+';
    if (factor != 1 && factor != -1) out += std::to_string(factor < 0 ? -factor : factor) + "*";
    out += name(id);
  }
  if (expression.constant != 0 || out.empty()) {
    if (!out.empty() && expression.constant > 0) out += '+';
    out += std::to_string(expression.constant);
  }
  return out;
}

}  // namespace tilecast::host
