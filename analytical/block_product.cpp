#include "analytical/block_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/transfer.h"

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

namespace {

enum Role : std::uint8_t { kBatch, kRows, kColumns, kFeatures, kInputs, kSteps };

constexpr double kBytes = 4;       // per element: f32
constexpr double kGenerated = 16;  // lanes of the widest vector in generated code (host/c_loops.h)
constexpr double kMostWritten = 256;  // statements that are unrolled (host/c_loops.h)
constexpr double kOperands = 2;       // registers left for operands

// Vector registers of x86-64: 32 with AVX-512, 16 before (Intel 64 and IA-32 manual, volume 1).
double registers_of(double lanes) {
  return lanes >= 16 ? 32 : 16;
}

}  // namespace

struct LoopConvolution::Cut {
  double pixels = 1, rows = 1, columns = 1, features = 1, inputs = 1;  // per tile
  double in_text = 1;  // taps of the window that are unrolled
  double steps = 1, tiles = 1;
  std::vector<NestLoop> nest;  // innermost first
};

std::optional<LoopConvolution> LoopConvolution::of(const ir::Kernel& kernel,
                                                   const IterationSpace& space,
                                                   const hwdesc::Device& device) {
  const ir::Op& op = kernel.op(space.anchor);
  const auto* attrs = op.get<ir::ConvAttrs>();
  const bool plain = space.matrix && attrs != nullptr && attrs->window.size() == 2 &&
                     attrs->feature_group_count == 1 && attrs->batch_group_count == 1 &&
                     op.shape.dtype == ir::DType::kF32 && !space.matrix->contraction.empty() &&
                     space.matrix->positions.size() == 2 && kernel.ops().size() == 3;
  if (!plain) return std::nullopt;
  return LoopConvolution(kernel, space, device);
}

LoopConvolution::LoopConvolution(const ir::Kernel& kernel, const IterationSpace& space,
                                 const hwdesc::Device& device)
    : device_(&device), space_(space) {
  const ir::Op& op = kernel.op(space.anchor);
  const auto& attrs = op.as<ir::ConvAttrs>();
  const auto loop = [&](std::int64_t dim) {
    return space.anchor_loops[static_cast<std::size_t>(dim)];
  };
  loops_ = {loop(attrs.dims.output_batch), loop(attrs.dims.output_spatial[0]),
            loop(attrs.dims.output_spatial[1]), loop(attrs.dims.output_feature),
            space.matrix->contraction.front()};
  const ir::WindowDim &down = attrs.window[0], &across = attrs.window[1];
  taps_ = static_cast<double>(down.size * across.size);
  columns_of_window_ = static_cast<double>(across.size);
  stride_ = static_cast<double>(across.stride);
  dilated_rows_ = static_cast<double>((down.size - 1) * down.window_dilation);
  dilated_columns_ = static_cast<double>((across.size - 1) * across.window_dilation);
  const ir::Shape& image = kernel.op(op.operands[0]).shape;
  image_ = static_cast<double>(ir::element_count(image));
  padded_ = image_;
  for (std::size_t w = 0; w < 2; ++w) {
    const auto pixels =
        static_cast<double>(image.dims[static_cast<std::size_t>(attrs.dims.input_spatial[w])]);
    const auto pads = static_cast<double>(attrs.window[w].pad_low +
                                          std::max<std::int64_t>(attrs.window[w].pad_high, 0));
    padded_ *= (pixels + pads) / pixels;
    is_padded_ = is_padded_ || pads > 0;
  }
  weights_ = static_cast<double>(ir::element_count(kernel.op(op.operands[1]).shape));
  results_ = static_cast<double>(ir::element_count(op.shape));
  for (std::size_t i = 0; i < device.memory.size(); ++i) {
    const MemoryPath path = memory_path(device.memory[i]);
    const double read = i < device.engines.size()
                            ? attained(path.read, device.engines[i], path.latency_s)
                            : path.read;
    levels_.push_back({read, path.write, device.memory[i].capacity.value});
  }
  const hwdesc::MatrixUnit& unit = device.matrix;
  const double workers = std::max(device.multiplexing.workers, 1);
  cycle_s_ = 1 / device.clock.value;
  lanes_ = static_cast<double>(unit.columns);
  pipes_ = device.matrix_peak("f32").value / workers / (2 * device.clock.value * lanes_);
  latency_ = unit.fill.value * device.clock.value / unit.clock.value_or(device.clock).value;
  registers_ = registers_of(lanes_);
}

std::string LoopConvolution::refusal(const TileConfig& tile) const {
  const LoopSizes extents = tile_extents(space_, tile);
  for (const int loop : loops_) {
    const auto i = static_cast<std::size_t>(loop);
    if (space_.loops[i].size % extents[i] != 0) {
      return fmt::format("a tile of {} does not divide {}", extents[i], space_.loops[i].size);
    }
  }
  if (tile.direct && is_padded_) return "a window with padding is packed";
  return {};
}

