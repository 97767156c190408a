#include "analytical/simt_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "analytical/library_tiles.h"
#include "analytical/simt_atomics.h"
#include "analytical/simt_loads.h"

namespace tilecast::analytical {
namespace {

// Time of loads that queue. `memory_s`: main memory's time alone; `waited_s`: that of the
// latencies.
double queued_s(double memory_s, double waited_s) {
  return (memory_s + waited_s + std::hypot(memory_s, waited_s)) / 2;
}

// Main memory is waited for in turn: instructions and arguments, the first load, the last store.
// Products fetch the first of these during their set-up.
constexpr double kStreamingWaits = 3;

// Warps that load operands and multiply get in each other's way (the 4-norm of simt_launch.h).
double contended_s(double a, double b) {
  return std::sqrt(std::hypot(a * a, b * b));
}

// Time per multiply-add of a block on vector lanes, relative to a block of 128 x 128, the largest,
// which MatrixUnit::efficiency describes. A thread of 16 x 16 reads rows / 16 and columns / 16
// numbers of shared memory, four at a time, for rows / 16 x columns / 16 multiply-adds; a read
// takes two of their issue slots. Within 0.04 of the relative rates of 12,920 products on an A100
// and a V100.
double operand_reads_on_lanes(double rows, double columns) {
  constexpr double kReadSlots = 2, kThreadsOfASide = 16, kReadAtOnce = 4;
  const auto slots = [](double r, double c) {
    return 1 + kReadSlots * kThreadsOfASide / kReadAtOnce * (1 / r + 1 / c);
  };
  return slots(rows, columns) / slots(kLargestLaneSide, kLargestLaneSide);
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
  kept_results_ = has_cache_ ? cache->results.value : 0;
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
      input.by_group = groups >= 0 && stream.moved_by(static_cast<std::size_t>(groups));
      input.by_row = stream.moved_by_any(space_.matrix->rows) || input.by_group;
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
  if (!space_.matrix) {
    if (device.execution == hwdesc::Execution::kSimt) {
      read_code(kernel);
      atomics_s_ = atomic_updates_s(kernel, device);
    }
    return;
  }
  stages_ = engine.stages;
  const ProductType& type = compute_.product_type();
  set_matrix_rate();
  constexpr double kMultiplyAdd = 2;
  lane_rate_ = kMultiplyAdd * device.vector_peak().value * device.vector.efficiency / workers_;
  operand_bytes_ =
      ir::storage_bytes(kernel.op(kernel.op(space_.matrix->op).operands[0]).shape.dtype);
  read_widened_operands(kernel);
  max_splits_ = device.library.splits;
  if (device.execution == hwdesc::Execution::kSimt) {
    const LibraryTiles tiles = library_tiles(space_, type, device, kernel.gpu_code());
    sides_ = tiles.sides;
    flat_rows_ = tiles.flat_rows;
    max_splits_ = std::min(max_splits_, tiles.splits);
    depth_step_ = tiles.depth_step;
    by_warps_ = matrix_rate_ > 0 && depth_step_ <= 0 && device.library.operand_rows <= 0 &&
                space_.matrix->positions.empty();
    set_run_slowdowns(kernel);
    set_broadcasts();
    set_taps();
    shared_rate_ = device.scratchpad().bandwidth.value / workers_;
  }
}

// The rate and the set-up of the library's kernels for the products' type.
void SimtModel::set_matrix_rate() {
  const ProductType& type = compute_.product_type();
  const std::string_view dtype = ir::name(type.on_unit() ? type.dtype : ir::DType::kF32);
  if (type.on_unit()) {
    matrix_rate_ =
        product_peak(type, *device_).value * device_->product_efficiency(dtype) / workers_;
  }
  lane_share_ = device_->library.lane_efficiency.value_or(device_->vector.efficiency);
  if (device_->execution != hwdesc::Execution::kSimt) return;
  setup_s_ = device_->product_setup(dtype).value;
  const bool on_lanes = !type.on_unit() || multiplies_on_lanes(*device_, dtype);
  if (on_lanes && device_->library.lane_setup) setup_s_ = device_->library.lane_setup->value;
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

// A step on tensor cores brings a line of each row, and blocks of rows share translations; engines
// that bring whole boxes (Library::operand_rows) ask for neighbouring lines together.
void SimtModel::set_run_slowdowns(const ir::Kernel& kernel) {
  constexpr double kLine = 128, kChipPage = 2048;
  if (!by_warps_ && depth_step_ <= 0) return;
  const ir::Op& op = kernel.op(space_.matrix->op);
  const double run = depth_step_ > 0 ? depth_step_ * operand_bytes_ : kLine;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (!depth_is_minor(kernel, op, i)) continue;
    for (Input& input : inputs_) {
      if (input.stream.op != op.operands[i]) continue;
      double stride = static_cast<double>(input.stream.array.size[0]) * operand_bytes_;
      if (depth_step_ <= 0) stride = std::min(stride, kChipPage);
      input.run_slowdown =
          strided_slowdown(run, stride, device_->engines.front().full_efficiency_run.value);
    }
  }
}

std::vector<LoopSizes> SimtModel::candidate_extents(std::size_t limit) const {
  std::vector<LoopSizes> tiles = simt_candidate_extents(space_, limit, sides_);
  if (flat_rows_ <= 1) return tiles;
  constexpr double kRounded = 0.7;  // tiles are boxes near the requested size
  const double whole = whole_product(space_, space_.matrix->rows);
  std::erase_if(tiles, [&](const LoopSizes& extents) {
    const double rows = product(extents, space_.matrix->rows);
    return rows < std::min(kRounded * flat_rows_, whole) || rows * kRounded > flat_rows_;
  });
  return tiles;
}

SimtModel::Block SimtModel::prepare(const TileConfig& tile, std::span<Extents> groups) const {
  Block block;
  block.extents = tile_extents(space_, tile);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    const Loop& loop = space_.loops[i];
    block.tiles[i] = static_cast<double>(loop.size) / static_cast<double>(block.extents[i]);
    if (loop.grouped) continue;
    const double covered = loop.padded_tiles(block.extents[i]);
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
  const bool by_tiles = code_ && code_->emitter == ir::GpuCode::Emitter::kTriton;
  block.held = !looped_ || (!block.cut && (by_tiles || passes_.row_elements <= kHeldRowElements));
  if (code_) block.blocks = std::ceil(block.covered_blocks);  // they count results in memory order
  footprints_.evaluate(block.extents, groups);
  for (const Input& input : inputs_) {
    const double bytes = loaded_bytes(space_, block.extents, input.stream.array,
                                      groups[input.stream.group], input.gathered);
    block.loaded.push_back(bytes);
    (input.in_loop ? block.step_bytes : block.once_bytes) += bytes;
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
  if (code_ && code_->emitter != ir::GpuCode::Emitter::kHero) {
    block.resident = resident_code(block);
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
    const bool whole = space_.matrix->groups > 1;  // window and channels of a group are one step
    const Extents& region = groups[input.stream.group];
    const StoredArray& array = input.stream.array;
    block.needs.shared_bytes +=
        (whole ? std::min(stages_, block.steps) : stages_) *
        (input.gathered ? loaded_bytes(space_, block.extents, array, region, true)
                        : resident_bytes(array, region));
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

// cuDNN's products over window positions take a step's contraction from one position: its channels
// are padded to the bytes that a row of an operand has in a step, of kernels for clusters 128
// (seven stages of 128 x 64 and 64 x 128 halves fill the 226 KiB of those of ResNet-50 on an H100),
// of others 64 (tilesize128x128x32). Channels that are no whole load are padded in memory.
void SimtModel::set_taps() {
  constexpr double kLoadBytes = 16, kStepBytes = 64, kClusterStepBytes = 128;
  const MatrixLoops& loops = *space_.matrix;
  const ProductType& type = compute_.product_type();
  const bool on_lanes = !type.on_unit() || multiplies_on_lanes(*device_, ir::name(type.dtype));
  if (loops.positions.empty() || on_lanes) return;
  for (Input& input : inputs_) {
    input.windowed =
        input.stream.moved_by_any(loops.rows) && input.stream.moved_by_any(loops.positions);
  }
  if (loops.groups > 1) return;
  for (Input& input : inputs_) input.gathered = input.windowed;
  const bool clusters = device_->multiplexing.cluster_blocks > 1;
  tap_depth_ = (clusters ? kClusterStepBytes : kStepBytes) / operand_bytes_;
  const double channels = whole_product(space_, loops.contraction);
  const double padded = round_up(channels, std::max(kLoadBytes / operand_bytes_, 1.0));
  for (Input& input : inputs_) {
    if (!input.windowed) continue;
    const double before = input.stream.once_bytes;
    input.stream.once_bytes *= padded / channels;
    input_bytes_ += input.stream.once_bytes - before;
  }
}

// One step of one block, padded to the instruction's rows x columns x contraction, and to the sides
// of a library's tiles, which are powers of two and computed whole. Groups too narrow for the unit
// run on the vector units when those are faster.
UnitCycles SimtModel::multiply(const LoopSizes& extents) const {
  const MatrixLoops& loops = *space_.matrix;
  constexpr double kFusedMultiplyAdd = 2;  // operations in one vector instruction
  // Convolutions of each feature by itself are kernels for lanes (no shared memory in profiles of
  // an H200). Their multiply-adds share no data in registers: two more slots for the input, whose
  // 16-bit values are read in pairs and unpacked, and one for the weight.
  constexpr double kUnsharedSlots = 1 + 2 + 1;
  const bool alone = loops.groups > 1 && whole_product(space_, loops.contraction) == 1;
  const double in_tile = product(extents, loops.rows);
  const double of_tile = flat_rows_ > 1 ? flat_rows_ / in_tile : 1;
  const double slots = alone ? kUnsharedSlots : 1;
  const double vector = of_tile * slots * compute_.vector_matrix_cycles(extents) /
                        kFusedMultiplyAdd * device_->vector.efficiency / lane_share_;
  if (matrix_rate_ <= 0 || alone) return {.vector = vector};
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
    const double tile = sides_.step > 0
                            ? round_up(size, sides_.step)
                            : static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(size)));
    return std::max({instructions, tile, block.least});
  };
  const double rows = flat_rows_ > 1
                          ? flat_rows_
                          : side(loops.rows, in_tile, static_cast<double>(unit.rows), sides_.rows);
  const double positions =
      std::max(product(extents, loops.positions) / static_cast<double>(loops.dilation), 1.0);
  double channels = product(extents, loops.contraction);
  if (tap_depth_ > 0) channels = round_up(channels, tap_depth_);
  const double depth = step_depth(channels * positions);
  columns = side(loops.columns, columns, static_cast<double>(unit.columns), sides_.columns);
  const double flops = 2 * matrices * rows * depth * columns;
  const double reads = depth_step_ > 0 ? operand_reads_on_lanes(rows, columns) : 1;
  const double matrix = flops * reads / matrix_rate_ / cycle_s_;
  return loops.groups > 1 && vector < matrix ? UnitCycles{.vector = vector}
                                             : UnitCycles{.matrix = matrix};
}

// Instructions that read operands themselves read the columns for every `operand_rows`. Else warps
// form a square over the tile; each reads its rows and columns of what was copied there.
double SimtModel::shared_memory_s(const LoopSizes& extents) const {
  if (shared_rate_ <= 0 || matrix_rate_ <= 0) return 0;
  const MatrixLoops& loops = *space_.matrix;
  const double rows = product(extents, loops.rows), columns = product(extents, loops.columns);
  const double warps = std::sqrt(std::max(device_->multiplexing.warps_per_block, 1));
  const double at_once = device_->library.operand_rows;
  const double copied = by_warps_ ? 1 : 0;
  const double lines = at_once > 0 && depth_step_ <= 0
                           ? rows + columns * std::max(rows / at_once, 1.0)
                           : (warps + copied) * (rows + columns);
  return product(extents, loops.batch) * lines * product(extents, loops.contraction) *
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

WaveShape SimtModel::shape_of_wave(const Block& block, double wave_blocks) const {
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
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].in_loop && inputs_[i].stream.moved_by_any(loops)) sum += block.loaded[i];
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
    double rows = input.by_row ? 1 : wave.rows;
    if (input.by_group) rows = blocks_of_group(space_, block.extents, wave.rows);
    return rows * (input.by_column ? 1 : wave.columns);
  }
  double shared = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (!input.stream.moved_by(i)) shared *= block.tiles[i];
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
  const WaveShape wave = shape_of_wave(block, together);
  const double clustered = std::min<double>(together, device_->multiplexing.cluster_blocks);
  const WaveShape cluster = shape_of_wave(block, clustered);
  const double missed = miss_share(cache_capacity_, input_bytes_);
  const double missed_again =
      block.held ? 0 : repeated_miss_share(cache_capacity_, bytes_between_passes(block, groups));
  Traffic moved;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const double loaded =
        block.loaded[i] * block.covered_blocks * (input.in_loop ? block.covered_steps : 1);
    const double once = std::min(input.stream.once_bytes, loaded);
    const double shared = reuse(input, block, wave, together) * input.broadcast;
    double needed = loaded;
    if (input.windowed) needed = once * (input.by_column ? 1 : column_tiles(space_, block.extents));
    const double by_wave =  // neighbouring blocks of code share the sectors of strided reads
        code_ ? once : std::max(once, needed / shared);
    const double multicast = input.in_loop ? reuse(input, block, cluster, clustered) : 1;
    moved.cache_read += code_ ? read_through_cache(input, loaded) : loaded / multicast;
    const double from_dram = once + (by_wave - once) * missed;
    moved.dram_read += from_dram;
    moved.dram_lost += from_dram * (input.run_slowdown - 1);
    if (block.held) continue;
    moved.cache_read += loaded * input.again;
    moved.dram_read += once * input.again * missed_again;
  }
  moved.cache_read += block.excess_bytes * block.covered_blocks * block.covered_steps;
  moved.cache_write = block.out_bytes * block.covered_blocks;
  moved.dram_write = std::max(0.0, output_bytes_ - kept_results_);
  if (splits > 1) {
    const double partial = splits * compute_.accumulator_bytes(groups) * block.covered_blocks;
    moved.cache_write += partial;
    moved.cache_read += partial;
  }
  return moved;
}

