#include "analytical/simt_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "analytical/distinct_traffic.h"

namespace tilecast::analytical {
namespace {

// Share of the streams' data that a cache of this size loses between waves.
double miss_share(double capacity, double bytes) {
  return bytes > 0 ? std::max(0.0, 1 - capacity / bytes) : 0;
}

}  // namespace

SimtModel::SimtModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : TileModel(kernel, device),
      passes_(space_.matrix || device.execution != hwdesc::Execution::kSimt
                  ? Passes{}
                  : passes_of(kernel, footprints_)),
      compute_(kernel, device, space_, footprints_) {
  if (passes_.count > 1) looped_.emplace(kernel, device, space_, footprints_, passes_.times);
  const auto path = [&](const hwdesc::MemoryLevel& level, const hwdesc::TransferEngine& engine) {
    MemoryPath described = memory_path(level);
    described.read = attained(described.read, engine, described.latency_s);
    return described;
  };
  workers_ = std::max(device.multiplexing.workers, 1);
  memory_ = path(device.main_memory(), device.engines.front());
  const hwdesc::MemoryLevel* cache = shared_cache(device);
  has_cache_ = cache != nullptr;
  cache_ = has_cache_ ? path(*cache, device.engines[1]) : memory_;
  cache_capacity_ = has_cache_ ? cache->capacity.value : 0;
  const hwdesc::TransferEngine& engine = device.engines[has_cache_ ? 1 : 0];
  overhead_s_ = engine.iteration_overhead.value;
  const double granule = (has_cache_ ? *cache : device.main_memory()).granule.value;
  for (const MemoryStream& stream : input_streams(kernel, footprints_, granule)) {
    if (is_resident(kernel.op(stream.op).shape, device)) continue;
    Input input{.stream = stream};
    for (std::size_t i = 0; i < space_.loops.size(); ++i) {
      input.in_loop |= space_.loops[i].reduction && stream.moved_by(i);
    }
    if (space_.matrix) {
      const int groups = space_.matrix->group_loop;  // other rows have other weights
      input.by_row = stream.moved_by_any(space_.matrix->rows) ||
                     (groups >= 0 && stream.moved_by(static_cast<std::size_t>(groups)));
      input.by_column = stream.moved_by_any(space_.matrix->columns);
    }
    if (looped_) input.again = passes_.times[input.stream.op.index()] - 1;
    input_bytes_ += stream.once_bytes;
    inputs_.push_back(input);
  }
  for (const MemoryStream& stream : output_streams(kernel, footprints_, granule)) {
    if (is_resident(kernel.op(stream.op).shape, device)) continue;
    output_bytes_ += stream.once_bytes;
    outputs_.push_back(stream);
  }
  if (!space_.matrix) return;
  stages_ = engine.stages;
  const ProductType& type = compute_.product_type();
  if (type.on_unit()) {
    matrix_rate_ = product_peak(type, device).value * device.matrix.efficiency / workers_;
  }
  constexpr double kMultiplyAdd = 2;
  lane_rate_ = kMultiplyAdd * device.vector_peak().value * device.vector.efficiency / workers_;
  operand_bytes_ =
      ir::storage_bytes(kernel.op(kernel.op(space_.matrix->op).operands[0]).shape.dtype);
  read_widened_operands(kernel);
  max_splits_ = kMaxSplits;
  if (device.execution == hwdesc::Execution::kSimt) {
    const LibraryTiles tiles = library_tiles(space_, type, device);
    sides_ = tiles.sides;
    flat_rows_ = tiles.flat_rows;
    max_splits_ = tiles.splits;
    depth_step_ = tiles.depth_step;
    if (depth_step_ > 0) set_run_slowdowns(kernel);
    set_broadcasts();
    setup_s_ = engine.setup.value;
    shared_rate_ = device.scratchpad().bandwidth.value / workers_;
  }
}

// If no library kernel takes the operands' types, they are converted beforehand, and the product
// reads the converted arrays. A single narrow operand (weights) is widened while it is loaded.
void SimtModel::read_widened_operands(const ir::Kernel& kernel) {
  const ProductType& type = compute_.product_type();
  const ir::Op& product = kernel.op(space_.matrix->op);
  const double wide = type.on_unit() ? ir::storage_bytes(type.dtype) : 0;
  const bool both = std::ranges::all_of(std::span(product.operands).first(2), [&](ir::OpId id) {
    return ir::storage_bytes(kernel.op(id).shape.dtype) < wide;
  });
  if (!both) return;
  operand_bytes_ = wide;
  input_bytes_ = 0;
  for (Input& input : inputs_) {
    const bool multiplied =
        input.stream.op == product.operands[0] || input.stream.op == product.operands[1];
    StoredArray& array = input.stream.array;
    if (multiplied && array.element_bytes < wide) {
      input.stream.once_bytes *= wide / array.element_bytes;
      array.tile_bytes *= wide / array.element_bytes;
      array.element_bytes = wide;
    }
    input_bytes_ += input.stream.once_bytes;
  }
}

// Blocks of consecutive matrices that read the same data (keys of a group of query heads) find it
// in the cache if it holds one of them.
void SimtModel::set_broadcasts() {
  LoopSizes one;
  one.fill(1);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) one[i] = space_.loops[i].size;
  double matrices = 1;
  for (const int loop : space_.matrix->batch) {
    matrices *= static_cast<double>(one[loop]);
    one[loop] = 1;
  }
  if (matrices <= 1) return;
  GroupExtents groups = group_extents();
  footprints_.evaluate(one, {groups.data(), groups.size()});
  for (Input& input : inputs_) {
    const double bytes = region_bytes(input.stream.array, groups[input.stream.group]);
    if (bytes > cache_capacity_) continue;
    input.broadcast = std::max(1.0, matrices * bytes / input.stream.once_bytes);
  }
}

