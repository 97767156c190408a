// The variables of a generated function, and the ranges of indices in them.
//
//   Symbols symbols;
//   Index t = symbols.tile(0, {.size = 100, .step = 32});    // "t0": 0 .. 3
//   symbols.range(t * 32);                                    // 0 .. 96
//
// Indices are sums of variables with integer coefficients (schedule/index.h). A Symbols object
// belongs to one generated function; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/shape.h"
#include "schedule/reads.h"

namespace tilecast::host {

using schedule::Index;
using schedule::IndexRange;
using schedule::Position;

// Converts a dimension or loop number to a container index.
constexpr std::size_t at(std::int64_t d) {
  return static_cast<std::size_t>(d);
}

[[nodiscard]] inline bool contains(const ir::Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Whether `divisor` divides the constant and all coefficients, so that index / divisor has no
// division.
[[nodiscard]] inline bool divides(std::int64_t divisor, const Index& index) {
  return index % divisor == Index(0);
}

struct TileLoop {  // `size` elements in steps of `step`; the last step may be smaller
  std::int64_t size = 1, step = 1;
  [[nodiscard]] std::int64_t trips() const { return (size + step - 1) / step; }
  [[nodiscard]] bool ragged() const { return size % step != 0; }
};

// Tile variables count the tiles of a loop; pieces are the number of elements in the current tile;
// locals index inside a tile; values are computed once per tile or element.
class Symbols {
 public:
  Index tile(int loop, const TileLoop& tile);
  Index piece(int loop);  // requires a ragged loop added by tile()
  Index local(std::int64_t largest_size);
  // `loops`: bit i is set if the value changes with tile loop i.
  Index value(IndexRange range, std::uint32_t loops);

  // The range over all tiles. A tile variable and its piece are evaluated together.
  [[nodiscard]] IndexRange range(const Index& index) const;
  [[nodiscard]] std::uint32_t loops(const Index& index) const;

 private:
  struct Symbol {
    IndexRange range;
    std::uint32_t loops = 0;
    int loop = -1;  // of a tile or a piece
    bool is_piece = false;
    TileLoop tile;
  };
  [[nodiscard]] const Symbol& at(std::string_view variable) const {
    return symbols_.find(variable)->second;
  }
  Index add(const std::string& name, const Symbol& symbol);

  std::map<std::string, Symbol, std::less<>> symbols_;
  int next_ = 0;
};

}  // namespace tilecast::host