double SimtModel::run(const Block& block, double splits, BoundMask removed,
                      std::span<const Extents> groups, Accounting* accounting) const {
  using enum Bound;
  const Launch launch = launch_of(*device_, block.resident, block.blocks * splits);
  const double steps = std::ceil(block.steps / splits);
  const MemoryPath memory = memory_.without(removed, kHbmRead, kHbmWrite);
  const MemoryPath cache = cache_.without(removed, kOnChip, kOnChip);
  const ComputeTime use = compute_time(block, groups, removed);
  const Traffic moved = traffic(block, launch, splits, groups);
  const double step_s = by_warps_ ? contended_s(use.iteration_s, use.shared_s)
                                  : std::max(use.iteration_s, use.shared_s);
  const double core_s = launch.per_worker * (steps * step_s + use.finish_s);
  const double slowed = space_.matrix ? slowed_by_power(*device_, core_s) : 1;
  PerBound busy{};
  for (const auto& [bound, of_unit] : kUnits) {
    busy[index_of(bound)] = slowed * launch.per_worker *
                            (steps * use.iteration.*of_unit + use.finish.*of_unit) * cycle_s_;
  }
  busy[index_of(kHbmRead)] = (moved.dram_read + moved.dram_lost) / memory.read;
  busy[index_of(kHbmWrite)] = moved.dram_write / memory.write;
  const double cache_s =
      has_cache_
          ? std::max(cache.busy_s(moved.cache_read / cache.read, moved.cache_write / cache.write),
                     kept_s(removed, kOnChip, atomics_s_))
          : 0;
  busy[index_of(kOnChip)] =
      std::max({cache_s, busy[index_of(kOnChip)], launch.per_worker * steps * use.shared_s});

  const double overhead = kept_s(removed, kOverhead, overhead_s_);
  const double passes = passes_.count;
  const double pass_s =  // a pass waits for the one before
      block.held || block.cut ? 0 : (passes - 1) * (cache.latency_s + overhead);
  PipelineLoop loop{.stages = stages_};
  const double memory_s = memory.busy_s(busy[index_of(kHbmRead)], busy[index_of(kHbmWrite)]);
  const bool queues = space_.matrix && has_cache_;
  const double waited_s = queues ? launch.waves * steps * memory.latency_s / stages_ : 0;
  loop.path_s = std::max(queued_s(memory_s, waited_s), cache_s);
  loop.core_s = slowed * core_s;
  if (code_) {
    const double bytes = kept_s(removed, kLatency, moved.dram_read + moved.dram_write);
    loop.path_s = std::max(streamed_s(block, memory_s, bytes), cache_s);
    const double starts_s = kept_s(removed, kIssue, code_starts_s(block));
    if (starts_s > loop.core_s) loop.core_s = busy[index_of(kIssue)] = starts_s;
  }
  // Streaming blocks start whenever another ends, so their transfers are not synchronised with a
  // wave; the first load is one of the ends.
  const double in_step = space_.matrix ? loop.path_s : -memory.latency_s;
  loop.round_trip_s = launch.waves * (steps * (memory.latency_s + step_s) + pass_s) + in_step;
  loop.in_order_s = slowed * launch.waves * (steps * (step_s + overhead) + use.finish_s);

  const double waits_s = (space_.matrix ? 2 : kStreamingWaits) * memory.latency_s;
  double ends = waits_s;
  if (!code_) {
    double moved_s = 0;  // first loads and last stores of a wave
    if (space_.matrix) {
      const double first = block.step_bytes * block.covered_blocks * splits;
      const double last = block.out_bytes * block.covered_blocks;
      moved_s = (first / cache.read + last / cache.write) / launch.resident / launch.waves;
    }
    // Resident blocks hide each other's ends, but not those of warps that load in phase.
    const double hiding = by_warps_ ? 1 : launch.resident;
    ends = waits_s + moved_s +
           (launch.waves - 1) * (2 * memory.latency_s + moved_s * launch.resident) / hiding;
  }
  ends = kept_s(removed, kFillDrain, block.cut ? passes * ends : ends);
  const double launches = block.cut ? passes : splits > 1 ? 2 : 1;
  const double launch_s =
      kept_s(removed, kOverhead, setup_s_ + launches * device_->dispatch.kernel_launch.value);
  const double total_s = launch_s + steady_period_s(loop) + ends;
  if (accounting == nullptr) return total_s;
  *accounting = {};
  accounting->add_periods(loop, busy, 1, kCachedPaths);
  accounting->add_alone(kFillDrain, ends);
  accounting->add_alone(kOverhead, launch_s);
  accounting->total_s = total_s;
  accounting->read_bytes = moved.dram_read;
  accounting->write_bytes = moved.dram_write;
  if (has_cache_) accounting->inner_bytes[0] = moved.cache_read + moved.cache_write;
  return total_s;
}