LoopConvolution::Cut LoopConvolution::cut(const TileConfig& tile) const {
  const LoopSizes extents = tile_extents(space_, tile);
  const auto extent = [&](Role role) {
    return static_cast<double>(extents[static_cast<std::size_t>(loops_[role])]);
  };
  const auto trips = [&](Role role) {
    return static_cast<double>(space_.loops[static_cast<std::size_t>(loops_[role])].size) /
           extent(role);
  };
  Cut made;
  made.rows = extent(kBatch) * extent(kRows);
  made.columns = extent(kColumns);
  made.pixels = made.rows * made.columns;
  made.features = extent(kFeatures);
  made.inputs = extent(kInputs);
  made.in_text = tile.unroll > 1 ? columns_of_window_ : 1;
  made.nest.push_back({kSteps, made.inputs * taps_});
  made.nest.push_back({kInputs, trips(kInputs)});
  std::vector<Role> order{kBatch, kFeatures, kRows, kColumns};
  if (!tile.order.empty()) {
    std::sort(order.begin(), order.end(), [&](Role a, Role b) {
      const auto place = [&](Role role) {
        const int slot = space_.loops[static_cast<std::size_t>(loops_[role])].slot;
        return std::find(tile.order.begin(), tile.order.end(), slot + 1);
      };
      return place(a) < place(b);
    });
  }
  for (auto role = order.rbegin(); role != order.rend(); ++role) {
    made.nest.push_back({*role, trips(*role)});
    made.tiles *= trips(*role);
  }
  made.steps = made.tiles * trips(kInputs) * made.inputs * taps_;
  return made;
}

// Vectors of `lanes` lanes per cycle. 64-byte vectors run as two of 32 bytes where a core has a
// single pipe or port for them (AMD software optimization guide, family 19h, model 11h, section
// 2.11; on Intel ports 0 and 1 join): narrower vectors use up to `ports`.
double LoopConvolution::rate(double of_widest, double lanes, double ports) const {
  return std::max(of_widest, std::min(ports, of_widest * lanes_ / lanes));
}

double LoopConvolution::step_cycles(const Cut& cut) const {
  // The widest power of two in the features, at most that of generated code; the machine splits it.
  double lanes = 1;
  while (lanes < kGenerated && std::fmod(cut.features, 2 * lanes) == 0) lanes *= 2;
  const double chunks = cut.features / lanes, sums_in_text = cut.pixels * chunks;
  const double wide = sums_in_text * std::ceil(lanes / lanes_);
  const bool in_registers = sums_in_text * cut.in_text <= kMostWritten &&
                            wide <= registers_ - kOperands &&
                            sums_in_text <= registers_of(kGenerated) - kOperands;
  lanes = std::min(lanes, lanes_);
  // x86 does not multiply vectors of two floats: each is computed alone.
  if (lanes == 2 && in_registers) lanes = 1;
  const double vectors = cut.features / lanes, sums = cut.pixels * vectors;
  const hwdesc::VectorUnit& vector = device_->vector;
  const double loads = cut.pixels + vectors + (in_registers ? 0 : sums);
  const double busy =
      std::max(sums / rate(pipes_, lanes, 2), loads / rate(vector.load_ports, lanes, 2));
  // A sum waits for its previous step; in memory there are too many sums for that to matter.
  if (in_registers) return std::max(busy, latency_);
  return std::max(busy, sums / rate(vector.store_ports, lanes, 1));
}

// Cycles to copy `runs` runs of `elements` elements; each run starts a loop.
double LoopConvolution::copy_cycles(double runs, double elements) const {
  const double vectors = elements >= lanes_ ? std::ceil(elements / lanes_) : elements;
  const hwdesc::VectorUnit& vector = device_->vector;
  return runs * (latency_ + vectors / std::min(vector.load_ports, vector.store_ports));
}

// Seconds in which the caches behind the first deliver the parts of the packed arrays.
double LoopConvolution::brought_s(const Cut& cut) const {
  const auto bit = [](Role role) { return 1U << role; };
  const double window = (stride_ * (cut.columns - 1) + dilated_columns_ + 1) *
                        (stride_ * (cut.rows - 1) + dilated_rows_ + 1);
  const std::array<Operand, 2> operands{
      Operand{bit(kSteps) | bit(kInputs) | bit(kFeatures), kBytes * cut.features},
      Operand{bit(kInputs) | bit(kBatch) | bit(kRows) | bit(kColumns),
              kBytes * window * cut.inputs}};
  std::vector<double> capacities;
  for (const Level& level : levels_) capacities.push_back(level.capacity);
  std::array<LoadsFrom, 2> loads{};
  count_loads(cut.nest, operands, capacities, kBytes * cut.pixels * cut.features, loads);
  // The arrays were just packed, so those that fit in a cache are there.
  std::size_t packed_in = 0;
  while (packed_in + 1 < levels_.size() &&
         kBytes * (padded_ + weights_) <= levels_[packed_in + 1].capacity) {
    ++packed_in;
  }
  double seconds = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
      const std::size_t from = std::max(level, level == 0 ? packed_in : level);
      if (from + 1 >= levels_.size()) continue;
      seconds += loads[i][level] * operands[i].tile_bytes / levels_[from].read;
    }
  }
  return seconds;
}

PerBound LoopConvolution::parts(const TileConfig& tile) const {
  using enum Bound;
  const Cut cut = this->cut(tile);
  PerBound parts{};
  const double compute_s = cut.steps * step_cycles(cut) * cycle_s_;
  parts[index_of(kMatrix)] = compute_s;
  parts[index_of(kOnChip)] = std::max(0.0, brought_s(cut) - compute_s);  // overlaps with the sums
  double copies = copy_cycles(results_ / cut.features, cut.features);
  if (!tile.direct) {
    copies += copy_cycles(padded_ / cut.inputs, cut.inputs);
    copies += copy_cycles(weights_ / cut.features, cut.features);
  }
  parts[index_of(kCrossLane)] = copies * cycle_s_;
  parts[index_of(kHbmRead)] = read_bytes() / levels_[0].read;
  parts[index_of(kHbmWrite)] = write_bytes() / levels_[0].write;
  parts[index_of(kLatency)] = device_->main_memory().latency.value;
  parts[index_of(kOverhead)] = device_->dispatch.kernel_launch.value;
  return parts;
}

}  // namespace tilecast::analytical
