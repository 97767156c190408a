#include <algorithm>
#include <cmath>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using analytical::IterationSpace;
using analytical::LoopSizes;
using analytical::product;
using analytical::TileConfig;

struct TileFacts {
  double output_tiles = kMissing, reduction_steps = kMissing;
  double elements = kMissing, output_elements = kMissing, output_bytes = kMissing;
  double minor = kMissing, second_minor = kMissing, minor_share = kMissing;
  double trips_minor = kMissing, outer_trips = kMissing, ragged = kMissing;
  double working_set = kMissing, m = kMissing, n = kMissing, k = kMissing, intensity = kMissing;
};

double at(const LoopSizes& sizes, std::size_t loop) {
  return static_cast<double>(sizes[loop]);
}

// Computes the facts that depend on the loops and the tile's bounds.
void set_loops(const IterationSpace& space, const LoopSizes& extents, TileFacts& facts) {
  double all = 1;
  facts.elements = facts.output_elements = facts.output_tiles = facts.reduction_steps = 1;
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const analytical::Loop& loop = space.loops[i];
    const auto trips = static_cast<double>((loop.size + extents[i] - 1) / extents[i]);
    all *= static_cast<double>(loop.size);
    facts.elements *= at(extents, i);
    if (!loop.reduction) facts.output_elements *= at(extents, i);
    (loop.reduction ? facts.reduction_steps : facts.output_tiles) *= trips;
  }
  facts.ragged = 1 - ratio(all, facts.output_tiles * facts.reduction_steps * facts.elements);
  if (space.output_slots == 0) return;
  const std::size_t minor = space.output_slots - 1;  // the anchor's loops are in physical order
  const auto size = static_cast<double>(space.loops[minor].size);
  facts.minor = at(extents, minor);
  facts.minor_share = facts.minor / size;
  facts.trips_minor = std::ceil(size / facts.minor);
  facts.outer_trips = std::ceil(static_cast<double>(space.loops[0].size) / at(extents, 0));
  facts.second_minor = minor > 0 ? at(extents, minor - 1) : 1;
}

void set_working_set(const TileScan& scan, const LoopSizes& extents, TileFacts& facts) {
  const IterationSpace& space = scan.space;
  facts.output_bytes = facts.output_elements * scan.output_bytes;
  if (space.matrix) {
    const double batch = product(extents, space.matrix->batch);
    facts.m = product(extents, space.matrix->rows);
    facts.n = product(extents, space.matrix->columns);
    facts.k =
        product(extents, space.matrix->contraction) * product(extents, space.matrix->positions);
    facts.working_set = facts.output_bytes +
                        batch * facts.k * (facts.m * scan.lhs_bytes + facts.n * scan.rhs_bytes);
    facts.intensity = ratio(batch * facts.m * facts.n * facts.k, facts.working_set);
  } else {
    facts.working_set = scan.bytes * facts.elements / scan.positions;
  }
}

TileFacts facts_of(const TileScan& scan, const TileConfig* tile) {
  TileFacts facts;
  if (tile == nullptr || scan.space.loops.empty()) return facts;
  const LoopSizes extents = analytical::tile_extents(scan.space, *tile);
  set_loops(scan.space, extents, facts);
  set_working_set(scan, extents, facts);
  return facts;
}

double operand_bytes(const KernelScan& scan, std::size_t operand) {
  const ir::OpId id = scan.matrix->operands[operand];
  return ir::storage_bytes(scan.kernel->op(id).shape.dtype);
}

}  // namespace

void TileScan::of(const KernelScan& scan, const hwdesc::Device& device) {
  space = analytical::make_iteration_space(*scan.kernel, device.native_tile);
  positions = 1;
  for (const analytical::Loop& loop : space.loops) positions *= static_cast<double>(loop.size);
  output_bytes = 0;
  for (const ir::OpId id : scan.kernel->outputs()) {
    output_bytes += ir::storage_bytes(scan.kernel->op(id).shape.dtype);
  }
  if (scan.matrix != nullptr) {
    lhs_bytes = operand_bytes(scan, 0);
    rhs_bytes = operand_bytes(scan, 1);
  }
  bytes = scan.parameter_bytes + scan.output_bytes;
  innermost_capacity = device.memory.empty() ? kMissing : device.scratchpad().capacity.value;
  cache_capacity = learned::cache_capacity(device);
}

TileSizes tile_sizes(const TileScan& scan, const TileConfig* tile) {
  const TileFacts facts = facts_of(scan, tile);
  return {.minor = facts.minor,
          .second_minor = facts.second_minor,
          .m = facts.m,
          .n = facts.n,
          .k = facts.k};
}

