#include "analytical/block_product.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilecast::analytical {
namespace {

// Throughputs of the core for one element type; cycles of the core's clock.
struct Core {
  double lanes = 1, pipes = 1;  // per vector; vector multiply-adds per cycle
  double load_ports = 1, store_ports = 1, latency = 1;
  double vector_bytes = 4;
  double far_bytes_per_cycle = 1, far_run_bytes = 0;  // the cache behind the innermost
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

// Vectors along the depth: four columns share each load of the row; the remainder runs element by
// element or as one padded vector.
double skinny_cycles(const ProductSizes& sizes, const Core& core) {
  const double vectors = std::floor(sizes.depth / core.lanes);
  const double rest = sizes.depth - vectors * core.lanes;
  const double vector = std::max(1 / core.pipes, 1.25 / core.load_ports);
  const double per_column = vectors * vector +
                            (rest > 0 ? std::min(vector, rest * 2 / core.load_ports) : 0) +
                            core.lanes / 2 + core.latency;
  return sizes.rows * sizes.columns * per_column;
}

// One panel of `vectors` vectors; leftover rows run one by one or as one padded block, whichever is
// cheaper.
double panel_cycles(double vectors, const ProductSizes& sizes, const Core& core) {
  const double together = vectors > 1 ? 4 : 8;
  const double blocks = std::floor(sizes.rows / together);
  const double singles = sizes.rows - blocks * together;
  const double block = core.block(together, vectors, sizes.depth);
  return blocks * block +
         (singles > 0 ? std::min(block, singles * core.block(1, vectors, sizes.depth)) : 0);
}

// Panels of four vectors; the remainder as panels of two and one, or as one padded panel of four.
double panels_cycles(const ProductSizes& sizes, const Core& core) {
  const double all = std::ceil(sizes.columns / core.lanes);
  const double fours = std::floor(all / 4);
  const double four = panel_cycles(4, sizes, core), two = panel_cycles(2, sizes, core),
               one = panel_cycles(1, sizes, core);
  const double rest = all - 4 * fours;
  const double cheapest = rest == 0   ? 0
                          : rest == 1 ? std::min({one, two, four})
                          : rest == 2 ? std::min(two, four)
                                      : std::min(two + one, four);
  return fours * four + cheapest;
}

}  // namespace

ProductWays product_ways(const IterationSpace& space, const LoopSizes& extents,
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
    ProductWays ways = {sizes};
    if (sizes.columns < kSkinnyColumns) ways.emplace_back(sizes).skinny = true;
    return ways;
  }
  ProductWays ways = {sizes, sizes};
  std::swap(ways[1].rows, ways[1].columns);
  ways[1].exchanged = true;
  for (const std::size_t i : {0, 1}) {
    ProductSizes thin = ways[i];
    thin.skinny = true;
    const bool along_depth = depth_is_minor[thin.exchanged ? 0 : 1];
    const bool thin_columns = thin.columns < kSkinnyColumns;
    if (thin.rows < kSkinnyColumns && (thin_columns || along_depth)) ways.push_back(thin);
  }
  return ways;
}

double product_cycles(const ProductSizes& sizes, const hwdesc::Device& device,
                      const ProductType& type, double outside) {
  if (!type.on_unit()) return std::numeric_limits<double>::infinity();
  const double peak = product_peak(type, device).value;
  const Core core = core_of(device, peak, outside);
  if (sizes.skinny) return sizes.calls * skinny_cycles(sizes, core);
  return sizes.calls * panels_cycles(sizes, core);
}

}  // namespace tilecast::analytical
