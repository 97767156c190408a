// The groups of columns, and what they all look at. Internal to learned/table_features.h.
//
// Each group declares its columns and their values in a file of its own
// (learned/table_features_<group>.cpp). Functions are thread-safe; a KernelScan is one thread's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analytical/cost_model.h"
#include "analytical/iteration_space.h"
#include "learned/table_features_columns.h"

namespace tilecast::learned {

// One dot or convolution as a product of matrices: batch x (m x k) x (k x n).
struct MatrixSizes {
  double batch = 1, m = 1, n = 1, k = 1;
  [[nodiscard]] double multiply_adds() const { return batch * m * n * k; }
};
[[nodiscard]] std::optional<MatrixSizes> matrix_sizes(const ir::Kernel& kernel, const ir::Op& op);

// 0 for what is no array; sizes that are not known count as 0.
[[nodiscard]] double elements_of(const ir::Shape& shape);
// Unpadded; of one array.
[[nodiscard]] double bytes_of(const ir::Shape& shape);
// The dimension whose elements are next to each other; -1 for scalars.
[[nodiscard]] int minor_dimension(const ir::Shape& shape);
[[nodiscard]] double minor_size(const ir::Shape& shape);  // 1 for scalars

// What several groups need to know about a kernel, in one pass over its ops.
struct KernelScan {
  const ir::Kernel* kernel = nullptr;
  std::vector<double> elements;  // by op
  std::vector<double> depth;     // by op: ops on the longest way to it
  std::vector<int> uses;         // by op: operands that name it
  double parameter_bytes = 0, output_bytes = 0;
  const ir::Op* largest_parameter = nullptr;
  const ir::Op* largest_output = nullptr;
  const ir::Op* matrix = nullptr;     // with the most multiply-adds
  const ir::Op* reduction = nullptr;  // reduce or reduce-window with the largest operand
  MatrixSizes sizes;                  // of `matrix`
  double multiply_adds = 0;           // of all dots and convolutions
  double flops = 0, transcendentals = 0, bytes_read = 0, bytes_written = 0;  // NaN: not known
  ir::DType main_dtype = ir::DType::kF32;  // of the matrix op's operands, else the largest array

  void of(const ir::Kernel& scanned);
};

// The machine's constants and its peaks by type, looked up once.
class MachineScan {
 public:
  explicit MachineScan(const hwdesc::Device& device) : device_(device) {}
  [[nodiscard]] const hwdesc::Device& device() const { return device_; }
  // FLOP/s of the matrix unit; 0 when there is none for this type.
  [[nodiscard]] double matrix_peak(ir::DType dtype);

 private:
  const hwdesc::Device& device_;
  std::array<double, 64> peaks_ = [] {
    std::array<double, 64> unknown{};
    unknown.fill(-1);
    return unknown;
  }();
};

// The kernel's loops, for the tile group.
struct TileScan {
  analytical::IterationSpace space;
  double output_bytes = 0;              // of one element of the outputs
  double lhs_bytes = 0, rhs_bytes = 0;  // of one element of the matrix operands
  double bytes = 0;                     // of parameters and outputs
  double positions = 1;                 // of all loops
  double innermost_capacity = 0, cache_capacity = 0;

  void of(const KernelScan& scan, const hwdesc::Device& device);
};

void static_columns(std::vector<FeatureColumn>& columns);
void ops_columns(std::vector<FeatureColumn>& columns);
void shape_columns(std::vector<FeatureColumn>& columns);
void tile_columns(std::vector<FeatureColumn>& columns);
void prior_columns(std::vector<FeatureColumn>& columns);
void machine_columns(std::vector<FeatureColumn>& columns);

// Each writes its columns to the front of `out` and returns how many.
std::size_t write_static(const KernelScan& scan, std::span<float> out);
std::size_t write_ops(const KernelScan& scan, std::span<float> out);
std::size_t write_shape(const KernelScan& scan, std::span<float> out);
std::size_t write_machine(const KernelScan& scan, MachineScan& machine, std::span<float> out);
std::size_t write_tile(const TileScan& scan, const analytical::TileConfig* tile,
                       std::span<float> out);
std::size_t write_prior(const std::optional<analytical::Estimate>& prior, std::span<float> out);

// Of the largest memory between main memory and the core that one core has to itself or shares.
[[nodiscard]] double cache_capacity(const hwdesc::Device& device);

}  // namespace tilecast::learned