// Lists and their order match the 24 tile features of TpuGraphs.
void tile_columns(const TileScan& scan, const TileConfig* tile, Columns& to) {
  const TileFacts facts = facts_of(scan, tile);
  const auto bounds = [&](const Columns::Text& text, ir::Dims TileConfig::*list) {
    to.list(text, tile == nullptr ? nullptr : &(tile->*list), kListEntries, 0);
  };
  bounds({"kernel", "Bounds on the weights, most major first, the minor two in native tiles."},
         &TileConfig::kernel);
  bounds({"output", "Bounds on the output, most major first, the minor two in native tiles."},
         &TileConfig::output);
  bounds({"input", "Bounds on the input, most major first, the minor two in native tiles."},
         &TileConfig::input);
  to.value({"iterations", "Tiles that cover all loops."},
           facts.output_tiles * facts.reduction_steps);
  to.value({"output_tiles", "Tiles that cover the loops that are not summed over."},
           facts.output_tiles);
  to.value({"reduction_steps", "Tiles that add up to one output tile."}, facts.reduction_steps);
  to.value({"elements", "Loop positions of a full tile."}, facts.elements);
  to.value({"output_elements", "Positions of a full tile that are not summed over."},
           facts.output_elements);
  to.value({"output_bytes", "Bytes a full tile writes, without padding.", "B"}, facts.output_bytes);
  to.value({"minor", "Extent of the tile in the minor-most dimension, elements."}, facts.minor);
  to.value({"second_minor", "Extent in the second most minor dimension, elements."},
           facts.second_minor);
  to.value({"minor_share", "tile.minor over the size of that dimension."}, facts.minor_share);
  to.value({"minor_trips", "Tiles along the minor-most dimension."}, facts.trips_minor);
  to.value({"outer_trips", "Tiles along the most major dimension."}, facts.outer_trips);
  to.value({"ragged", "Share of the positions of all tiles that lie beyond the loops."},
           facts.ragged);
  to.value({"working_set",
            "Bytes of one tile: outputs and matrix operands, else its share of all bytes.", "B"},
           facts.working_set);
  to.value({"working_set_innermost", "tile.working_set over the capacity of the innermost memory."},
           ratio(facts.working_set, scan.innermost_capacity));
  to.value({"working_set_cache",
            "tile.working_set over the capacity of the largest memory below main memory."},
           ratio(facts.working_set, scan.cache_capacity));
  to.value({"matrix_m", "Rows of the tile's product of matrices."}, facts.m);
  to.value({"matrix_n", "Columns of the tile's product."}, facts.n);
  to.value({"matrix_k", "Terms of each sum of the tile's product."}, facts.k);
  to.value({"intensity", "Multiply-adds of the tile's product over tile.working_set.", "1/B"},
           facts.intensity);
}

namespace {

constexpr std::size_t kSizes = 12;

// Names, in the order of alignment_columns().
Columns::PartName size_part(std::size_t part) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, kSizes> kNames = {{
      {"output_minor", "minor-most dimension of the largest output"},
      {"output_second", "second minor dimension of the largest output"},
      {"parameter_minor", "minor-most dimension of the largest parameter"},
      {"parameter_second", "second minor dimension of the largest parameter"},
      {"matrix_m", "rows of the largest product"},
      {"matrix_n", "columns of the largest product"},
      {"matrix_k", "terms of the sums of the largest product"},
      {"tile_minor", "minor-most extent of the tile"},
      {"tile_second", "second minor extent of the tile"},
      {"tile_m", "rows of the tile's product"},
      {"tile_n", "columns of the tile's product"},
      {"tile_k", "terms of the sums of the tile's product"},
  }};
  return {std::string(kNames[part].first), std::string(kNames[part].second)};
}

double second_minor_size(const ir::Shape& shape) {
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() > 1;
  return dimension_size(shape, laid_out ? shape.layout->minor_to_major[1] : shape.rank() - 2);
}

}  // namespace

