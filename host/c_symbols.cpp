#include "host/c_symbols.h"

#include <array>

namespace tilecast::host {

Index Symbols::add(const std::string& name, const Symbol& symbol) {
  symbols_.insert_or_assign(name, symbol);
  return Index::of(name);
}

Index Symbols::tile(int loop, const TileLoop& tile) {
  return add("t" + std::to_string(loop),
             {.range = {0, tile.trips() - 1}, .loops = 1U << loop, .loop = loop, .tile = tile});
}

Index Symbols::piece(int loop) {
  const TileLoop tile = at("t" + std::to_string(loop)).tile;
  return add("s" + std::to_string(loop),
             {.range = {tile.size - (tile.trips() - 1) * tile.step, tile.step},
              .loops = 1U << loop,
              .loop = loop,
              .is_piece = true,
              .tile = tile});
}

Index Symbols::local(std::int64_t largest_size) {
  return add("i" + std::to_string(next_++),
             {.range = {0, std::max<std::int64_t>(largest_size - 1, 0)}});
}

Index Symbols::value(IndexRange range, std::uint32_t loops) {
  return add("q" + std::to_string(next_++), {.range = range, .loops = loops});
}

IndexRange Symbols::range(const Index& index) const {
  const auto terms = index.variables();
  IndexRange total{index.constant(), index.constant()};
  const auto widen = [&total](std::int64_t a, std::int64_t b) {
    total.low += std::min(a, b);
    total.high += std::max(a, b);
  };
  for (const auto& [variable, factor] : terms) {
    const Symbol& symbol = at(variable);
    if (symbol.loop < 0) {
      widen(factor * symbol.range.low, factor * symbol.range.high);
      continue;
    }
    std::int64_t of_tile = 0, of_piece = 0;
    for (const auto& [other, coefficient] : terms) {
      if (at(other).loop != symbol.loop) continue;
      (at(other).is_piece ? of_piece : of_tile) += coefficient;
    }
    if (symbol.is_piece && of_tile != 0) continue;  // evaluated together with its tile
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

std::uint32_t Symbols::loops(const Index& index) const {
  std::uint32_t mask = 0;
  for (const auto& [variable, factor] : index.variables()) mask |= at(variable).loops;
  return mask;
}

}  // namespace tilecast::host
