// Column groups of table features, and the analyses they share. Internal to
// learned/table_features.h. Functions are thread-safe; a KernelScan is not.
#pragma once

#include <array>
#include <vector>

#include "analytical/analytical_model.h"
#include "analytical/iteration_space.h"
#include "learned/feature_schema.h"

namespace tilecast::learned {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::size_t kListEntries = 6;

// a / b; NaN unless `b` is positive.
[[nodiscard]] inline double ratio(double a, double b) {
  return b > 0 ? a / b : kMissing;
}

// One dot or convolution as a matrix product: batch x (m x k) x (k x n).
struct MatrixSizes {
  double batch = 1, m = 1, n = 1, k = 1;
  [[nodiscard]] double multiply_adds() const { return batch * m * n * k; }
};

// Number of elements; 0 for non-arrays. Unknown sizes count as 0.
[[nodiscard]] double elements_of(const ir::Shape& shape);
// The dimension with contiguous elements; -1 for scalars.
[[nodiscard]] int minor_dimension(const ir::Shape& shape);
// Size of one dimension; 1 if the shape does not have it.
[[nodiscard]] double dimension_size(const ir::Shape& shape, std::int64_t dimension);
[[nodiscard]] double minor_size(const ir::Shape& shape);  // 1 for scalars
[[nodiscard]] bool contains(const ir::Dims& dimensions, std::int64_t dimension);

// Facts about a kernel that several groups use, from one pass over its ops.
struct KernelScan {
  const ir::Kernel* kernel = nullptr;
  std::vector<double> elements;  // by op
  std::vector<double> depth;     // by op: length of the longest path to it, in ops
  std::vector<int> uses;         // by op: number of operands that refer to it
  double parameter_bytes = 0, output_bytes = 0;
  const ir::Op* largest_parameter = nullptr;
  const ir::Op* largest_output = nullptr;
  const ir::Op* matrix = nullptr;     // matrix op with the most multiply-adds
  const ir::Op* reduction = nullptr;  // reduce or reduce-window with the largest operand
  MatrixSizes sizes;                  // of `matrix`
  double multiply_adds = 0;           // of all dots and convolutions
  double flops = 0, transcendentals = 0, bytes_read = 0, bytes_written = 0;  // NaN: unknown
  ir::DType main_dtype = ir::DType::kF32;  // of the matrix op's operands, else the largest array

  void of(const ir::Kernel& scanned);
};

// The machine's constants and its peaks by type, looked up once.
class MachineScan {
 public:
  explicit MachineScan(const hwdesc::Device& device) : device_(device) { peaks_.fill(-1); }
  [[nodiscard]] const hwdesc::Device& device() const { return device_; }
  // FLOP/s of the matrix unit; 0 if there is none for this type.
  [[nodiscard]] double matrix_peak(ir::DType dtype);

 private:
  const hwdesc::Device& device_;
  std::array<double, 64> peaks_;  // by type; negative: not looked up yet
};

// The kernel's loops, for the tile group.
struct TileScan {
  analytical::IterationSpace space;
  double output_bytes = 0;              // per output element
  double lhs_bytes = 0, rhs_bytes = 0;  // per element of the matrix operands
  double bytes = 0;                     // all parameters and outputs
  double positions = 1;                 // iterations of all loops
  double innermost_capacity = 0, cache_capacity = 0;

  void of(const KernelScan& scan, const hwdesc::Device& device);
};

// Sizes of one tile: extents in the two minor dimensions, and of its matrix product; NaN: none.
struct TileSizes {
  double minor = kMissing, second_minor = kMissing;
  double m = kMissing, n = kMissing, k = kMissing;
};
[[nodiscard]] TileSizes tile_sizes(const TileScan& scan, const analytical::TileConfig* tile);

// To only name the columns, call with an empty scan, a device without memory and no tile.
void ops_columns(const KernelScan& scan, Columns& to);
void shape_columns(const KernelScan& scan, Columns& to);
void machine_columns(const KernelScan& scan, MachineScan& machine, Columns& to);
void tile_columns(const TileScan& scan, const analytical::TileConfig* tile, Columns& to);
void alignment_columns(const KernelScan& scan, const hwdesc::Device& device, const TileSizes& tile,
                       Columns& to);

// Bytes of the largest memory between main memory and the core, private or shared.
[[nodiscard]] double cache_capacity(const hwdesc::Device& device);

}  // namespace tilecast::learned