// Units are the native tile (sublanes x lanes: 8 x 128 on a TPU), else vectors.
void alignment_columns(const KernelScan& scan, const hwdesc::Device& device, const TileSizes& tile,
                       Columns& to) {
  const hwdesc::NativeTile& native = device.native_tile;
  const auto vector = static_cast<double>(device.vector.lanes * device.vector.sublanes);
  const double lanes = native.tiled ? static_cast<double>(native.lanes) : std::fmax(vector, 1);
  const double sublanes = native.tiled ? static_cast<double>(native.sublanes) : 1;
  const auto of_array = [](const ir::Op* op, auto&& size) {
    return op == nullptr ? kMissing : size(op->shape);
  };
  const auto of_product = [&](double size) { return scan.matrix == nullptr ? kMissing : size; };
  const std::pair<double, double> sizes[kSizes] = {
      // the units
      {of_array(scan.largest_output, minor_size), lanes},
      {of_array(scan.largest_output, second_minor_size), sublanes},
      {of_array(scan.largest_parameter, minor_size), lanes},
      {of_array(scan.largest_parameter, second_minor_size), sublanes},
      {of_product(scan.sizes.m), sublanes},
      {of_product(scan.sizes.n), lanes},
      {of_product(scan.sizes.k), lanes},
      {tile.minor, lanes},
      {tile.second_minor, sublanes},
      {tile.m, sublanes},
      {tile.n, lanes},
      {tile.k, lanes}};
  std::array<double, kSizes> over{}, modulo{};
  for (std::size_t i = 0; i < kSizes; ++i) {
    over[i] = sizes[i].first / sizes[i].second;
    modulo[i] = std::fmod(sizes[i].first, sizes[i].second);
  }
  to.parts({"over", "Size over that of the native tile or vector"}, over, size_part);
  to.parts({"modulo", "Size modulo that of the native tile or vector"}, modulo, size_part);
}

namespace {

// The machine's rates for the kernel's type; NaN without memory.
struct Machine {
  double clock, vector_peak, matrix_peak, peak, workers, lanes, transcendental_rate;
  double bandwidth = kMissing, write_share = kMissing, latency = kMissing;
  double innermost_capacity = kMissing, innermost_bandwidth = kMissing, cache_capacity;

