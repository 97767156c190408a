#include "ir/layout_assignment.h"

#include <algorithm>
#include <string>

#include "diag/error.h"

namespace tilecast::ir {
namespace {

// Another order of dimensions must reduce the padded size to this fraction to be taken: a new order
// costs transposes elsewhere, which a look at one array cannot see. Our choice, not measured.
constexpr double kWorthwhileFraction = 0.75;

// Array sizes are at most 2^62; tiles far below keep rounding up free of overflow.
constexpr std::int64_t kMaxTile = std::int64_t{1} << 20;

void check(const LayoutRules& rules) {
  const auto in_range = [](std::int64_t size) { return size > 0 && size <= kMaxTile; };
  if (in_range(rules.sublanes) && in_range(rules.lanes) && in_range(rules.max_rank1_tile) &&
      rules.word_bits > 0 && rules.word_bits <= 1024) {
    return;
  }
  throw Error("layout rules: tile sizes must be between 1 and 2^20; got sublanes " +
              std::to_string(rules.sublanes) + ", lanes " + std::to_string(rules.lanes) +
              ", max_rank1_tile " + std::to_string(rules.max_rank1_tile) + ", word_bits " +
              std::to_string(rules.word_bits));
}

// How many elements share a word: 1 from the word's width up.
std::int64_t packing(DType dtype, const LayoutRules& rules) {
  return std::max<std::int64_t>(1, rules.word_bits / std::max(1, bits(dtype)));
}

// The smallest of unit, 2 unit, 4 unit ... that holds `size`, at most `limit` (but at least unit).
std::int64_t smallest_tile(std::int64_t size, std::int64_t unit, std::int64_t limit) {
  std::int64_t tile = unit;
  while (tile < size && tile * 2 <= limit) tile *= 2;
  return tile;
}

double padded(std::int64_t size, std::int64_t tile) {
  const auto exact = static_cast<double>(size);
  const auto remainder = static_cast<double>(size % tile);
  return remainder == 0 ? exact : exact - remainder + static_cast<double>(tile);
}

// Sizes of the two most minor dimensions -> how much tiling inflates the array.
class PaddingCost {
 public:
  PaddingCost(const Shape& shape, const LayoutRules& rules)
      : shape_(shape), rules_(rules), packing_(packing(shape.dtype, rules)) {}

  [[nodiscard]] std::int64_t rows(std::int64_t dim) const {
    return smallest_tile(size(dim), packing_, rules_.sublanes);
  }
  [[nodiscard]] double inflation(std::int64_t minor, std::int64_t second) const {
    const double lanes = padded(size(minor), rules_.lanes) / static_cast<double>(size(minor));
    return lanes * padded(size(second), rows(second)) / static_cast<double>(size(second));
  }
  // An unknown or empty dimension counts as one element.
  [[nodiscard]] std::int64_t size(std::int64_t dim) const {
    return std::max<std::int64_t>(1, shape_.dims[static_cast<std::size_t>(dim)]);
  }

 private:
  const Shape& shape_;
  const LayoutRules& rules_;
  std::int64_t packing_;
};

// Moves `minor` and `second` to the front of the order, the rest keeping theirs.
Dims with_minor_pair(const Dims& order, std::int64_t minor, std::int64_t second) {
  Dims result = {minor, second};
  for (const std::int64_t dim : order) {
    if (dim != minor && dim != second) result.push_back(dim);
  }
  return result;
}

Dims choose_order(const Dims& given, const PaddingCost& cost) {
  Dims best = given;
  double best_inflation = cost.inflation(given[0], given[1]) * kWorthwhileFraction;
  for (const std::int64_t minor : given) {
    for (const std::int64_t second : given) {
      if (minor == second || cost.inflation(minor, second) >= best_inflation) continue;
      best_inflation = cost.inflation(minor, second);
      best = with_minor_pair(given, minor, second);
    }
  }
  return best;
}

void assign_vector_tiles(Layout& layout, const Shape& shape, const LayoutRules& rules) {
  const std::int64_t pack = packing(shape.dtype, rules);
  const std::int64_t unit = rules.lanes * pack;
  const std::int64_t size = shape.dims.empty() ? 1 : shape.dims[0];
  layout.tiles.push_back({smallest_tile(size, unit, rules.max_rank1_tile)});
  if (pack == 1 || shape.dims.empty()) return;
  layout.tiles.push_back({rules.lanes});
  layout.tiles.push_back({pack, 1});
}

void assign_matrix_tiles(Layout& layout, const Shape& shape, const LayoutRules& rules) {
  const PaddingCost cost(shape, rules);
  layout.minor_to_major = choose_order(layout.minor_to_major, cost);
  layout.tiles.push_back({cost.rows(layout.minor_to_major[1]), rules.lanes});
  const std::int64_t pack = packing(shape.dtype, rules);
  if (pack > 1) layout.tiles.push_back({pack, 1});
}

void assign(Shape& shape, const LayoutRules& rules) {
  for (Shape& element : shape.elements) assign(element, rules);
  if (!shape.is_array()) return;
  if (!rules.tiled) {
    if (shape.layout) shape.layout->tiles.clear();
    if (!shape.layout) shape.layout = default_layout(shape.rank());
  } else if (!shape.layout || shape.layout->tiles.empty()) {
    shape.layout = device_layout(shape, rules);
  }
}

bool is_tiled(const Shape& shape) {
  return (shape.layout && !shape.layout->tiles.empty()) ||
         std::any_of(shape.elements.begin(), shape.elements.end(), is_tiled);
}

}  // namespace

bool has_device_layouts(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (is_tiled(instruction.shape)) return true;
    }
  }
  return false;
}

Layout device_layout(const Shape& shape, const LayoutRules& rules) {
  check(rules);
  Layout layout = shape.layout.value_or(default_layout(shape.rank()));
  layout.tiles.clear();
  if (!rules.tiled) return layout;
  if (bits(shape.dtype) < 8) layout.element_bits = bits(shape.dtype);
  if (shape.rank() < 2) {
    assign_vector_tiles(layout, shape, rules);
  } else {
    assign_matrix_tiles(layout, shape, rules);
  }
  return layout;
}

Module assign_layouts(const Module& module, const LayoutRules& rules) {
  check(rules);
  Module result = module;
  for (Computation& computation : result.computations) {
    for (Instruction& instruction : computation.instructions) assign(instruction.shape, rules);
  }
  for (Shape& shape : result.entry_parameter_layouts) assign(shape, rules);
  if (result.entry_result_layout) assign(*result.entry_result_layout, rules);
  return result;
}

}  // namespace tilecast::ir
