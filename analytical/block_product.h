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

#include <array>
#include <boost/container/static_vector.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analytical/accounting.h"
#include "analytical/iteration_space.h"
#include "analytical/product_type.h"
#include "analytical/reuse.h"

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

// Time of a convolution on a processor core that runs the loops of schedule/convolution.h.
//
// Arrays are packed first. Then each step of the sum (one tap and input feature) multiplies the
// pixels of a tile with a row of its output features:
//
//   F = pixels * vectors                  multiply-adds: vectors per row of output features
//   step = max(F / pipes, (pixels + vectors) / load ports, latency)       sums in registers
//   step = max(F / pipes, (pixels + vectors + F) / load ports, F / store ports)   else
//   T = packing + max(steps * step, loads from the caches behind the first) + storing
//
// Sums are in registers if all of a tile fit beside two operands and the code of a step is unrolled
// (host/c_loops.h). Port model: Fog; register tiles: BLIS (Low et al., ACM TOMS 2016,
// section 4.2.1). Immutable, thread-safe.
class LoopConvolution {
 public:
  // nullopt for kernels that schedule/convolution.h has no loops for.
  static std::optional<LoopConvolution> of(const ir::Kernel& kernel, const IterationSpace& space,
                                           const hwdesc::Device& device);
  // Seconds per resource; they add up. Requires a tile without a refusal.
  [[nodiscard]] PerBound parts(const TileConfig& tile) const;
  [[nodiscard]] std::string refusal(const TileConfig& tile) const;
  [[nodiscard]] double read_bytes() const { return 4 * (image_ + weights_); }
  [[nodiscard]] double write_bytes() const { return 4 * results_; }

 private:
  struct Cut;  // extents of a tile, and trip counts of the loops
  struct Level {
    double read = 1, write = 1, capacity = 0;  // bytes per second, bytes
  };
  LoopConvolution(const ir::Kernel& kernel, const IterationSpace& space,
                  const hwdesc::Device& device);
  [[nodiscard]] Cut cut(const TileConfig& tile) const;
  [[nodiscard]] double rate(double of_widest, double lanes, double ports) const;
  [[nodiscard]] double step_cycles(const Cut& cut) const;
  [[nodiscard]] double copy_cycles(double runs, double elements) const;
  [[nodiscard]] double brought_s(const Cut& cut) const;

  const hwdesc::Device* device_;
  IterationSpace space_;
  std::array<int, 5> loops_{};  // batch, rows, columns, output features; input features
  double taps_ = 1, columns_of_window_ = 1;  // of the window
  double stride_ = 1, dilated_rows_ = 1, dilated_columns_ = 1;
  double image_ = 0, padded_ = 0, weights_ = 0, results_ = 0;  // elements
  bool is_padded_ = false;
  std::vector<Level> levels_;
  double cycle_s_ = 1, lanes_ = 1, pipes_ = 1, latency_ = 1, registers_ = 16;
};

}  // namespace tilecast::analytical