double SimtModel::best_split(const TileConfig& tile, BoundMask removed,
                             Accounting* accounting) const {
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  Block block = prepare(tile, groups);
  double best = std::numeric_limits<double>::infinity(), best_splits = 1;
  if (block.resident < 1) {
    if (accounting == nullptr) return best;
    block.excess_bytes =
        std::max(0.0, block.needs.shared_bytes - worker_memory(*device_).capacity.value);
    block.resident = 1;
  }
  const double held = device_->multiplexing.workers * block.resident;
  for (double splits = 1; splits <= max_splits_ && splits < 2 * block.steps; splits *= 2) {
    if (splits > 1 && (block.blocks >= held || !space_.matrix)) break;
    const double time = run(block, splits, removed, groups, nullptr);
    if (time >= best) continue;
    best = time;
    best_splits = splits;
  }
  return accounting == nullptr ? best : run(block, best_splits, removed, groups, accounting);
}

double SimtModel::time_s(const TileConfig& tile) const {
  double time = 0;
  times_s({&tile, 1}, {&time, 1});
  return time;
}

Accounting SimtModel::account(const TileConfig& tile, BoundMask removed) const {
  Accounting accounting;
  if (is_scheduled(tile)) {
    accounting = account_schedule(tile, removed);
  } else {
    best_split(tile, removed, &accounting);
  }
  accounting.iterations = iterations(tile);
  return accounting;
}

double SimtModel::scratchpad_bytes(const TileConfig& tile) const {
  if (is_scheduled(tile)) return occupancy(schedule_of(tile), *device_).shared_bytes;
  GroupExtents storage = group_extents();
  return prepare(tile, {storage.data(), storage.size()}).needs.shared_bytes;
}

std::string SimtModel::infeasible_reason(const TileConfig& tile) const {
  if (is_scheduled(tile)) return schedule_refusal(tile);
  GroupExtents storage = group_extents();
  const Block block = prepare(tile, {storage.data(), storage.size()});
  if (block.resident >= 1) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format(
      "a block needs {:.1f} KiB of {} ({:.1f} KiB available) and {:.1f} KiB of accumulators "
      "(half of {:.1f} KiB of registers available)",
      block.needs.shared_bytes / kKiB, worker_memory(*device_).name,
      worker_memory(*device_).capacity.value / kKiB, block.needs.register_bytes / kKiB,
      device_->multiplexing.registers_per_worker.value / kKiB);
}

}  // namespace tilecast::analytical
