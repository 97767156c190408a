#include "analytical/xla_cpu.h"

#include <algorithm>
#include <cmath>

#include "analytical/layout_rules.h"
#include "analytical/roofline.h"
#include "ir/kernels/kernel_split.h"

namespace tilecast::analytical {
namespace {

// A small product: one of a single multiply-add, and the loops around a larger one with what each
// step of the depth adds per vector of columns (two sums in flight, four cycles each).
constexpr double kSingleCycles = 9, kGroupCycles = 18, kStepCycles = 1.5;
constexpr double kWindowCycles = 0.4, kPaddedWindowCycles = 2;
// Of a comparison: half of the branches are mispredicted; a comparator is called through a pointer.
constexpr double kCompareCycles = 8, kCallCycles = 38, kOperandCycles = 6;
// Of a selection: an element against the least that is kept, and a step in the heap of those.
constexpr double kScanCycles = 4.3, kHeapCycles = 35;

double log2_of(double n) {
  return std::log2(std::max(n, 2.0));
}

}  // namespace

bool is_xla_cpu(const hwdesc::Device& device) {
  return compiler(device) == ir::Compiler::kXlaCpu && device.execution == hwdesc::Execution::kCache;
}

bool is_written_in_order(const ir::Kernel& kernel, const IterationSpace& space,
                         const hwdesc::Device& device) {
  if (!is_xla_cpu(device) || space.matrix) return false;
  return std::ranges::none_of(kernel.ops(),
                              [](const ir::Op& op) { return op.opcode == ir::Opcode::kReduce; });
}

double library_product_cycles(const IterationSpace& space, const hwdesc::Device& device,
                              const ProductType& type) {
  const MatrixLoops& matrix = *space.matrix;
  const double lanes = static_cast<double>(device.vector.lanes);
  const double rows = whole_product(space, matrix.rows) * whole_product(space, matrix.batch);
  const double depth = whole_product(space, matrix.contraction);
  const double taps = whole_product(space, matrix.positions);
  const double vectors = std::ceil(columns_per_group(space) / lanes);
  if (matrix.groups > 1) {
    const double step =
        depth > 1 ? kGroupCycles + kStepCycles * depth * vectors : kSingleCycles * vectors;
    return rows * taps * static_cast<double>(matrix.groups) * step;
  }
  const double columns = columns_per_group(space);
  // Vectors run along whichever side leaves fewer lanes empty, or along the depth.
  const double padded =
      std::min({rows * vectors * lanes * depth, std::ceil(rows / lanes) * lanes * columns * depth,
                rows * columns * std::ceil(depth / lanes) * lanes});
  const double per_cycle =
      product_peak(type, device).value / device.multiplexing.workers / device.clock.value;
  return 2 * padded * taps / (per_cycle * device.matrix.efficiency);
}

std::vector<ir::Kernel> library_calls(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const auto is_product = [](const ir::Op& op) { return op.opcode == ir::Opcode::kDot; };
  if (!is_xla_cpu(device) || std::ranges::count_if(kernel.ops(), is_product) < 2) return {};
  return ir::split_kernel(kernel, ir::Launches::kPerProduct);
}

double rounding_cycles(ir::DType from, ir::DType to) {
  constexpr double kRound = 0.5, kWiden = 0.25, kHalf = 0.08;
  if (from == ir::DType::kF16 || to == ir::DType::kF16) return kHalf;
  if (to == ir::DType::kBF16) return kRound;
  return from == ir::DType::kBF16 ? kWiden : 0;
}

double window_element_cycles(const ir::Op& reduce_window) {
  const auto padded = [](const ir::WindowDim& window) {
    return window.pad_low != 0 || window.pad_high != 0;
  };
  return std::ranges::count_if(reduce_window.as<ir::WindowAttrs>().window, padded) > 1
             ? kPaddedWindowCycles
             : kWindowCycles;
}

double sort_cycles(const SortedRows& rows) {
  if (rows.selected > 0) {
    const double kept = std::min(rows.selected, rows.length);
    const double steps = kept * (std::log(rows.length / kept) + 1) * log2_of(kept);
    return rows.count * (rows.length * kScanCycles + steps * kHeapCycles);
  }
  const bool plain = rows.integers && rows.operands == 1;
  const double further = static_cast<double>(rows.operands - 1);
  const double comparison = kCompareCycles + (plain ? 0 : kCallCycles + kOperandCycles * further);
  return rows.count * rows.length * log2_of(rows.length) * comparison;
}

}  // namespace tilecast::analytical
