#include "analytical/block_product.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilecast::analytical {
namespace {

// What a step of the contraction costs, for one element type; cycles of the core's clock.
struct Core {
  double lanes = 1, pipes = 1;  // of a vector; multiply-adds of vectors per cycle
  double load_ports = 1, store_ports = 1, latency = 1;
  double vector_bytes = 4;
  double far_bytes_per_cycle = 1, far_run_bytes = 0;  // of the cache behind the innermost
  double outside = 0;

  [[nodiscard]] double block(double rows, double vectors, double depth) const {
    const double far = outside * (vectors * vector_bytes + far_run_bytes) / far_bytes_per_cycle;
    const double step =
        std::max({rows * vectors / pipes, (rows + vectors) / load_ports, latency, far});
    return depth * step + rows * vectors / store_ports;
  }
};

Core core_of(const hwdesc::Device& device, double peak, double outside) {
  const hwdesc::MatrixUnit& unit = device.matrix;
  const double clock_ratio = device.clock / unit.clock.value_or(device.clock);
  const double workers = std::max(device.multiplexing.workers, 1);
  const hwdesc::MemoryLevel& behind = device.memory[device.memory.size() - 2];
  Core core;
  core.lanes = static_cast<double>(unit.columns);
  core.pipes = peak / workers / (2 * device.clock.value * core.lanes) * unit.efficiency;
  core.load_ports = device.vector.load_ports;
  core.store_ports = device.vector.store_ports;
  core.latency = unit.fill.value * clock_ratio;
  core.vector_bytes = 4 * core.lanes;
  core.far_bytes_per_cycle =
      behind.bandwidth.value * behind.efficiency / workers / device.clock.value;
  core.far_run_bytes = device.engines.back().full_efficiency_run.value;
  core.outside = outside;
  return core;
}

// Vectors along the depth: four columns share a load of the row; what is left over goes one by one.
double skinny_cycles(const ProductSizes& sizes, const Core& core) {
  const double vectors = std::floor(sizes.depth / core.lanes);
  const double rest = sizes.depth - vectors * core.lanes;
  const double per_column = vectors * std::max(1 / core.pipes, 1.25 / core.load_ports) +
                            rest * 2 / core.load_ports + core.lanes / 2 + core.latency;
  return sizes.rows * sizes.columns * per_column;
}

// The blocks of one panel of `vectors` vectors.
double panel_cycles(double vectors, const ProductSizes& sizes, const Core& core) {
  const double together = vectors > 1 ? 4 : 8;
  const double blocks = std::floor(sizes.rows / together);
  const double singles = sizes.rows - blocks * together;
  return blocks * core.block(together, vectors, sizes.depth) +
         singles * core.block(1, vectors, sizes.depth);
}

}  // namespace

ProductSizes product_sizes(const IterationSpace& space, const LoopSizes& extents,
                           std::array<bool, 2> depth_is_minor) {
  const MatrixLoops& loops = *space.matrix;
  ProductSizes sizes;
  sizes.rows = product(extents, loops.rows);
  sizes.columns = product(extents, loops.columns);
  sizes.depth = product(extents, loops.contraction);
  sizes.calls = product(extents, loops.batch);
  if (!loops.positions.empty()) {  // one product per window position and row of the image
    const double inner = static_cast<double>(extents[loops.rows.back()]);
    sizes.calls *= product(extents, loops.positions) * sizes.rows / inner;
    sizes.rows = inner;
    if (loops.groups > 1 && sizes.depth > 1) {
      const double per_group = columns_per_group(space);
      sizes.calls *= std::max(sizes.columns / per_group, 1.0);
      sizes.columns = std::min(sizes.columns, per_group);
    }
    sizes.skinny = sizes.columns < kSkinnyColumns && sizes.depth >= 2 * kSkinnyColumns;
    return sizes;
  }
  if (sizes.columns < kSkinnyColumns && sizes.rows > sizes.columns) {
    std::swap(sizes.rows, sizes.columns);
    sizes.exchanged = true;
  }
  const bool along_depth = depth_is_minor[sizes.exchanged ? 0 : 1];
  sizes.skinny = sizes.rows < kSkinnyColumns && sizes.depth >= 2 * kSkinnyColumns &&
                 (sizes.columns < kSkinnyColumns || along_depth);
  return sizes;
}

double product_cycles(const ProductSizes& sizes, const hwdesc::Device& device,
                      std::string_view dtype, double outside) {
  const double peak = device.matrix_peak(dtype).value;
  if (peak <= 0) return std::numeric_limits<double>::infinity();
  const Core core = core_of(device, peak, outside);
  if (sizes.skinny) return sizes.calls * skinny_cycles(sizes, core);
  double left = std::ceil(sizes.columns / core.lanes);
  double cycles = 0;
  for (const double vectors : {4.0, 2.0, 1.0}) {
    const double panels = std::floor(left / vectors);
    left -= panels * vectors;
    if (panels > 0) cycles += panels * panel_cycles(vectors, sizes, core);
  }
  return sizes.calls * cycles;
}

}  // namespace tilecast::analytical
