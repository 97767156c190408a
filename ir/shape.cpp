#include "ir/shape.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace tilecast::ir {
namespace {

// Upper limit of sizes, so that a few of them can be added without overflow.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 62;

[[noreturn]] void fail(const Shape& shape, std::string_view why) {
  throw Error("shape " + to_string(shape) + ": " + std::string(why));
}

std::int64_t multiply(std::int64_t a, std::int64_t b, const Shape& shape) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxElements) {
    fail(shape, "too large; sizes are limited to 2^62");
  }
  return product;
}

std::int64_t round_up(std::int64_t size, std::int64_t unit, const Shape& shape) {
  return multiply(size / unit + (size % unit != 0 ? 1 : 0), unit, shape);
}

std::int64_t product(const Dims& dims, const Shape& shape) {
  if (std::find(dims.begin(), dims.end(), kUnboundedSize) != dims.end()) {
    fail(shape, "has an unbounded dimension, its size is unknown");
  }
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count = multiply(count, dim, shape);
  return count;
}

std::int64_t bits_per_element(const Shape& shape) {
  if (shape.layout && shape.layout->element_bits > 0) return shape.layout->element_bits;
  return std::int64_t{storage_bytes(shape.dtype)} * 8;
}

std::int64_t bytes_of(std::int64_t elements, const Shape& shape) {
  const std::int64_t element_bits = bits_per_element(shape);
  if (element_bits % 8 == 0) return multiply(elements, element_bits / 8, shape);
  const std::int64_t total_bits = multiply(elements, element_bits, shape);
  return total_bits / 8 + (total_bits % 8 != 0 ? 1 : 0);
}

template <class LeafBytes>
std::int64_t sum_over_leaves(const Shape& shape, LeafBytes&& leaf_bytes) {
  if (shape.is_array()) return leaf_bytes(shape);
  std::int64_t sum = 0;
  for (const Shape& element : shape.elements) {
    sum += sum_over_leaves(element, leaf_bytes);
    if (sum > kMaxElements) fail(shape, "too large; sizes are limited to 2^62");
  }
  return sum;
}

// Sizes in physical order, majormost first.
Dims physical(const Dims& logical, const Shape& shape) {
  Dims result;
  if (!shape.layout) return logical;
  const Dims& minor_to_major = shape.layout->minor_to_major;
  if (minor_to_major.size() != logical.size()) fail(shape, "its layout has another rank");
  for (auto dim = minor_to_major.rbegin(); dim != minor_to_major.rend(); ++dim) {
    if (*dim < 0 || *dim >= shape.rank()) fail(shape, "its layout names a missing dimension");
    result.push_back(logical[static_cast<std::size_t>(*dim)]);
  }
  return result;
}

// Merges every dimension whose tile entry is `*` into the next more minor one. `sizes` are
// majormost first. Returns the tile without those entries.
Dims combine(Dims& sizes, const Dims& tile, const Shape& shape) {
  while (sizes.size() < tile.size()) sizes.insert(sizes.begin(), 1);
  Dims rest;
  std::size_t at = sizes.size() - tile.size();
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (tile[i] != kCombineTileDim) {
      if (tile[i] <= 0) fail(shape, "a tile size must be positive");
      rest.push_back(tile[i]);
      ++at;
      continue;
    }
    if (i + 1 == tile.size()) fail(shape, "the last entry of a tile cannot be '*'");
    sizes[at + 1] = multiply(sizes[at], sizes[at + 1], shape);
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return rest;
}

}  // namespace

bool Shape::is_unbounded() const {
  return std::find(dims.begin(), dims.end(), kUnboundedSize) != dims.end() ||
         std::any_of(elements.begin(), elements.end(),
                     [](const Shape& element) { return element.is_unbounded(); });
}

Shape Shape::array(DType dtype, Dims dims) {
  Shape shape;
  shape.dtype = dtype;
  shape.dims = std::move(dims);
  return shape;
}

Shape Shape::tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.dtype = DType::kTuple;
  shape.elements = std::move(elements);
  return shape;
}

Shape Shape::token() {
  Shape shape;
  shape.dtype = DType::kToken;
  return shape;
}

Layout default_layout(int rank) {
  Layout layout;
  for (int dim = rank - 1; dim >= 0; --dim) layout.minor_to_major.push_back(dim);
  return layout;
}

std::int64_t element_count(const Shape& shape) {
  return product(shape.dims, shape);
}

std::int64_t unpadded_bytes(const Shape& shape) {
  return sum_over_leaves(shape,
                         [](const Shape& leaf) { return bytes_of(element_count(leaf), leaf); });
}

Dims padded_physical_dims(const Shape& shape) {
  Dims sizes = physical(shape.dims, shape);
  if (!shape.layout || shape.layout->tiles.empty()) return sizes;
  static_cast<void>(element_count(shape));  // throws for unbounded and oversized arrays
  const Dims tile = combine(sizes, shape.layout->tiles.front(), shape);
  const std::size_t first = sizes.size() - tile.size();
  for (std::size_t i = 0; i < tile.size(); ++i) {
    sizes[first + i] = round_up(sizes[first + i], tile[i], shape);
  }
  return sizes;
}

std::int64_t padded_bytes(const Shape& shape) {
  return sum_over_leaves(shape, [](const Shape& leaf) {
    std::int64_t elements = product(padded_physical_dims(leaf), leaf);
    if (leaf.layout && leaf.layout->tail_alignment > 1) {
      elements = round_up(elements, leaf.layout->tail_alignment, leaf);
    }
    return bytes_of(elements, leaf);
  });
}

bool compatible(const Shape& a, const Shape& b) {
  return a.dtype == b.dtype && a.dims == b.dims &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    compatible);
}

bool same_dims(const Shape& a, const Shape& b) {
  return a.dims == b.dims;
}

}  // namespace tilecast::ir
