// Cycles of a matrix product on one core without a matrix unit: vectors along the columns, blocks
// of rows x vectors accumulated in registers over the whole contraction (the inner kernel of Goto
// and van de Geijn, ACM TOMS 2008).
//
// Per contraction step a block takes the maximum of
//   its multiply-adds over the pipes, its loads over the load ports, the latency of a multiply-add
//   (the next step needs the same accumulator; hwdesc::MatrixUnit::fill), and, where operands are
//   outside the innermost cache, one run of the columns from the cache behind it.
// Each block also stores its accumulators; its start-up is hidden by the previous block. Products
// too narrow to fill vectors may run them along the contraction instead. Block shapes (rows x
// vectors): 4 x 4, 4 x 2, 8 x 1; remainders are padded or run one by one. host/ generates the same
// blocks but picks them by fixed rules. Thread-safe.
#pragma once

#include <boost/container/static_vector.hpp>

#include "analytical/iteration_space.h"
#include "analytical/product_type.h"

namespace tilecast::analytical {

struct ProductSizes {  // one tile
  double calls = 1;    // products of two matrices: batch, window positions, outer rows, groups
  double rows = 1, columns = 1, depth = 1;
  bool exchanged = false;  // rows and columns swapped, so that vectors fill
  bool skinny = false;     // vectors run along the depth
};

// Products with fewer columns would leave vectors mostly empty.
inline constexpr double kSkinnyColumns = 8;

using ProductWays = boost::container::static_vector<ProductSizes, 4>;
// The variants a library chooses from; it takes the cheapest, so a larger product is never faster.
// A dot has two, with the operands as they are and exchanged. Each also comes with vectors along
// the depth if both rows and columns are few, or rows are few and the depth is innermost in memory.
// `depth_is_minor`: per dot operand, whether a contracted dimension is innermost in memory.
[[nodiscard]] ProductWays product_ways(const IterationSpace& space, const LoopSizes& extents,
                                       std::array<bool, 2> depth_is_minor);
// Cycles on one core. `outside`: share of the operand bytes that the innermost cache does not hold.
// Infinite if the unit does not take `type`.
[[nodiscard]] double product_cycles(const ProductSizes& sizes, const hwdesc::Device& device,
                                    const ProductType& type, double outside);

}  // namespace tilecast::analytical