void SimtModel::set_run_slowdowns(const ir::Kernel& kernel) {
  const ir::Op& op = kernel.op(space_.matrix->op);
  const double run = depth_step_ * operand_bytes_;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (!depth_is_minor(kernel, op, i)) continue;
    for (Input& input : inputs_) {
      if (input.stream.op != op.operands[i]) continue;
      const double stride = static_cast<double>(input.stream.array.size[0]) * operand_bytes_;
      input.run_slowdown =
          strided_slowdown(run, stride, device_->engines.front().full_efficiency_run.value);
    }
  }
}

std::vector<TileConfig> SimtModel::candidates(std::size_t limit) const {
  std::vector<TileConfig> tiles = simt_candidate_tiles(space_, limit, sides_);
  if (flat_rows_ <= 1) return tiles;
  constexpr double kRounded = 0.7;  // tiles are boxes near the requested size
  const double whole = whole_product(space_, space_.matrix->rows);
  std::erase_if(tiles, [&](const TileConfig& tile) {
    const double rows = product(tile_extents(space_, tile), space_.matrix->rows);
    return rows < std::min(kRounded * flat_rows_, whole) || rows * kRounded > flat_rows_;
  });
  return tiles;
}

SimtModel::Block SimtModel::prepare(const TileConfig& tile, std::span<Extents> groups) const {
  Block block;
  block.extents = tile_extents(space_, tile);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    const Loop& loop = space_.loops[i];
    if (loop.grouped) continue;
    const double covered = static_cast<double>(loop.size) / static_cast<double>(block.extents[i]) +
                           static_cast<double>(loop.revisits);
    (loop.reduction ? block.covered_steps : block.covered_blocks) *= covered;
    (loop.reduction ? block.steps : block.blocks) *= std::ceil(covered);
  }
  if (flat_rows_ > 1) {
    const std::vector<int>& rows = space_.matrix->rows;
    double counted = 1;
    for (const int l : rows) {
      counted *= static_cast<double>(base::ceil_div(space_.loops[l].size, block.extents[l]));
    }
    block.blocks *= std::ceil(whole_product(space_, rows) / flat_rows_) / counted;
  }
  for (std::size_t i = 0; looped_ && i < space_.loops.size(); ++i) {
    const bool along_row = (passes_.reduced_loops >> i & 1U) != 0;
    block.cut |= along_row && block.extents[i] < space_.loops[i].size;
  }
  block.held = !looped_ || (!block.cut && passes_.row_elements <= kHeldRowElements);
  footprints_.evaluate(block.extents, groups);
  for (const Input& input : inputs_) {
    (input.in_loop ? block.step_bytes : block.once_bytes) +=
        region_bytes(input.stream.array, groups[input.stream.group]);
  }
  for (const MemoryStream& output : outputs_) {
    block.out_bytes += region_bytes(output.array, groups[output.group]);
  }
  set_needs(groups, block);
  return block;
}

