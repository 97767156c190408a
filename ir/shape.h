// Shapes and device layouts.
//
// A shape is an array (`bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)}`), a tuple, a token, an opaque
// value or a buffer `b(shape)`. Dimension i of an array has `dims[i]` elements. A layout lists
// dimensions from the fastest varying to the slowest (`minor_to_major`), then the tilings,
// outermost first, that the device applies to the minormost physical dimensions. Value types;
// thread-compatible; comparisons are structural.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/shared.h"

namespace tilecast::ir {

using Dims = boost::container::small_vector<std::int64_t, 4>;

inline constexpr std::int64_t kUnboundedSize = INT64_MIN;   // `?` in f32[?,784]
inline constexpr std::int64_t kCombineTileDim = INT64_MIN;  // `*` in T(2,*,128)

struct Layout {
  Dims minor_to_major;              // a permutation of 0..rank-1
  std::vector<Dims> tiles;          // T(8,128)(2,1) is {{8,128},{2,1}}
  std::int64_t tail_alignment = 1;  // L(n), elements
  int element_bits = 0;             // E(n), 0 = natural
  int memory_space = 0;             // S(n): 0 HBM, 1 VMEM, 2 sync flags, 3 CMEM, 5 host, 6 scalar
  int cache = 0;  // where it is found: 1 the largest cache, 2 the next ...; 0: main memory, unknown
  std::int64_t dynamic_prefix_bytes = 0;  // M(n)
  std::string split_config;               // `(1:50,200)` after SC, kept for printing
  std::string other;  // raw D(..) before T, or #(..) *(..) P(..) items, for printing
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Shape {
  static constexpr int kMaxRank = 32;  // one bit of dynamic_mask each; readers reject higher ranks

  DType dtype = DType::kInvalid;
  Dims dims;                       // arrays only
  std::uint32_t dynamic_mask = 0;  // bit i: dims[i] is only a bound (`<=n`)
  Shared<Layout> layout;           // arrays only; absent = not assigned
  std::vector<Shape> elements;     // tuple elements; one element for a buffer

  [[nodiscard]] bool is_array() const { return is_array_element(dtype); }
  [[nodiscard]] bool is_tuple() const { return dtype == DType::kTuple; }
  [[nodiscard]] bool is_token() const { return dtype == DType::kToken; }
  [[nodiscard]] int rank() const { return static_cast<int>(dims.size()); }
  [[nodiscard]] bool is_scalar() const { return is_array() && dims.empty(); }
  [[nodiscard]] bool is_dynamic(int dim) const {
    return dim < kMaxRank && (dynamic_mask >> dim & 1U) != 0;
  }
  void set_dynamic(int dim) {  // no effect from kMaxRank on
    if (dim < kMaxRank) dynamic_mask |= std::uint32_t{1} << dim;
  }
  [[nodiscard]] bool is_unbounded() const;  // any dimension `?`, at any tuple depth
  [[nodiscard]] bool has_layout() const { return layout.has_value(); }
  [[nodiscard]] int memory_space() const { return layout ? layout->memory_space : 0; }
  friend bool operator==(const Shape&, const Shape&) = default;

  static Shape array(DType dtype, Dims dims);
  static Shape tuple(std::vector<Shape> elements);
  static Shape token();
};

// Row-major: {n-1, ..., 0}, no tiling.
[[nodiscard]] Layout default_layout(int rank);

// Number of elements of an array; 1 for a scalar; throws Error above 2^62 or if unbounded.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
// Bytes of the elements alone, tuples summed over array leaves; layout padding ignored.
[[nodiscard]] std::int64_t unpadded_bytes(const Shape& shape);
// Bytes of the buffer on the device: the first tiling pads the minor dimensions, L(n) pads the end
// (openxla.org/xla/tiled_layout). Tuples: summed over leaves. Token, opaque: 0.
[[nodiscard]] std::int64_t padded_bytes(const Shape& shape);
// Dimension sizes in physical order, majormost first, each padded to its tile.
[[nodiscard]] Dims padded_physical_dims(const Shape& shape);

// Same element types, dimensions and tuple structure; layouts (and dynamic bounds) ignored.
[[nodiscard]] bool compatible(const Shape& a, const Shape& b);
[[nodiscard]] bool same_dims(const Shape& a, const Shape& b);

// Calls `visit(leaf, index_path)` for every non-tuple leaf, depth first.
template <class Visit>
void for_each_leaf(const Shape& shape, Visit&& visit) {
  if (shape.is_tuple()) {
    for (const Shape& element : shape.elements) for_each_leaf(element, visit);
  } else {
    visit(shape);
  }
}

// HLO text, with layouts (`f32[2,3]{1,0}`) or without.
[[nodiscard]] std::string to_string(const Shape& shape, bool with_layout = true);

}  // namespace tilecast::ir
