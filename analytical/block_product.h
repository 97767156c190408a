// Cycles of a matrix product on one core that has no matrix unit: vectors along the columns, blocks
// of rows x vectors held in registers over the whole contraction (Goto and van de Geijn, ACM TOMS
// 2008, the inner kernel).
//
// A step of the contraction costs a block the most of
//   its multiply-adds over the pipes, its loads over the load ports, the latency of a multiply-add
//   (each accumulator is used again by the next step; hwdesc::MatrixUnit::fill), and, where the
//   operands do not lie in the innermost cache, one run of the columns from the cache behind it.
// A block also stores its accumulators; the next block's work hides its own start. Skinny products,
// whose vectors would be mostly empty, may run them along the contraction. Which blocks: 4 x 4,
// 4 x 2 and 8 x 1; what fills none is padded or goes one by one. host/ generates the same, with
// fixed rules for which. Thread-safe.
#pragma once

#include <boost/container/static_vector.hpp>

#include "analytical/iteration_space.h"
#include "analytical/product_type.h"

namespace tilecast::analytical {

struct ProductSizes {  // of one tile
  double calls = 1;    // products of two matrices: batch, window positions, outer rows, groups
  double rows = 1, columns = 1, depth = 1;
  bool exchanged = false;  // rows and columns of the operands, so that vectors fill
  bool skinny = false;     // vectors run along the depth
};

// Below this many columns vectors would be mostly empty.
inline constexpr double kSkinnyColumns = 8;

using ProductWays = boost::container::static_vector<ProductSizes, 4>;
// A library has all ways and takes the cheapest, so more of a product never takes less: as it is
// and, of a dot, exchanged; each also with vectors along the depth where rows are few and
// columns too, or the depth lies in memory so. `depth_is_minor`: of a dot's operands, whether a
// contracted dimension is innermost in memory.
[[nodiscard]] ProductWays product_ways(const IterationSpace& space, const LoopSizes& extents,
                                       std::array<bool, 2> depth_is_minor);
// Of one core; `outside`: share of the operands' bytes that the innermost cache does not hold.
// Infinite where the unit takes none of `type`.
[[nodiscard]] double product_cycles(const ProductSizes& sizes, const hwdesc::Device& device,
                                    const ProductType& type, double outside);

}  // namespace tilecast::analytical