// Matrix kernels buffer the operands of every stage and keep accumulators in registers. Others hold
// their tile in registers (in the worker's memory if no register file is described) and reload the
// excess from the shared cache.
void SimtModel::set_needs(std::span<const Extents> groups, Block& block) const {
  const double registers = device_->multiplexing.registers_per_worker.value;
  const double capacity = registers > 0 ? registers : worker_memory(*device_).capacity.value;
  if (!block.held) {
    block.resident = std::max(device_->multiplexing.max_resident, 1);
    return;
  }
  if (!space_.matrix) {
    const double bytes = block.once_bytes + block.out_bytes;
    block.excess_bytes = std::max(0.0, bytes - capacity);
    block.resident = bytes > 0 ? std::floor(capacity / bytes) : device_->multiplexing.max_resident;
    block.resident =
        std::clamp<double>(block.resident, 1, std::max(device_->multiplexing.max_resident, 1));
    block.needs.register_bytes = bytes;
    return;
  }
  const double accumulators = compute_.accumulator_bytes(groups);
  for (const Input& input : inputs_) {
    if (!input.in_loop) continue;
    block.needs.shared_bytes +=
        stages_ * resident_bytes(input.stream.array, groups[input.stream.group]);
  }
  (registers > 0 ? block.needs.register_bytes : block.needs.shared_bytes) += accumulators;
  block.resident = resident_blocks(*device_, block.needs);
}

// Depth that a step computes for `depth`: whole instructions; if the kernel's own steps are shorter
// than the tile's, its share of the contraction rounded up to those.
double SimtModel::step_depth(double depth) const {
  if (depth_step_ <= 0) return round_up(depth, static_cast<double>(device_->matrix.rows));
  const double whole = whole_product(space_, space_.matrix->contraction);
  return round_up(whole, depth_step_) / std::ceil(whole / depth);
}

// One step of one block, padded to the instruction's rows x columns x contraction, and to the sides
// of a library's tiles, which are powers of two and computed whole. Groups too narrow for the unit
// run on the vector units when those are faster.
UnitCycles SimtModel::multiply(const LoopSizes& extents) const {
  const MatrixLoops& loops = *space_.matrix;
  constexpr double kFusedMultiplyAdd = 2;  // operations in one vector instruction
  const double in_tile = product(extents, loops.rows);
  const double of_tile = flat_rows_ > 1 ? flat_rows_ / in_tile : 1;
  const double vector = of_tile * compute_.vector_matrix_cycles(extents) / kFusedMultiplyAdd;
  if (matrix_rate_ <= 0) return {.vector = vector};
  const hwdesc::MatrixUnit& unit = device_->matrix;
  double columns = product(extents, loops.columns);
  double matrices = product(extents, loops.batch);
  if (loops.groups > 1) {
    const double per_group = columns_per_group(space_);
    matrices *= std::ceil(columns / per_group);
    columns = std::min(columns, per_group);
  }
  const auto side = [&](const std::vector<int>& of, double size, double unit_size,
                        const BlockSide& block) {
    const bool fits = size >= whole_product(space_, of);
    const double instructions = round_up(size, unit_size);
    if (!fits || block.least <= 1 || size > block.most) return instructions;
    const auto tile = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(size)));
    return std::max({instructions, tile, block.least});
  };
  const double rows = flat_rows_ > 1
                          ? flat_rows_
                          : side(loops.rows, in_tile, static_cast<double>(unit.rows), sides_.rows);
  const double positions =
      std::max(product(extents, loops.positions) / static_cast<double>(loops.dilation), 1.0);
  const double depth = step_depth(product(extents, loops.contraction) * positions);
  columns = side(loops.columns, columns, static_cast<double>(unit.columns), sides_.columns);
  const double flops = 2 * matrices * rows * depth * columns;
  const double reads = depth_step_ > 0 ? operand_reads_on_lanes(rows, columns) : 1;
  const double matrix = flops * reads / matrix_rate_ / cycle_s_;
  return loops.groups > 1 && vector < matrix ? UnitCycles{.vector = vector}
                                             : UnitCycles{.matrix = matrix};
}

// Warps form a square over the tile; each reads its rows and columns of the operands.
double SimtModel::shared_memory_s(const LoopSizes& extents) const {
  if (shared_rate_ <= 0 || matrix_rate_ <= 0) return 0;
  const MatrixLoops& loops = *space_.matrix;
  const double side = std::sqrt(std::max(device_->multiplexing.warps_per_block, 1));
  const double lines = product(extents, loops.rows) + product(extents, loops.columns);
  return product(extents, loops.batch) * side * lines * product(extents, loops.contraction) *
         product(extents, loops.positions) * operand_bytes_ / shared_rate_;
}

SimtModel::ComputeTime SimtModel::compute_time(const Block& block, std::span<const Extents> groups,
                                               BoundMask removed) const {
  ComputeTime time;
  time.finish = (block.held ? compute_ : *looped_).epilogue(groups);
  if (space_.matrix) {
    time.iteration = compute_.prologue(groups);
    const UnitCycles product = multiply(block.extents);
    time.iteration.matrix += product.matrix;
    time.iteration.vector += product.vector;
    time.shared_s = kept_s(removed, Bound::kOnChip, shared_memory_s(block.extents));
  } else {
    std::swap(time.iteration, time.finish);
  }
  time.iteration = time.iteration.without(removed);
  time.finish = time.finish.without(removed);
  time.iteration_s = compute_.overlapped(time.iteration) * cycle_s_;
  time.finish_s = compute_.overlapped(time.finish) * cycle_s_;
  return time;
}