  Machine(const hwdesc::Device& device, double matrix)
      : clock(device.clock.value),
        vector_peak(device.vector_peak().value),
        matrix_peak(matrix),
        peak(std::max(vector_peak, matrix_peak)),
        workers(device.multiplexing.workers),
        lanes(static_cast<double>(device.vector.lanes * device.vector.sublanes)),
        transcendental_rate(device.transcendental.per_cycle * clock * workers),
        cache_capacity(learned::cache_capacity(device)) {
    if (device.memory.empty()) return;
    const hwdesc::MemoryLevel& main = device.main_memory();
    bandwidth = main.bandwidth.value * main.efficiency;
    write_share = ratio(main.sustained_write().value, main.sustained_read().value);
    latency = main.latency.value;
    innermost_capacity = device.scratchpad().capacity.value;
    innermost_bandwidth = device.scratchpad().bandwidth.value;
  }
};

void constant_columns(const hwdesc::Device& device, const Machine& machine, Columns& to) {
  const hwdesc::NativeTile& tile = device.native_tile;
  to.value({"clock", "Clock of the core.", "Hz"}, machine.clock);
  to.value({"vector_peak", "32-bit operations the vector unit can do.", "1/s"},
           machine.vector_peak);
  to.value({"matrix_peak",
            "Operations the matrix unit can do on the kernel's main type, 0 without one.", "1/s"},
           machine.matrix_peak);
  to.value({"peak", "The larger of the two peaks.", "1/s"}, machine.peak);
  to.value({"transcendental_rate", "Transcendental functions per second.", "1/s"},
           machine.transcendental_rate);
  to.value({"bandwidth", "Read bandwidth of main memory that large streams sustain.", "B/s"},
           machine.bandwidth);
  to.value({"write_share", "Write over read bandwidth of main memory."}, machine.write_share);
  to.value({"latency", "Latency of main memory.", "s"}, machine.latency);
  to.value({"innermost_capacity", "Capacity of the memory next to the core.", "B"},
           machine.innermost_capacity);
  to.value({"cache_capacity", "Capacity of the largest memory below main memory.", "B"},
           machine.cache_capacity);
  to.value({"workers", "Multiprocessors or cores that share one kernel."}, machine.workers);
  to.value({"vector_width", "Lanes of one vector unit, sublanes included."}, machine.lanes);
  to.value({"native_tile", "Elements of a native tile of the layout; 1 = none."},
           tile.tiled ? static_cast<double>(tile.sublanes * tile.lanes) : 1);
  to.value({"launch", "Time on the device between kernels.", "s"},
           device.dispatch.kernel_launch.value);
}

void ratio_columns(const Machine& machine, Columns& to) {
  to.value({"ridge", "Peak over bandwidth: intensity at which compute takes over.", "1/B"},
           ratio(machine.peak, machine.bandwidth));
  to.value({"vector_ridge", "Vector peak over bandwidth.", "1/B"},
           ratio(machine.vector_peak, machine.bandwidth));
  to.value({"matrix_to_vector", "Matrix peak over vector peak."},
           ratio(machine.matrix_peak, machine.vector_peak));
  to.value({"transcendental_to_vector", "Transcendental rate over vector peak."},
           ratio(machine.transcendental_rate, machine.vector_peak));
  to.value({"on_chip_bandwidth", "Bandwidth of the innermost over that of main memory."},
           ratio(machine.innermost_bandwidth, machine.bandwidth));
  to.value({"in_flight",
            "Bytes in flight that hide main memory's latency, over the innermost capacity."},
           ratio(machine.bandwidth * machine.latency, machine.innermost_capacity));
  to.value({"cache_cycles", "Cycles main memory takes to fill the largest cache."},
           ratio(machine.cache_capacity * machine.clock, machine.bandwidth));
  to.value({"latency_cycles", "Latency of main memory in cycles."},
           machine.latency * machine.clock);
}

// Columns that relate the kernel to the machine.
void use_columns(const KernelScan& scan, const Machine& machine, Columns& to) {
  const double matrix_flops = std::min(2 * scan.multiply_adds, scan.flops);
  const double matrix_peak = machine.matrix_peak > 0 ? machine.matrix_peak : machine.vector_peak;
  const double other_time = ratio(scan.flops - matrix_flops, machine.vector_peak);
  const double compute_time =
      other_time + (matrix_flops > 0 ? ratio(matrix_flops, matrix_peak) : 0);
  const double memory_time = ratio(scan.bytes_read + scan.bytes_written, machine.bandwidth);
  const double footprint = scan.parameter_bytes + scan.output_bytes;
  double lane_use = kMissing, elements_per_lane = kMissing;
  if (scan.largest_output != nullptr && machine.lanes > 0) {
    const double minor = minor_size(scan.largest_output->shape);
    lane_use = ratio(minor, std::ceil(minor / machine.lanes) * machine.lanes);
    elements_per_lane =
        ratio(elements_of(scan.largest_output->shape), machine.lanes * machine.workers);
  }
  to.value({"compute_time",
            "Multiply-adds at the peak of their type, other operations at the vector peak.", "s"},
           compute_time);
  to.value({"memory_time", "Bytes read and written, at main memory's bandwidth.", "s"},
           memory_time);
  to.value({"roofline", "The larger of the two times.", "s"}, std::fmax(compute_time, memory_time));
  to.value({"compute_to_memory", "machine.compute_time over machine.memory_time."},
           ratio(compute_time, memory_time));
  to.value({"transcendental_to_memory", "Transcendentals at their rate, over machine.memory_time."},
           ratio(ratio(scan.transcendentals, machine.transcendental_rate), memory_time));
  to.value({"latency_to_memory", "Latency of main memory over machine.memory_time."},
           ratio(machine.latency, memory_time));
  to.value({"footprint_innermost", "Bytes of parameters and outputs over the innermost capacity."},
           ratio(footprint, machine.innermost_capacity));
  to.value({"footprint_cache",
            "Bytes of parameters and outputs over the capacity of the largest cache."},
           ratio(footprint, machine.cache_capacity));
  to.value({"lane_use", "Share of the lanes the minor-most dimension of the largest output fills."},
           lane_use);
  to.value({"elements_per_lane", "Elements of the largest output over the lanes of all workers."},
           elements_per_lane);
}

}  // namespace

double cache_capacity(const hwdesc::Device& device) {
  double most = kMissing;
  for (std::size_t i = 1; i < device.memory.size(); ++i) {
    most = std::fmax(most, device.memory[i].capacity.value);
  }
  return most;
}

double MachineScan::matrix_peak(ir::DType dtype) {
  double& peak = peaks_[static_cast<std::size_t>(dtype)];
  if (peak < 0) peak = device_.matrix_peak(ir::name(dtype)).value;
  return peak;
}

void machine_columns(const KernelScan& scan, MachineScan& machine, Columns& to) {
  const Machine constants(machine.device(), machine.matrix_peak(scan.main_dtype));
  constant_columns(machine.device(), constants, to);
  ratio_columns(constants, to);
  use_columns(scan, constants, to);
}

}  // namespace tilecast::learned