WaveShape SimtModel::shape_of_wave(const Block& block, double wave_blocks,
                                   std::span<const Extents> groups) const {
  if (!space_.matrix) return {};
  const auto grid = [&](const std::vector<int>& loops) {
    double tiles = 1;
    for (const int l : loops) {
      tiles *= static_cast<double>(space_.loops[l].size) / static_cast<double>(block.extents[l]);
    }
    return tiles;
  };
  const auto bytes = [&](const std::vector<int>& loops) {
    double sum = 0;
    for (const Input& input : inputs_) {
      if (input.in_loop && input.stream.moved_by_any(loops)) {
        sum += region_bytes(input.stream.array, groups[input.stream.group]);
      }
    }
    return sum;
  };
  const MatrixLoops& loops = *space_.matrix;
  const double rows = grid(loops.rows), columns = grid(loops.columns);
  if (depth_step_ > 0) {  // blocks run row by row
    return {.rows = std::clamp(wave_blocks / columns, 1.0, rows),
            .columns = std::min(columns, wave_blocks)};
  }
  return wave_shape(wave_blocks, rows, columns, bytes(loops.rows), bytes(loops.columns));
}

// Number of blocks of a wave that share one copy of `input`'s data.
double SimtModel::reuse(const Input& input, const Block& block, const WaveShape& wave,
                        double wave_blocks) const {
  if (space_.matrix) {
    return (input.by_row ? 1 : wave.rows) * (input.by_column ? 1 : wave.columns);
  }
  double shared = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (input.stream.moved_by(i)) continue;
    shared *= static_cast<double>(space_.loops[i].size) / static_cast<double>(block.extents[i]);
  }
  return std::clamp(shared, 1.0, std::max(wave_blocks, 1.0));
}

// Bytes all blocks read between two passes over the same row: one row per block in flight, or all
// input if passes are launches.
double SimtModel::bytes_between_passes(const Block& block, std::span<const Extents> groups) const {
  if (block.cut) return input_bytes_;
  double rows = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if ((passes_.reduced_loops >> i & 1U) == 0) rows *= static_cast<double>(block.extents[i]);
  }
  double row_bytes = 0;
  for (const Input& input : inputs_) {
    if (input.again == 0) continue;
    row_bytes += region_bytes(input.stream.array, groups[input.stream.group]) / rows;
  }
  return std::min(device_->multiplexing.workers * block.resident * row_bytes, input_bytes_);
}

SimtModel::Traffic SimtModel::traffic(const Block& block, const Launch& launch, double splits,
                                      std::span<const Extents> groups) const {
  const double together = std::max(1.0, launch.wave_blocks / splits);
  const WaveShape wave = shape_of_wave(block, together, groups);
  const double clustered = std::min<double>(together, device_->multiplexing.cluster_blocks);
  const WaveShape cluster = shape_of_wave(block, clustered, groups);
  const double missed = miss_share(cache_capacity_, input_bytes_);
  const double missed_again =
      block.held ? 0 : repeated_miss_share(cache_capacity_, bytes_between_passes(block, groups));
  Traffic moved;
  for (const Input& input : inputs_) {
    const double loaded = region_bytes(input.stream.array, groups[input.stream.group]) *
                          block.covered_blocks * (input.in_loop ? block.covered_steps : 1);
    const double once = std::min(input.stream.once_bytes, loaded);
    const double by_wave =
        std::max(once, loaded / (reuse(input, block, wave, together) * input.broadcast));
    const double multicast = input.in_loop ? reuse(input, block, cluster, clustered) : 1;
    moved.cache_read += loaded / multicast;
    const double from_dram = once + (by_wave - once) * missed;
    moved.dram_read += from_dram;
    moved.dram_lost += from_dram * (input.run_slowdown - 1);
    if (block.held) continue;
    moved.cache_read += loaded * input.again;
    moved.dram_read += once * input.again * missed_again;
  }
  moved.cache_read += block.excess_bytes * block.covered_blocks * block.covered_steps;
  moved.cache_write = block.out_bytes * block.covered_blocks;
  moved.dram_write = output_bytes_;
  if (splits > 1) {
    const double partial = splits * compute_.accumulator_bytes(groups) * block.covered_blocks;
    moved.cache_write += partial;
    moved.cache_read += partial;
  }
  return moved;
}

}  // namespace tilecast::analytical
